"""What a service needs of a folder, or of memory: the table, the files and the worker."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

from forklore_local.embedded.database import Database
from forklore_local.embedded.engine import NAME, Engine
from forklore_local.embedded.rows import LAYOUT
from forklore_local.in_process.folder import prepared
from forklore_local.in_process.objects import ATTACHMENTS, FolderObjects
from forklore_local.in_process.one_model import OneModel
from forklore_local.in_process.outbox import MESSAGES, note
from forklore_local.in_process.worker import Worker
from forklore_service.domain.meaning import Nearness
from forklore_service.domain.retention import days_in_trash
from forklore_service.domain.tree import WAIT_SECONDS
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import Connection
from forklore_service.storage.table import READS_AT_ONCE, Table

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class ReadThreads(ThreadPoolExecutor):
    """Threads for reads that overlap. A call that can have no thread runs in the caller's.

    Python ends such threads when the main thread has ended, while others may still run.
    """

    def submit(
        self, fn: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Result]:
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError:
            outcome: Future[Result] = Future()
            try:
                outcome.set_result(fn(*args, **kwargs))
            except Exception as error:  # noqa: BLE001 (it is raised where the result is taken)
                outcome.set_exception(error)
            return outcome


def open_database(folder: Path | None) -> Database:
    """Return the database of a folder, which is made if it is missing. None: it is in memory.

    Raises DataError.
    """
    if folder is None:
        return Database.in_memory(LAYOUT + MESSAGES)
    return Database(prepared(folder))


class Opened:
    """An open folder, its table, its files and its worker. folder: None for memory.

    Others may have the same folder open, in this process and in others. name: of the table.
    delete_wait_s: how long what was deleted is kept, because a request of any of them may still
    read it. deleted_days, retention_days, ignore_retention_tag, sweeps, swept: as of Worker.
    nearness: as of Table.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        name: str = NAME,
        delete_wait_s: int = WAIT_SECONDS,
        deleted_days: int = 0,
        retention_days: int = 0,
        ignore_retention_tag: bool = False,
        sweeps: bool = True,
        nearness: Nearness | None = None,
        swept: Callable[[int, float, int], object] = lambda *_: None,
    ) -> None:
        """Raises DataError."""
        self.folder = None if folder is None else folder.absolute()
        self.process = os.getpid()
        self.delete_wait_s = delete_wait_s
        self.deleted_days = days_in_trash(deleted_days, retention_days)
        self.database = open_database(self.folder)
        self.engine = Engine(self.database, name=name, told=note)
        self.objects = FolderObjects(None if self.folder is None else self.folder / ATTACHMENTS)
        self._model = OneModel(nearness, self.folder) if nearness and self.folder else nearness
        self._threads = ReadThreads(READS_AT_ONCE, thread_name_prefix="forklore-read")
        self.table = Table(
            Connection(self.engine, name, Clock()),
            threads=self._threads,
            objects=self.objects,
            nearness=self._model,
            by_meaning=True,
        )
        self.worker = Worker(
            self.table,
            expire=self.engine.expire,
            empty_log=self.database.empty_log,
            delete_wait_s=delete_wait_s,
            deleted_days=self.deleted_days,
            retention_days=retention_days,
            ignore_retention_tag=ignore_retention_tag,
            sweeps=sweeps,
            swept=swept,
        )
        if folder is not None:
            self.worker.start()

    def keep_model(self) -> None:
        """Keep the folder's model, as the first recall does. Raises StoreFailedError."""
        if isinstance(self._model, OneModel):
            self._model.keep()

    def close(self) -> None:
        """Stop the worker and close the database. In a forked process: do nothing."""
        if os.getpid() == self.process:
            self.worker.stop()
            self._threads.shutdown(wait=False)
            self.database.close()
            self.objects.close()
            if isinstance(self._model, OneModel):
                self._model.close()
