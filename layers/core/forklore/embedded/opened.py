"""What the services of one folder share: the store, the table and the worker."""

import atexit
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, ParamSpec, TypeVar

from forklore.embedded.folder import JOURNAL, DataError, free, locked, refuse_data_of_others
from forklore.embedded.journal import Journal
from forklore.embedded.outbox import Outbox
from forklore.embedded.store import NAME, Store
from forklore.embedded.underway import Underway
from forklore.embedded.worker import STOP_SECONDS, Worker
from forklore.storage.clock import Clock
from forklore.storage.connection import Connection
from forklore.storage.table import READS_AT_ONCE, Table

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_SHARED: dict[tuple[int, Path], "Opened"] = {}
"""What is open in this process, by folder. A process that was forked from this one has its own."""
_OPENING: dict[tuple[int, Path], threading.Lock] = {}
"""The lock of each folder while it is opened or left, which may take seconds."""


class ReadThreads(ThreadPoolExecutor):
    """Threads for reads that overlap. A call that can have no thread runs in the caller's.

    Python ends such threads when the main thread has ended, while others may still run.
    """

    def submit(
        self, fn: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Result]:
        """Return the future of the call."""
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError:
            outcome: Future[Result] = Future()
            try:
                outcome.set_result(fn(*args, **kwargs))
            except Exception as error:  # noqa: BLE001 (it is raised where the result is taken)
                outcome.set_exception(error)
            return outcome


class Opened:
    """An open store, its table and its worker. users: how many services use it.

    folder, lock: of a store that is kept. The lock is freed at the end.
    """

    def __init__(self, store: Store, *, folder: Path | None = None, lock: IO[str] | None = None) -> None:
        self.store = store
        self.underway = Underway()
        self._threads = ReadThreads(READS_AT_ONCE, thread_name_prefix="forklore-read")
        self.table = Table(Connection(store.make_client(), NAME, Clock()), threads=self._threads)
        self.worker = Worker(self.table, self.underway, expire=store.expire)
        self.users = 1
        self._folder, self._lock = folder, lock
        self._process = os.getpid()
        self.changing = threading.Lock() if folder is None else _lock_of(folder)

    def leave(self) -> None:
        """End everything if this was the last user. In a forked process: do nothing."""
        if os.getpid() != self._process:
            return
        with self.changing:
            self.users -= 1
            if self.users == 0:
                self.end()

    def end(self) -> None:
        """Stop the worker, let running requests end for STOP_SECONDS, and free the folder."""
        if self._folder is not None:
            _SHARED.pop((os.getpid(), self._folder), None)
        self.worker.stop()
        self.underway.wait_for_earlier(STOP_SECONDS)
        self._threads.shutdown(wait=False)
        self.store.close()
        if self._lock is not None:
            free(self._lock)


def open_in_memory() -> Opened:
    """Return a store that forgets everything at its end."""
    return Opened(Store())


def share(folder: Path) -> Opened:
    """Return what is open of a folder in this process, or open it. Raises DataError."""
    folder = folder.resolve()
    with _lock_of(folder):
        shared = _SHARED.get((os.getpid(), folder))
        if shared is not None:
            shared.users += 1
            return shared
        opened = _open(folder)
        _SHARED[os.getpid(), folder] = opened
        atexit.register(_end_all)  # registered again it is only called again, and then finds nothing
        opened.worker.start()
        return opened


def _lock_of(folder: Path) -> threading.Lock:
    """Return the folder's lock in this process. A forked process has others, which are free."""
    return _OPENING.setdefault((os.getpid(), folder), threading.Lock())


def open_store(
    folder: Path,
    *,
    name: str = NAME,
    on_failure: Callable[[], object] = lambda: None,
    outbox: Outbox | None = None,
) -> Store:
    """Return the store that keeps its items in a folder, which the caller has locked.

    on_failure: called when the store can keep no more. outbox: what is told of changes. Items whose
    time is over are left out.
    Raises DataError, also for a folder with the data of another database.
    """
    refuse_data_of_others(folder)
    journal = Journal(folder / JOURNAL)
    try:
        store = Store(journal, name=name, on_failure=on_failure, outbox=outbox)
        store.expire(int(time.time()))
        return store
    except (AttributeError, KeyError, ValueError, TypeError) as error:
        journal.close()
        raise DataError(f"{folder / JOURNAL} holds an item that cannot be read") from error
    except BaseException:
        journal.close()
        raise


def _open(folder: Path) -> Opened:
    lock = locked(folder)
    try:
        return Opened(open_store(folder), folder=folder, lock=lock)
    except BaseException:
        free(lock)
        raise


def _end_all() -> None:
    """End what is still open when the process ends."""
    for (process, _), opened in list(_SHARED.items()):
        if process == os.getpid():
            with opened.changing:
                opened.end()
