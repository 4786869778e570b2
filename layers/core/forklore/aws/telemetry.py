"""The lines of the log: one for each event, most of them with metrics.

Lambda's JSON log format puts a record's `extra` fields at the top level of its line. CloudWatch
takes metrics out of a line that has an `_aws` field (CloudWatch user guide, "Embedded metric format
specification"). Of what a caller wrote, a line holds the X-Request-Id only. The dimension `status`
is text because the format requires it.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from http import HTTPMethod
from typing import TYPE_CHECKING, Any, NamedTuple

from forklore.aws.wiring import Consumption, stack_name
from forklore.errors import ForkloreError

if TYPE_CHECKING:
    from forklore.api.operation import Operation  # at run time the worker must not load pydantic

NAMESPACE = "forklore"
NO_OPERATION = "none"
"""The operation, route and method in the line of a request that matches no operation."""
BY_STACK = (("stack",),)
BY_STATUS = (("stack", "operation", "status"), ("stack",))
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
    watch: Stopwatch,
    usage: Consumption,
    method: str | None = None,
) -> None:
    """Log an answered request. operation: None if the request names no operation that exists.

    via: `http` or `direct`. method: for a request without an operation. It is logged only if it is
    one of HTTP's own, because any other text is the caller's.
    """
    known = method if method in HTTPMethod.__members__ else NO_OPERATION
    fields = {
        "via": via,
        "operation": operation.name if operation else NO_OPERATION,
        "route": operation.path if operation else NO_OPERATION,
        "method": operation.method if operation else known,
        "status": str(status),
        "code": error.code if error else None,
        "xRequestId": request_id,
        "ms": watch.ms,
    }
    counted = [Metric("Requests", "Count", 1)]
    _log_metrics("request", fields, [(BY_STATUS, counted), (BY_STACK, of_dynamodb(usage))])


def log_job(*, status: str, kind: str, watch: Stopwatch, usage: Consumption) -> None:
    """Log a message of the queue. kind: the kind of work.

    status: `done`; `left` if another message continues the work; `dropped` if another message is
    at work; or `failed`.
    """
    fields = {"status": status, "kind": kind, "ms": watch.ms}
    _log_metrics("job", fields, [(BY_STACK, of_dynamodb(usage))])


def log_sweep(*, jobs: int, failed: int, oldest_s: float, watch: Stopwatch, usage: Consumption) -> None:
    """Log a sweep.

    jobs: how many open jobs it found. failed: how many of them failed. oldest_s: the oldest's age.
    The DynamoDB figures are plain fields here. As metrics, an unused deployment would pay for six
    metrics instead of two.
    """
    found = [Metric("JobsOpen", "Count", jobs), Metric("OldestJob", "Seconds", round(oldest_s, 1))]
    if failed:
        found.append(Metric("JobsFailed", "Count", failed))
    raw = {metric.name: metric.value for metric in of_dynamodb(usage)}
    _log_metrics("sweep", {"ms": watch.ms, **raw}, [(BY_STACK, found)])


def printable(text: str) -> str:
    """Return the text with escapes for characters that cannot be printed.

    Otherwise such characters could change how a terminal shows the log.

    >>> printable("line\\nfeed é")
    'line\\\\u000afeed é'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def of_dynamodb(usage: Consumption) -> list[Metric]:
    """Return the metrics of a request's DynamoDB calls, with those of rare events that happened."""
    metrics = [
        Metric("DynamoDBCalls", "Count", usage.calls),
        Metric("ReadUnits", "Count", usage.read_units),
        Metric("WriteUnits", "Count", usage.write_units),
    ]
    rare = [
        Metric("DynamoDBRetries", "Count", usage.retries),
        Metric("DynamoDBConflicts", "Count", usage.conflicts),
        Metric("DynamoDBThrottles", "Count", usage.throttles),
        Metric("HeadsAhead", "Count", usage.heads_ahead),
    ]
    metrics += [metric for metric in rare if metric.value]
    if usage.clock_offset_ms is not None:
        metrics.append(Metric("ClockOffset", "Milliseconds", usage.clock_offset_ms))
    if usage.largest_tree_bytes is not None:
        metrics.append(Metric("LargestTree", "Bytes", usage.largest_tree_bytes))
    return metrics


def embedded(groups: Sequence[Group], *, timestamp_ms: int) -> dict[str, Any]:
    """Return the fields that make metrics of a line: the values, and `_aws`, which describes them.

    groups: each dimension is the name of a field of the line.
    """
    described = [
        {
            "Namespace": NAMESPACE,
            "Dimensions": [list(names) for names in dimensions],
            "Metrics": [{"Name": metric.name, "Unit": metric.unit} for metric in metrics],
        }
        for dimensions, metrics in groups
        if metrics
    ]
    values = {metric.name: metric.value for _, metrics in groups for metric in metrics}
    return {"_aws": {"Timestamp": timestamp_ms, "CloudWatchMetrics": described}, **values}


def _log_metrics(event: str, fields: Mapping[str, Any], groups: Sequence[Group]) -> None:
    if not _log.isEnabledFor(logging.INFO):
        return
    made = embedded(groups, timestamp_ms=time.time_ns() // 1_000_000)
    _log.info(event, extra={"stack": stack_name(), **fields, **made})
