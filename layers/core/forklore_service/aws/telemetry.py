"""The lines of the log: one for each event, most of them with metrics.

Lambda's JSON log format puts a record's `extra` fields at the top level of its line. CloudWatch
takes metrics out of a line that has an `_aws` field (CloudWatch user guide, "Embedded metric format
specification"). Of what a caller wrote, a line holds the X-Request-Id only; that of a change also
ids of trees and of a client. The dimension `status` is text because the format requires it.

Each byte of the line of a request is paid for by each request. So a line holds nothing twice, and
as metrics only what an alarm or the dashboard needs (docs/decisions/0009-lines-with-metrics.md).
"""

import logging
import time
from collections.abc import Mapping, Sequence
from http import HTTPMethod
from typing import TYPE_CHECKING, Any, NamedTuple

from forklore_service.aws.wiring import Consumption, stack_name
from forklore_service.errors import ForkloreError

if TYPE_CHECKING:
    from forklore_service.api.operation import Operation  # at run time the worker must not load pydantic
    from forklore_service.usecases.deletion.retention import Retained

NAMESPACE = "forklore"
NO_OPERATION = "none"
"""The operation in the line of a request that matches none, and a method that is not of HTTP."""
CLOCK_OFFSET_MS_MIN = 1_000
"""A smaller offset of a clock is not worth a metric."""
BY_STACK = (("stack",),)
BY_STATUS = (("stack", "operation", "status"), ("stack",))
TREES_OF_A_LINE = 1_000
"""A line of 37 KB. CloudWatch takes at least 256 KB."""
_log = logging.getLogger("forklore")


class Metric(NamedTuple):
    """One metric of a line. unit: a unit that CloudWatch knows."""

    name: str
    unit: str
    value: float


Group = tuple[Sequence[Sequence[str]], Sequence[Metric]]
"""Sets of dimensions, and the metrics that are counted under each of them."""


class Stopwatch:
    """Measures the time since it was made."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    @property
    def ms(self) -> float:
        return round((time.perf_counter() - self._started) * 1000, 1)


def log_request(
    operation: "Operation | None",
    *,
    via: str,
    status: int,
    error: ForkloreError | None,
    request_id: str,
    lambda_id: str,
    watch: Stopwatch,
    usage: Consumption,
    method: str | None = None,
) -> None:
    """Log an answered request. operation: None if the request names no operation that exists.

    via: `http` or `direct`. request_id: the answer's. lambda_id: Lambda's own, which is in each
    line as `requestId`. method: for a request without an operation. It is logged only if it is one
    of HTTP's own, because any other text is the caller's.
    """
    if not writes_lines():
        return
    known = method if method in HTTPMethod.__members__ else NO_OPERATION
    fields = {
        "aws_request_id": lambda_id,  # Lambda's own attribute of a record, which it sets itself
        "xRequestId": None if request_id == lambda_id else request_id,
        "via": via,
        "operation": operation.name if operation else NO_OPERATION,
        "method": None if operation else known,
        "status": str(status),
        "code": error.code if error else None,
        "ms": watch.ms,
    }
    counted = [Metric("Requests", "Count", 1)]
    _log_metrics("request", fields | of_dynamodb(usage), [(BY_STATUS, counted), (BY_STACK, rare(usage))])


def log_job(*, status: str, kind: str, watch: Stopwatch, usage: Consumption) -> None:
    """Log a message of the queue. kind: the kind of work.

    status: `done`; `left` if another message continues the work; `dropped` if another message is
    at work; or `failed`.
    """
    fields = {"status": status, "kind": kind, "ms": watch.ms, **of_dynamodb(usage)}
    _log_metrics("job", fields, [(BY_STACK, rare(usage))])


def log_sweep(
    *,
    jobs: int,
    failed: int,
    oldest_s: float,
    watch: Stopwatch,
    usage: Consumption,
    retained: "Retained | None" = None,
) -> None:
    """Log a sweep.

    jobs: how many open jobs it found. failed: how many of them failed. oldest_s: the oldest's age.
    retained: what the deletion of unused trees did, if it is on.
    What is rare is a plain field here.
    """
    found = [Metric("JobsOpen", "Count", jobs), Metric("OldestJob", "Seconds", round(oldest_s, 1))]
    if failed:
        found.append(Metric("JobsFailed", "Count", failed))
    unused = {}
    if retained is not None:
        unused = {"treesLooked": retained.looked, "treesDeleted": retained.deleted}
        unused |= {"treesFailed": retained.failed} if retained.failed else {}
    raw = {metric.name: metric.value for metric in rare(usage)}
    _log_metrics("sweep", {"ms": watch.ms, **unused, **of_dynamodb(usage), **raw}, [(BY_STACK, found)])


def writes_lines() -> bool:
    """Tell whether lines of requests and changes are written at all."""
    return _log.isEnabledFor(logging.INFO)


def log_changes(operation: str, trees: Sequence[str], **who: str | int | None) -> None:
    """Log a change: one line, or several for very many trees.

    operation: what a request asked for, or the kind of work in the background. trees: none for a
    change that is about no tree, such as the deletion of a name. who: fields about the caller.
    """
    for at in range(0, max(len(trees), 1), TREES_OF_A_LINE):
        tree = " ".join(trees[at : at + TREES_OF_A_LINE]) or None
        _log.info("change", extra={"operation": operation, "tree": tree, **who})


def printable(text: str) -> str:
    """Return the text with escapes for characters that cannot be printed.

    Otherwise such characters could change how a terminal shows the log.

    >>> printable("line\\nfeed é")
    'line\\\\u000afeed é'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def log_published(
    *, records: int, events: int, parked: int, is_finished: bool, watch: Stopwatch, usage: Consumption
) -> None:
    """Log a batch of the table's stream.

    records: how many it had. events: how many were sent. parked: how many records were parked.
    is_finished: whether none of it comes again.
    """
    made = [Metric("EventsPublished", "Count", events)]
    if parked:
        made.append(Metric("EventsParked", "Count", parked))
    fields = {"records": records, "finished": is_finished, "ms": watch.ms, **of_dynamodb(usage)}
    _log_metrics("published", fields, [(BY_STACK, [*made, *rare(usage)])])


def log_embedded(*, trees: int, parked: int, is_finished: bool, watch: Stopwatch, usage: Consumption) -> None:
    """Log a batch of the table's stream, of whose entries vectors are made.

    trees: how many it was about. parked: of how many of them it failed. is_finished: whether none
    of it comes again. Texts that the model refuses are counted, too.
    """
    fields = {"trees": trees, "parked": parked, "refused": usage.refused_texts, "finished": is_finished}
    told = {**fields, "ms": watch.ms, **of_dynamodb(usage)}
    _log_metrics("embedded", told, [(BY_STACK, rare(usage))])


def of_dynamodb(usage: Consumption) -> dict[str, float]:
    """Return the plain fields about a request's DynamoDB calls. AWS has metrics of them itself."""
    units = {"ReadUnits": usage.read_units, "WriteUnits": usage.write_units}
    return {"DynamoDBCalls": usage.calls, **units}


def rare(usage: Consumption) -> list[Metric]:
    """Return the metrics of what a request met that most requests do not meet."""
    metrics = [
        Metric("DynamoDBRetries", "Count", usage.retries),
        Metric("DynamoDBConflicts", "Count", usage.conflicts),
        Metric("DynamoDBThrottles", "Count", usage.throttles),
        Metric("HeadsAhead", "Count", usage.heads_ahead),
    ]
    metrics.append(Metric("LargestTree", "Bytes", usage.largest_tree_bytes or 0))
    if abs(usage.clock_offset_ms or 0) >= CLOCK_OFFSET_MS_MIN:
        metrics.append(Metric("ClockOffset", "Milliseconds", usage.clock_offset_ms or 0))
    return [metric for metric in metrics if metric.value]


def embedded(groups: Sequence[Group], *, timestamp_ms: int) -> dict[str, Any]:
    """Return the fields that make metrics of a line: the values, and `_aws`, which describes them.

    groups: each dimension is the name of a field of the line. Without metrics there are no fields.
    """
    described = [
        {
            "Namespace": NAMESPACE,
            "Dimensions": [list(names) for names in dimensions],
            "Metrics": [_described(metric) for metric in metrics],
        }
        for dimensions, metrics in groups
        if metrics
    ]
    values = {metric.name: metric.value for _, metrics in groups for metric in metrics}
    return {"_aws": {"Timestamp": timestamp_ms, "CloudWatchMetrics": described}, **values} if values else {}


def _described(metric: Metric) -> dict[str, str]:
    """Return what CloudWatch must know of a metric. A count needs no unit."""
    return {"Name": metric.name} | ({} if metric.unit == "Count" else {"Unit": metric.unit})


def _log_metrics(event: str, fields: Mapping[str, Any], groups: Sequence[Group]) -> None:
    if not _log.isEnabledFor(logging.INFO):
        return
    made = embedded(groups, timestamp_ms=time.time_ns() // 1_000_000)
    _log.info(event, extra={"stack": stack_name(), **fields, **made})
