"""The process's clock, corrected by the `Date` of DynamoDB's answers."""

import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from forklore_service.domain import clock_offset
from forklore_service.errors import UnavailableError


def system_ms() -> int:
    """Return the machine's milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Clock:
    """Corrected time. own_ms: the clock to be corrected, in milliseconds since 1970.

    was_compared: whether any answer has been seen yet.
    """

    def __init__(self, own_ms: Callable[[], int] = system_ms) -> None:
        self.own_ms = own_ms
        self._offset: clock_offset.Offset | None = None
        self._lock = threading.Lock()
        self.was_compared = False

    @property
    def offset_ms(self) -> int:
        """What is added to the own clock."""
        offset = self._offset
        return 0 if offset is None else offset.best_ms

    def learn(self, date: str | None, *, sent_ms: int) -> None:
        """Learn from the `Date` header of an answer.

        sent_ms: the own clock when the request was sent.
        """
        self.was_compared = True
        if date is None:
            return
        try:
            date_s = int(parsedate_to_datetime(date).timestamp())
        except ValueError:  # the call has succeeded all the same
            return
        with self._lock:
            self._offset = clock_offset.observe(
                self._offset, sent_ms=sent_ms, received_ms=self.own_ms(), date_s=date_s
            )

    def corrected_ms(self) -> int:
        """Return DynamoDB's time, to about a second. Before its first answer: the own time."""
        return self.own_ms() + self.offset_ms

    def minting_ms(self) -> int:
        """Return the corrected time for a new id.

        Raises UnavailableError if the own clock is more than 10 minutes off: it may be set at any
        moment.
        """
        if abs(self.offset_ms) > clock_offset.OFFSET_MAX_MS:
            raise UnavailableError("this server's clock is wrong")
        return self.corrected_ms()
