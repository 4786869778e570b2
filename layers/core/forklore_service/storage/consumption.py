"""What one request has used of DynamoDB: calls, their results, capacity units; what it changed."""

import threading
from collections.abc import Iterable, Mapping
from typing import Any

_THROTTLED = {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"}
_THROTTLED_REASONS = {"ProvisionedThroughputExceeded", "ThrottlingError"}
_CONFLICTS = {"TransactionConflict", "TransactionConflictException"}
_UNPROCESSED = ("UnprocessedItems", "UnprocessedKeys")
_GIGABYTE = 1 << 30


class Consumption:
    """Counts of one request. Thread-safe, because the request's calls may overlap.

    calls: all calls sent to DynamoDB.
    retries: the calls that repeat a failed call. A call that sends the rest of a batch is not one.
    conflicts: the calls that were refused because of another transaction.
    throttles: the calls that were refused, at least in part, because of a rate limit.
    read_units, write_units: the units of the calls that succeeded. DynamoDB does not report the
    units of the others.
    heads_ahead: 1 if the request found a HEAD far ahead of the clock.
    refused_texts: of how many texts the model of recall refused to make vectors.
    clock_offset_ms: what was added to this machine's clock. None: before the first answer.
    largest_tree_bytes: the largest tree written to has at least this size. None: unknown.
    """

    is_read = True
    """Whether anybody reads the counts."""

    def __init__(self) -> None:
        self.calls = self.retries = self.conflicts = self.throttles = self.heads_ahead = 0
        self.refused_texts = 0
        self.read_units = self.write_units = 0.0
        self.clock_offset_ms: int | None = None
        self.largest_tree_bytes: int | None = None
        self._changed: dict[str, None] | None = None
        self._lock = threading.Lock()

    def count_call(self, *, is_retry: bool) -> None:
        """Count a call that is about to be sent."""
        with self._lock:
            self.calls += 1
            self.retries += is_retry

    def count_answer(self, operation: str, answer: Mapping[str, Any]) -> None:
        """Count the capacity that an answer reports. operation: the client's method."""
        read, written = _units(operation, answer.get("ConsumedCapacity", []))
        is_short = any(answer.get(name) for name in _UNPROCESSED)
        with self._lock:
            self.read_units += read
            self.write_units += written
            self.throttles += is_short

    def count_error(self, response: Mapping[str, Any]) -> None:
        """Count the conflict or the throttling that an error's response reports."""
        code = response["Error"]["Code"]
        reasons = {reason["Code"] for reason in response.get("CancellationReasons", [])}
        with self._lock:
            self.conflicts += bool({code, *reasons} & _CONFLICTS)
            self.throttles += code in _THROTTLED or bool(reasons & _THROTTLED_REASONS)

    def count_head_ahead(self) -> None:
        """Note an append after a HEAD far ahead of the clock. Several entries count once."""
        self.heads_ahead = 1

    def note_change(self, trees: Iterable[str]) -> None:
        """Note a write that was made, or may have been. trees: those that it is about, if any."""
        with self._lock:
            self._changed = (self._changed or {}) | dict.fromkeys(trees)

    def take_changed(self) -> list[str] | None:
        """Return the trees of all writes since the last call; None if there was no write."""
        with self._lock:
            changed, self._changed = self._changed, None
        return None if changed is None else list(changed)

    def note_tree(self, gigabytes: float) -> None:
        """Note a lower bound of a tree's size in gigabytes."""
        with self._lock:
            self.largest_tree_bytes = max(self.largest_tree_bytes or 0, int(gigabytes * _GIGABYTE))


class _Unread(Consumption):
    """Counts no calls, units and changes."""

    is_read = False

    def count_call(self, *, is_retry: bool) -> None:
        pass

    def count_answer(self, operation: str, answer: Mapping[str, Any]) -> None:
        pass

    def note_change(self, trees: Iterable[str]) -> None:
        pass


UNREAD = _Unread()
"""Of requests whose use of DynamoDB nobody reads."""


def _units(operation: str, consumed: Any) -> tuple[float, float]:
    """Return the units read and written.

    consumed: the ConsumedCapacity of one table, or a list of them for a batch.
    Source: DynamoDB API reference, ConsumedCapacity. Only that of a transaction separates read and
    write units.
    """
    read = written = 0.0
    for part in [consumed] if isinstance(consumed, Mapping) else consumed:
        if "ReadCapacityUnits" in part or "WriteCapacityUnits" in part:
            read += part.get("ReadCapacityUnits", 0.0)
            written += part.get("WriteCapacityUnits", 0.0)
        elif "write" in operation or operation in ("put_item", "update_item"):
            written += part.get("CapacityUnits", 0.0)
        else:
            read += part.get("CapacityUnits", 0.0)
    return read, written
