"""The limit of a user's requests in a minute.

The count never stands in the way of a request: it is written beside the request, and if DynamoDB
does not answer, the process goes on with what it knows.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from forklore_service.aws.wiring import Table
from forklore_service.domain.rate import WINDOW_SECONDS, Tally, window_of
from forklore_service.errors import TooManyRequestsError

WAIT_SECONDS = 0.25
"""How long an answer that is ready waits for the count."""
_log = logging.getLogger("forklore")


class Limiter:
    """The users that this process has served in this minute. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._window = 0
        self._tallies: dict[str, Tally] = {}

    @contextmanager
    def admitted(self, table: Table, user_id: str, per_minute: int) -> Iterator[None]:
        """Let a request of the user through, and count it. per_minute: the limit.

        Raises TooManyRequestsError if the minute is full.
        """
        window_s, due = self._take(user_id, table, per_minute)
        if not due:
            yield
            return
        count = table.start(lambda: table.count_requests(user_id, window_s, by=due))
        try:
            yield
        finally:
            try:
                self._learn(user_id, window_s, count.result(WAIT_SECONDS))
            except Exception as error:  # noqa: BLE001 (the request goes on without the count)
                _log.warning("uncounted", extra={"type": type(error).__name__})

    def _take(self, user_id: str, table: Table, per_minute: int) -> tuple[int, int]:
        with self._lock:
            now_s = table.now_s()
            if window_of(now_s) != self._window:  # a clock that was wrong may also go back
                self._window = window_of(now_s)
                self._tallies.clear()
            due = self._tallies.setdefault(user_id, Tally()).take(per_minute)
            if due is None:
                left_s = self._window + WINDOW_SECONDS - now_s
                raise TooManyRequestsError(retry_after_s=left_s, per_minute=per_minute)
            return self._window, due

    def _learn(self, user_id: str, window_s: int, counted: int) -> None:
        with self._lock:
            if window_s == self._window:
                self._tallies[user_id].learn(counted)


@cache
def limiter() -> Limiter:
    """Return this process's limiter."""
    return Limiter()
