"""The worker in this process: it does what requests announce, and what an earlier process left.

The messages are in memory. Each job is also an item of the table, so nothing is lost with them: the
sweep finds the jobs of a process that ended.
"""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forklore_service.api.responses import log_failure
from forklore_service.domain.tree import WAIT_SECONDS
from forklore_service.errors import UnavailableError
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.background import sweeper, worker
from forklore_service.usecases.deletion import retention, trash

WORK_SECONDS = 5
"""How long a message is worked on at a time, and so how long `stop` may have to wait."""
SWEEP_SECONDS = 300
STOP_SECONDS = 10.0
PAUSES = (1.0, 5.0, 25.0, 60.0)
"""Seconds before a message that failed is tried again. Then the next sweep announces its job."""
_log = logging.getLogger("forklore")


@dataclass(frozen=True, slots=True)
class _Task:
    """A message, or a sweep if it is None. tries: how often it has failed."""

    message: str | None
    tries: int = 0


class Worker:
    """Takes the messages of `queue` and works on them in a thread of its own.

    The thread starts with the first message or with `start`.
    table: as a new request sees it. expire: deletes the items whose time is over by a second.
    empty_log: is called when work has ended: no log keeps what was deleted.
    delete_wait_s: how long what was deleted is kept, for requests that may still read it.
    deleted_days: for how long a deleted tree can be restored; 0: it cannot.
    retention_days: for how long a tree is kept after its last use; 0: for ever.
    ignore_retention_tag: whether the tag `retention` keeps no tree.
    sweeps: whether it sweeps, too. Of several workers of one server one does. swept: called after
    each sweep with the values of a Swept.

    Any number of workers may work on one table, each in a process of its own: a job is leased.
    """

    def __init__(
        self,
        table: Table,
        *,
        expire: Callable[[int], object] = lambda _now_s: None,
        empty_log: Callable[[], object] = lambda: None,
        delete_wait_s: int = WAIT_SECONDS,
        deleted_days: int = 0,
        retention_days: int = 0,
        ignore_retention_tag: bool = False,
        sweeps: bool = True,
        swept: Callable[[int, float, int], object] = lambda *_: None,
    ) -> None:
        self._swept = swept
        self._retention_days, self._ignore_tag = retention_days, ignore_retention_tag
        self._table, self._expire, self._empty_log = table, expire, empty_log
        self._delete_wait_s, self._deleted_days = delete_wait_s, deleted_days
        self._sweeps = sweeps
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, _Task]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._is_stopped = False
        self.queue = Queue(self, "in this process")
        """A queue whose messages this worker takes."""

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> None:  # noqa: N803
        """Take messages, as a client of SQS does."""
        assert QueueUrl
        for entry in Entries:
            self._add(_Task(entry["MessageBody"]), entry["DelaySeconds"])

    def start(self) -> None:
        """Start with a sweep, and sweep again when the leases of an earlier process have ended."""
        if self._sweeps:
            self._add(_Task(None), 0)

    def stop(self) -> bool:
        """Start nothing more, and wait for what runs. Return whether it ended in time."""
        with self._changed:
            self._is_stopped = True
            self._waiting.clear()
            self._changed.notify_all()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(STOP_SECONDS)
        return not thread.is_alive()

    def _add(self, task: _Task, delay_s: float) -> None:
        with self._changed:
            if self._is_stopped:
                return
            heapq.heappush(self._waiting, (time.monotonic() + delay_s, next(self._numbers), task))
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="forklore-worker", daemon=True)
                self._thread.start()
                # a store that forgets has no jobs of an earlier process
                if task.message is not None and self._sweeps:
                    heapq.heappush(
                        self._waiting, (time.monotonic() + SWEEP_SECONDS, next(self._numbers), _Task(None))
                    )

    def _run(self) -> None:
        pauses = iter((WORK_SECONDS + 1.0,))
        while (task := self._next()) is not None:
            if task.message is None:
                self._sweep()
                self._add(task, next(pauses, SWEEP_SECONDS))
            else:
                self._work(task, task.message)
            if not self._has_more():
                self._empty()

    def _next(self) -> _Task | None:
        """Wait for the next task that is due and return it; None when the worker is stopped."""
        with self._changed:
            while not self._is_stopped:
                wait_s = self._waiting[0][0] - time.monotonic() if self._waiting else None
                if wait_s is not None and wait_s <= 0:
                    return heapq.heappop(self._waiting)[2]
                self._changed.wait(wait_s)
        return None

    def _work(self, task: _Task, message: str) -> None:
        try:
            asked = worker.read_message(message)
            worker.work(self._in_time(), self.queue, asked, lease_s=WORK_SECONDS, wait_s=self._delete_wait_s)
        except Exception as error:  # noqa: BLE001 (logged here without its text)
            if self._is_ending():
                return
            log_failure("failed", error, job="message")
            if task.tries < len(PAUSES):
                self._add(_Task(message, task.tries + 1), PAUSES[task.tries])

    def _sweep(self) -> None:
        try:
            table = self._in_time()
            self._expire(table.now_s())
            swept = sweeper.sweep(table, self.queue, report=_report)
            trash.empty_trash(table, self.queue, days=self._deleted_days, report=_report)
            if days := self._retention_days:
                retention.delete_unused(
                    table, self.queue, days=days, ignore_tag=self._ignore_tag, report=_report
                )
            self._swept(*swept)
        except UnavailableError:
            pass  # the next sweep goes on
        except Exception as error:  # noqa: BLE001 (logged here without its text)
            if not self._is_ending():
                _report(error)

    def _has_more(self) -> bool:
        """Whether another message is due already."""
        with self._changed:
            return bool(self._waiting) and self._waiting[0][0] <= time.monotonic()

    def _empty(self) -> None:
        try:
            self._empty_log()
        except UnavailableError:
            pass  # it is closed, or another process writes; the next work or sweep does it
        except Exception as error:  # noqa: BLE001 (logged here without its text)
            if not self._is_ending():
                _report(error)

    def _in_time(self) -> Table:
        return self._table.within(WORK_SECONDS, most=WORK_SECONDS)

    def _is_ending(self) -> bool:
        """Whether the process ends, so that nothing can be done any more."""
        return self._is_stopped or not threading.main_thread().is_alive()


def _report(error: Exception) -> None:
    log_failure("failed", error, job="sweep")
