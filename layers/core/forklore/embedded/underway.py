"""The requests that run at the moment."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Underway:
    """Knows which requests run, so that others can wait until those of a moment have ended."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: set[object] = set()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request as running inside this context."""
        mark = object()
        with self._changed:
            self._running.add(mark)
        try:
            yield
        finally:
            with self._changed:
                self._running.discard(mark)
                self._changed.notify_all()

    def wait_for_earlier(self, seconds: float) -> bool:
        """Wait until every request that runs now has ended. Return False if `seconds` are over.

        Requests that begin later are not waited for.
        """
        with self._changed:
            earlier = set(self._running)
            return self._changed.wait_for(lambda: earlier.isdisjoint(self._running), seconds)
