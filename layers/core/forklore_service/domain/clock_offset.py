"""How far a process's clock is from DynamoDB's, by the `Date` of its answers."""

from typing import NamedTuple

OFFSET_MAX_MS = 10 * 60 * 1000
"""A clock further off than this makes no ids."""


class Offset(NamedTuple):
    """Bounds, in milliseconds, of what must be added to the own clock."""

    low_ms: int
    high_ms: int

    @property
    def best_ms(self) -> int:
        """The smallest correction that the bounds allow."""
        return max(self.low_ms, min(0, self.high_ms))


def observe(known: Offset | None, *, sent_ms: int, received_ms: int, date_s: int) -> Offset:
    """Return the bounds after an answer dated `date_s`, in whole seconds since 1970.

    sent_ms, received_ms: the own clock around the request. The answer was dated somewhere between
    them, and its date names a whole second, so each answer narrows the bounds. An answer that
    contradicts what is known means that a clock was set: then only the answer counts.

    >>> observe(None, sent_ms=5_000, received_ms=5_100, date_s=9)
    Offset(low_ms=3900, high_ms=4999)
    """
    sent_ms = min(sent_ms, received_ms)  # the own clock may be set back while the request is under way
    seen = Offset(date_s * 1000 - received_ms, date_s * 1000 + 999 - sent_ms)
    if known is None:
        return seen
    low, high = max(known.low_ms, seen.low_ms), min(known.high_ms, seen.high_ms)
    return Offset(low, high) if low <= high else seen
