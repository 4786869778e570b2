"""Brings events from the outbox to receivers, in threads of its own.

Each receiver has its own threads and its own order, so none waits for another. The events of one
tree reach a receiver one after another. Those of different trees do not wait for each other.
"""

import heapq
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from forklore_local.in_process.outbox import Outbox
from forklore_service.api.responses import log_failure
from forklore_service.errors import StoreFailedError, UnavailableError

AT_ONCE = 8
"""How many events one receiver gets at a time, each of another tree."""
TRIES = 20
PAUSE_SECONDS, PAUSE_SECONDS_MAX = 0.5, 60.0
"""The first pause before an event is sent again, and the longest. Each is twice the one before.

So an event is given up after about 14 minutes.
"""
RETRY_EVERY_SECONDS = 0.05
"""How far apart the retries of a receiver are, so that they leave the processor to the requests."""
STOP_SECONDS = 3.0
LOOK_SECONDS = 0.1
"""How often to look for what other processes have written, such as other workers."""
NO_STORE = (StoreFailedError, UnavailableError)
_log = logging.getLogger("forklore")


class NotTakenError(Exception):
    """A receiver did not take an event. The text says why and holds nothing of the event."""


class Outgoing(NamedTuple):
    """An event. text: JSON, as EventBridge hands it over."""

    event_id: str
    text: str


EventsOf = Callable[[str], Sequence[Outgoing]]
"""Returns the events of a record. The same record has the same events each time."""


class Receiver(Protocol):
    """Takes events. name: for people, without what may be secret in an address."""

    @property
    def name(self) -> str: ...

    def send(self, event: str) -> None:
        """Hand over an event as JSON text. Many threads may call this. Raises NotTakenError."""

    def close(self) -> None:
        """End what the receiver needs, also while events are sent."""


class _Retry(NamedTuple):
    """When the first message of a tree is sent again. tries: how often it was sent already."""

    due_s: float
    order: int
    tree: str
    tries: int


class _Failed(NamedTuple):
    """An event that was not taken, or None if there is none yet, and why."""

    event_id: str | None
    reason: str


class Delivery:
    """Delivers what waits in `outbox`. receivers: by the names under which messages wait."""

    def __init__(
        self,
        outbox: Outbox,
        events_of: EventsOf,
        receivers: Mapping[str, Receiver],
        *,
        pause_s: float = PAUSE_SECONDS,
        tries: int = TRIES,
    ) -> None:
        self._lines = {
            named: _Line(outbox, events_of, receiver, pause_s=pause_s, tries=tries)
            for named, receiver in receivers.items()
        }
        self._outbox = outbox
        self._is_due, self._is_stopped = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="forklore-outbox", daemon=True)
        self._add_fresh()

    def look(self) -> None:
        """Look for new messages now: this process has written. It takes no time."""
        self._is_due.set()

    def _add_fresh(self) -> None:
        for number, receiver, tree in self._outbox.fresh():
            if receiver in self._lines:
                self._lines[receiver].add(tree, number)

    def _run(self) -> None:
        while not self._is_stopped:
            self._is_due.wait(LOOK_SECONDS)
            self._is_due.clear()
            try:
                self._add_fresh()
            except NO_STORE as error:
                _log.error("outbox", extra={"reason": str(error)})

    def start(self) -> None:
        self._thread.start()
        for line in self._lines.values():
            line.start()

    def stop(self) -> int:
        """Send nothing more, and wait STOP_SECONDS for what is being sent; return how many wait."""
        self._is_stopped = True
        self._is_due.set()
        if self._thread.is_alive():
            self._thread.join()
        with suppress(*NO_STORE):
            self._add_fresh()  # what was written since the last look waits, too
        for line in self._lines.values():
            line.end()
        give_up_at = time.monotonic() + STOP_SECONDS
        waiting = sum(line.stop(give_up_at) for line in self._lines.values())
        with suppress(*NO_STORE):
            self._outbox.close()
        return waiting


class _Line:
    """What waits for one receiver: the numbers of its messages by tree.

    Their texts stay in the outbox.
    """

    def __init__(
        self, outbox: Outbox, events_of: EventsOf, receiver: Receiver, *, pause_s: float, tries: int
    ) -> None:
        self._outbox, self._events_of, self._receiver = outbox, events_of, receiver
        self._pause_s, self._tries_max = pause_s, tries
        self._changed = threading.Condition()
        self._trees: dict[str, deque[int]] = {}
        self._fresh: deque[str] = deque()
        self._retries: list[_Retry] = []
        self._order = itertools.count()
        self._is_stopped = self._is_failing = False
        self._retry_at_s = 0.0
        self._threads = [
            threading.Thread(target=self._run, name="forklore-events", daemon=True) for _ in range(AT_ONCE)
        ]

    def add(self, tree: str, number: int) -> None:
        with self._changed:
            if tree in self._trees:
                self._trees[tree].append(number)
            else:
                self._trees[tree] = deque([number])
                self._fresh.append(tree)
                self._changed.notify()

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def stop(self, give_up_at: float) -> int:
        for thread in self._threads:
            thread.join(max(0.0, give_up_at - time.monotonic()))
        self._receiver.close()
        with self._changed:
            return sum(map(len, self._trees.values()))

    def _run(self) -> None:
        while (taken := self._next()) is not None:
            tree, number, tries = taken
            is_done = self._try(number, tries + 1)
            with self._changed:
                if is_done:
                    self._done(tree)
                else:
                    self._again(tree, tries + 1)
                self._changed.notify()

    def _next(self) -> tuple[str, int, int] | None:
        """Wait for the turn of a tree; return it, its first message, and how often that was sent.

        None: it is the end. While a tree has its turn, it gets no other.
        """
        with self._changed:
            while not self._is_stopped:
                if self._fresh:
                    tree = self._fresh.popleft()
                    return tree, self._trees[tree][0], 0
                wait_s = None
                if self._retries:
                    now_s = time.monotonic()
                    wait_s = max(self._retries[0].due_s, self._retry_at_s) - now_s
                    if wait_s <= 0:
                        self._retry_at_s = now_s + RETRY_EVERY_SECONDS
                        retry = heapq.heappop(self._retries)
                        return retry.tree, self._trees[retry.tree][0], retry.tries
                self._changed.wait(wait_s)
        return None

    def _done(self, tree: str) -> None:
        numbers = self._trees[tree]
        numbers.popleft()
        if numbers:
            self._fresh.append(tree)
        else:
            del self._trees[tree]

    def _again(self, tree: str, tries: int) -> None:
        due_s = time.monotonic() + min(self._pause_s * 2 ** (tries - 1), PAUSE_SECONDS_MAX)
        heapq.heappush(self._retries, _Retry(due_s, next(self._order), tree, tries))

    def _try(self, number: int, tries: int) -> bool:
        """Tell of a change; return whether its message waits no longer."""
        try:
            record = self._outbox.message(number)
            if record is None:
                return True
            failed = self._tell(record)
            if failed is not None and tries < self._tries_max:
                return False
            self._outbox.delete_message(number)
        except NO_STORE as error:  # the message stays in the file until the next start
            _log.error("outbox", extra={"reason": str(error)})
            return True
        if failed is not None:
            self._log("undelivered", eventId=failed.event_id, tries=tries, reason=failed.reason)
        return True

    def _tell(self, record: str) -> _Failed | None:
        """Send the events of a change in order; return what failed. After that nothing is sent."""
        try:
            events = self._events_of(record)
        except Exception as error:  # noqa: BLE001 (a bug, or the table does not answer)
            log_failure("failed", error, job="events")
            return _Failed(None, type(error).__name__)
        for event_id, text in events:
            try:
                self._receiver.send(text)
            except Exception as error:  # noqa: BLE001 (a thread that ended would hold up its tree)
                reason = str(error) if isinstance(error, NotTakenError) else type(error).__name__
                self._notice(reason)
                return _Failed(event_id, reason)
            self._notice(None)
        return None

    def _notice(self, reason: str | None) -> None:
        """Log where the receiver begins to fail, and where it takes events again."""
        if (reason is not None) == self._is_failing or self._is_stopped:
            return
        self._is_failing = reason is not None
        if reason is not None:
            self._log("receiver_fails", reason=reason)
        else:
            self._log("receiver_is_back")

    def _log(self, message: str, **fields: object) -> None:
        _log.warning(message, extra={"receiver": self._receiver.name, **fields})
