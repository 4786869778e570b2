"""Which context an agent holds, and what a sync of its present context writes."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from forklore.domain.ids import EntryId
from forklore.errors import ConflictError

EPOCH_MAX = 2**53
"""The highest epoch there is: the last whole number that every JSON parser reads exactly."""
NAMED_EPOCH_MAX = EPOCH_MAX - 1
"""The highest epoch that a caller may name for an entry, so that a sync after it has one left."""


class Epoch(NamedTuple):
    """A client's latest epoch in a view. first: its first entry, which may be an inherited one."""

    number: int
    first: EntryId | None


NO_EPOCH = Epoch(0, None)
"""A view that shows no context of the client."""


class Sync(NamedTuple):
    """What to write: the elements from `start` on, in `epoch`."""

    epoch: int
    start: int
    increments: bool


def decide_sync(known: Iterable[Any], sent: Sequence[Any], *, epoch: int) -> Sync | None:
    """Return what turns the known context into the one sent; None if they are the same.

    known: the content elements of the latest epoch, one after another. They are read up to the
    first that differs from what was sent, and not kept. epoch: that epoch; 0 when there is none.
    Raises ConflictError when a new epoch is needed and none is left.

    >>> decide_sync(["a"], ["a", "b"], epoch=3)
    Sync(epoch=3, start=1, increments=False)
    >>> decide_sync(["a"], ["b"], epoch=3)
    Sync(epoch=4, start=0, increments=True)
    """
    if epoch == 0:
        return Sync(1, 0, increments=False) if sent else None
    count = 0
    for element in known:
        if count == len(sent) or not is_same(element, sent[count]):
            return _next(epoch)
        count += 1
    return Sync(epoch, count, increments=False) if count < len(sent) else None


def _next(epoch: int) -> Sync:
    if epoch >= EPOCH_MAX:
        raise ConflictError(f"no epoch is left after {EPOCH_MAX}", reason="no_epoch_left", latestEpoch=epoch)
    return Sync(epoch + 1, 0, increments=True)


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are equal: numbers by value, names in any order.

    `true` is not 1.

    >>> is_same({"a": 1, "b": [True]}, {"b": [True], "a": Decimal("1.0")}), is_same(True, 1)
    (True, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | Decimal) and isinstance(other, int | Decimal):
        return one == other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return type(one) is type(other) and bool(one == other)
