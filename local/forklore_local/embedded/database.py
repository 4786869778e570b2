"""The SQLite file of a folder, or one in memory: its connections and its transactions.

Any number of threads and processes may use a folder at the same time. Nothing that is stored is
remembered here, so what another process has written is seen at once. The folder must be on a disk
of this machine: file systems of a network do not lock as SQLite needs it.

A transaction that was committed outlives a power failure (WAL and synchronous=FULL). One that was
not has changed nothing, whenever the process is killed or a signal raises an exception.

Nobody finds what is written into a file that was removed or replaced. So before a commit and
after it, the files at the path are compared with those that are open.
"""

import errno
import os
import sqlite3
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Generic, TypeVar

from forklore_local.embedded.turn import Turn
from forklore_service.errors import DamagedError, ForkloreError, StoreFailedError, UnavailableError

WAIT_SECONDS = 10.0
"""How long to wait for another process that writes."""
EMPTYING_MS = 1_000
"""How long to wait for those who read an older state, before the log is emptied."""
AT_ONCE = 64
"""How many transactions of waiting threads share one commit, and so one write to the disk."""
FORK_SECONDS = 5.0
CACHE_KILOBYTES = 4_000
ROOM_BYTES = 128 * 1024
"""How much the disk must still take. A small request adds about as much to the log."""
T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


class DamagedRowError(sqlite3.DatabaseError):
    """A row holds no item."""


class UnansweredError(Exception):
    """A transaction may or may not have been written. The same call may be sent again."""


class _Connection(sqlite3.Connection):
    """A connection that can be referred to weakly. log: the identity of its write-ahead log."""

    log: tuple[int, int] | None = None


class _Transaction(Generic[T]):
    """What a thread wants to do in a transaction, and what came of it."""

    def __init__(self, work: Work[T]) -> None:
        self.work = work
        self.is_taken = self.is_done = False
        self.answer: Any = None
        self.error: Exception | None = None


class Database:
    """Connections to one file. path: None for memory, which ends with `close`.

    The file must exist. A connection is opened when it is needed.
    """

    @classmethod
    def in_memory(cls, layout: str) -> "Database":
        """Return an empty database. layout: the statements that make its tables."""
        database = cls(None)
        assert database._own is not None
        database._own.executescript(layout)
        return database

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._log = None if path is None else _log_of(path)
        self._file = None if path is None else _identity(path)
        self.committed: Callable[[], object] = lambda: None
        """Is called after each commit of this process, in the thread that made it."""
        self.turn = Turn(None if path is None else path.parent)
        self._writing = threading.Lock()
        self._waiting: deque[_Transaction[Any]] = deque()
        self._opening = threading.Lock()
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._idle: list[_Connection] = []
        self._looking: _Connection | None = None
        self.refusal: str | None = None
        """Why every call is refused; None as long as calls are answered."""
        self._is_replaced = False
        self._own = self._connect() if path is None else None
        _ALL.add(self)

    # Reading

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection to read with. Each statement sees one moment.

        Raises StoreFailedError if the file cannot be read, and UnavailableError if it is closed.
        """
        with self._explained():
            if self._own is not None:
                with self._writing:
                    self._require_open()
                    yield self._own
                return
            connection = self._take()
            try:
                self._require_in_place(connection)
                yield connection
            except BaseException:
                self._drop(connection)
                raise
            self._idle.append(connection)

    def require_usable(self) -> None:
        """Raise what requests raise now, if the file cannot be read or the disk not written.

        Nothing is committed, so nobody who waits for a commit is woken.
        """
        with self.reading() as connection:
            connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
        if self._path is None:
            return
        if not _may_be_written(self._path):
            raise StoreFailedError("the folder cannot be written", reason="read_only")
        try:
            with TemporaryFile(dir=self._path.parent) as file:
                file.write(bytes(ROOM_BYTES))
        except OSError as error:
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            told = f"the disk of the folder {'is full' if is_full else 'failed'}"
            raise StoreFailedError(told, reason="full" if is_full else "failed") from error

    def moment(self) -> int | None:
        """Return a number that is another one after each commit, also after one of another process.

        It waits for no writer. None if it cannot be read: who asks for anything is told why.
        """
        try:
            with self._opening:
                self._require_open()
                if self._own is not None:
                    return self._own.total_changes
                self._looking = self._looking or self._connect()
                [version] = self._looking.execute("PRAGMA data_version").fetchone()
                return int(version)  # it counts the commits of all other connections
        except (sqlite3.Error, ForkloreError):
            return None

    def _take(self) -> _Connection:
        with self._opening:
            self._require_open()
            try:
                return self._idle.pop()
            except IndexError:
                return self._connect()

    def _drop(self, connection: _Connection) -> None:
        """Close a connection for good. After a use that was cut off it would keep an old view."""
        connection.close()
        self._open.discard(connection)

    def _require_open(self) -> None:
        if self.refusal is not None:
            raise UnavailableError(self.refusal)
        if self._is_replaced:
            assert self._path is not None
            text = "the folder was removed or replaced while it was open; start this program again"
            raise StoreFailedError(text, reason="replaced")

    def _require_in_place(self, connection: _Connection) -> None:
        """Raise StoreFailedError, now and at every later call, if its files are not at the path."""
        if self._path is None or self._log is None:
            return
        if (_identity(self._path), _identity(self._log)) != (self._file, connection.log):
            self._is_replaced = True
            self._require_open()

    # Writing

    def write(self, work: Work[T]) -> T:
        """Return what `work` returns, which runs in a transaction that no other one overlaps.

        An error of `work` is raised; then it must have written nothing. Transactions of threads
        that wait at the same time are committed together.
        Raises StoreFailedError if the file cannot be written, and UnavailableError if it is closed
        or another process writes for long: then nothing was changed, unless the text says that
        it may have been. Raises UnansweredError if a signal ended the thread that made the commit.
        """
        transaction = _Transaction(work)
        self._waiting.append(transaction)
        try:
            with self._writing:
                if not transaction.is_taken:
                    with self.turn.taken():  # meanwhile others come, which are committed together
                        self._commit_waiting(transaction)
        finally:
            with suppress(ValueError):
                self._waiting.remove(transaction)
        if not transaction.is_done:
            raise UnansweredError
        if transaction.error is not None:
            raise transaction.error
        answer: T = transaction.answer
        return answer

    def _commit_waiting(self, own: _Transaction[Any]) -> None:
        """Commit `own` together with others that wait.

        A signal may end this anywhere. One that left the queue and was not taken is committed by
        its own thread.
        """
        together = [own]
        while self._waiting and len(together) < AT_ONCE:
            other = self._waiting.popleft()
            if other is not own and not other.is_taken:
                together.append(other)
        for transaction in together:
            transaction.is_taken = True
        self._finish(together)

    def _finish(self, together: list[_Transaction[Any]]) -> None:
        """Commit transactions. Where one reads what is damaged, the others are committed alone."""
        try:
            self._require_open()
            with self._explained():
                self._commit(together)
            self.committed()
        except ForkloreError as error:
            if len(together) > 1 and isinstance(error, DamagedError):
                for transaction in together:
                    self._finish([transaction])
                return
            for transaction in together:
                transaction.error = error
        for transaction in together:
            transaction.is_done = True

    def _commit(self, together: list[_Transaction[Any]]) -> None:
        connection = self._own or self._take()
        try:
            if connection.in_transaction:  # of one that a signal has ended
                connection.execute("ROLLBACK")
            connection.execute("BEGIN IMMEDIATE")
            for transaction in together:
                transaction.error = None
                try:
                    transaction.answer = transaction.work(connection)
                except sqlite3.Error:
                    raise
                except Exception as error:  # noqa: BLE001 (it is raised in the thread of the call)
                    transaction.error = error
            self._require_in_place(connection)
            with self._open_whether_stored():
                connection.execute("COMMIT")
                self._require_in_place(connection)
        except BaseException:
            with suppress(sqlite3.Error):
                connection.rollback()
            if connection is not self._own:
                self._drop(connection)
            raise
        if connection is not self._own:
            self._idle.append(connection)

    @contextmanager
    def _open_whether_stored(self) -> Iterator[None]:
        """Say in a failure of a commit that the commit may be on the disk all the same."""
        try:
            with self._explained():
                yield
        except StoreFailedError as error:
            told = f"{error}. What was asked may have been stored: ask it again later, with its key"
            raise StoreFailedError(told, reason=str(error.details["reason"])) from error

    def empty_log(self) -> bool:
        """Move what is in the write-ahead log into the file, and cut the log to nothing.

        Until then the log also holds pages as they were before a deletion. Return False if others
        read or write for long: then it stays as it is.
        """
        if self._path is None:
            return True
        with self._writing, self.turn.taken(), self._explained():
            self._require_open()
            connection = self._connect()
            try:
                self._require_in_place(connection)
                connection.execute(f"PRAGMA busy_timeout = {EMPTYING_MS}")
                [is_busy, *_] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._drop(connection)
            return not is_busy

    # Connections

    def _connect(self) -> _Connection:
        place = ":memory:" if self._path is None else f"{self._path.absolute().as_uri()}?mode=rw"
        connection: _Connection = sqlite3.connect(
            place,
            uri=self._path is not None,
            timeout=WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            factory=_Connection,
        )
        self._open.add(connection)
        try:
            self._prepare(connection)
        except BaseException:
            self._drop(connection)
            raise
        return connection

    def _prepare(self, connection: _Connection) -> None:
        run = connection.execute
        run("PRAGMA synchronous = FULL")
        run("PRAGMA fullfsync = ON")  # macOS: what was written is on the disk and not in its cache
        run("PRAGMA checkpoint_fullfsync = ON")
        run("PRAGMA secure_delete = ON")  # nothing is left of what was deleted
        run(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
        if self._log is not None:
            run("SELECT 1 FROM sqlite_schema").fetchone()  # opens the log
            connection.log = _identity(self._log)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise SQLite's errors as errors for callers."""
        try:
            yield
        except sqlite3.Error as error:
            if self._path is not None and _identity(self._path) != self._file:
                self._is_replaced = True
                self._require_open()
            raise failure(error, self._path) from error

    def close(self) -> None:
        """Refuse every further call, and close the connections when nothing uses them any more."""
        with self._writing, self._opening:
            self.refusal = "the store is closed"
            for connection in (*self._idle, self._own, self._looking):
                if connection is not None:
                    connection.close()
            self._idle.clear()
            self.turn.close()

    # A process that forks

    def before_fork(self) -> None:
        """Close all connections: copies in the child would break SQLite's locks.

        Wait for those in use.
        """
        self._writing.acquire()
        self._opening.acquire()
        if self._looking is not None:
            self._drop(self._looking)
            self._looking = None
        give_up_at = time.monotonic() + FORK_SECONDS
        while self._own is None and len(self._idle) < len(self._open) and time.monotonic() < give_up_at:
            time.sleep(0.001)
        while self._idle:
            self._drop(self._idle.pop())

    def after_fork(self, *, is_child: bool) -> None:
        """Go on, but not in the child: what it inherits may be in use by a thread of the parent."""
        if is_child:
            self.refusal = "the store was opened by another process"
            _LOST.extend(self._open)  # never closed
            self.turn.close()
        self._opening.release()
        self._writing.release()


def _may_be_written(path: Path) -> bool:
    """Tell whether this user may write a file and those beside it. Needs no file handle."""
    files = [file for file in (path, _log_of(path), path.with_name(f"{path.name}-shm")) if file.exists()]
    return os.access(path.parent, os.W_OK | os.X_OK) and all(
        os.access(file, os.R_OK | os.W_OK) for file in files
    )


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from all others of this machine; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_ALL: weakref.WeakSet[Database] = weakref.WeakSet()
_FORKING: list[Database] = []
_LOST: list[_Connection] = []


def _before_fork() -> None:
    _FORKING[:] = _ALL
    for database in _FORKING:
        database.before_fork()


def _after_fork(*, is_child: bool) -> None:
    while _FORKING:
        _FORKING.pop().after_fork(is_child=is_child)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=partial(_after_fork, is_child=False),
        after_in_child=partial(_after_fork, is_child=True),
    )


def failure(error: sqlite3.Error, path: Path | None) -> ForkloreError:
    """Return an error of SQLite as one that says what to do.

    It quotes nothing that is stored, and does not name the folder: callers of a server are told it.
    path: of the file; None for memory.
    """
    name = getattr(error, "sqlite_errorname", "")
    place = "the store in memory" if path is None else "the folder"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")):
        return UnavailableError("another process has been writing for long; try again")
    if name.startswith("SQLITE_FULL"):
        return StoreFailedError(f"the disk of {place} is full; free some space", reason="full")
    if name.startswith("SQLITE_IOERR"):
        told = f"the disk of {place} failed, or has no room ({name}); look at it"
        return StoreFailedError(told, reason="failed")
    if name.startswith("SQLITE_CANTOPEN") and path is not None and _may_be_written(path):
        return UnavailableError(f"{place} cannot be opened now: free some file handles, or try again")
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN")):
        told = f"{place} cannot be opened or written ({name}); check who may write it"
        return StoreFailedError(told, reason="read_only")
    is_unreadable = type(error) in (sqlite3.OperationalError, DamagedRowError) and not name
    if is_unreadable or name in ("SQLITE_ERROR", "SQLITE_NOTADB") or name.startswith("SQLITE_CORRUPT"):
        return DamagedError(
            f"{place} is damaged: `forklore fsck` shows where; restore a backup, or export what can be read"
        )
    return UnavailableError(f"what is stored could not be read or written ({name or type(error).__name__})")
