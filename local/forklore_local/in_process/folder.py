"""A folder that holds data: made, checked, and taken over from an earlier format."""

import json
import os
import sqlite3
import stat
import time
from contextlib import closing, suppress
from pathlib import Path

from forklore_local.embedded.database import WAIT_SECONDS, failure
from forklore_local.embedded.rows import LAYOUT, PUT, row_of
from forklore_local.embedded.turn import TURN
from forklore_local.embedded.vectors import LAYOUT as VECTORS
from forklore_local.in_process.objects import ATTACHMENTS
from forklore_local.in_process.one_model import MODEL
from forklore_local.in_process.outbox import MESSAGES, TELLER

FILE = "forklore.db"
OLD_LOCK = "forklore.lock"
"""Forklore 0.x of the first format held a lock on this file as long as it used the folder."""
FORMAT = 2
"""What `user_version` of the file says. A newer forklore may write a higher one."""
APPLICATION_ID = 0x466B4C72
"""Marks the file as forklore's ("FkLr")."""
OTHERS = {"dynoxide.db": "dynoxide", "shared-local-instance.db": "DynamoDB Local"}
"""The files of the databases that an earlier local server could start, with their names."""
MOVED_ELSEWHERE = (
    "export it with the forklore that wrote it, import that into a new folder with a checkout from before "
    "the three packages, and open the new folder here"
)
"""What is said of their data."""
OWNER_ONLY, OWNER_ONLY_FOLDER, OTHERS_RIGHTS = 0o600, 0o700, 0o077
IGNORED = ".gitignore"
BESIDE = {IGNORED, OLD_LOCK, TELLER, TURN, ATTACHMENTS, MODEL}


class DataError(Exception):
    """Data cannot be kept in the folder; the message is one line."""


def prepared(folder: Path) -> Path:
    """Return the file that keeps the data of a folder. Both are made if they are missing.

    Only the user may read them, unless other things are in the folder, too. A new folder gets a
    `.gitignore`, so that git ignores it. A file of the first format is taken over in one
    transaction.
    Raises DataError if the folder or the file cannot be used.
    """
    for other, name in OTHERS.items():
        if (folder / other).exists():
            raise DataError(f"{folder} holds data of {name}: {MOVED_ELSEWHERE}")
    path = folder / FILE
    try:
        if not folder.exists():
            folder.mkdir(mode=OWNER_ONLY_FOLDER, parents=True, exist_ok=True)  # others may make it, too
            (folder / IGNORED).write_text("*\n")
        with suppress(FileExistsError):
            # Only a new file: to close one of SQLite's would end the locks of this process on it.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    except OSError as error:
        raise DataError(f"cannot keep data in {folder}: {error.strerror}") from error
    _hide(folder)
    if not os.access(path, os.R_OK | os.W_OK):
        raise DataError(f"cannot keep data in {folder}: check who may write the folder and {FILE}")
    try:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=WAIT_SECONDS)) as connection:
            _prepare(connection, path)
    except sqlite3.Error as error:
        raise DataError(f"cannot open {path}: {failure(error, path)}") from error
    return path


def _hide(folder: Path) -> None:
    """Take the rights of others on forklore's files, and on the folder if it has no other ones."""
    kept = list(folder.iterdir())
    own = [file for file in kept if file.name.startswith(FILE)]
    for place in own if set(kept) - set(own) - {folder / name for name in BESIDE} else [folder, *own]:
        with suppress(OSError):  # it belongs to another user, or has just gone
            if (mode := stat.S_IMODE(place.stat().st_mode)) & OTHERS_RIGHTS:
                place.chmod(mode & ~OTHERS_RIGHTS)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    run = connection.execute
    if format_of(connection, path) == FORMAT and _has_vectors(connection):
        return
    _use_wal(connection)
    run("PRAGMA synchronous = FULL")
    run("BEGIN IMMEDIATE")
    try:
        found = format_of(connection, path)  # another process may have been faster
        if found == 1:
            _take_over(connection, path)
        elif found is None:
            _run_all(connection, LAYOUT + MESSAGES)
        elif not _has_vectors(connection):
            _run_all(connection, VECTORS)
        run(f"PRAGMA application_id = {APPLICATION_ID}")
        run(f"PRAGMA user_version = {FORMAT}")
        run("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.rollback()
        raise


def format_of(connection: sqlite3.Connection, path: Path) -> int | None:
    """Return the format of a file; None for an empty one. Raises DataError for one of others."""
    run = connection.execute
    [application], [found] = run("PRAGMA application_id").fetchone(), run("PRAGMA user_version").fetchone()
    if application == APPLICATION_ID and found > FORMAT:
        raise DataError(f"{path} was written by a newer forklore (format {found}; this reads {FORMAT})")
    if application == APPLICATION_ID and found > 0:
        return int(found)
    if run("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        raise DataError(f"{path} is no data of forklore")
    return None


def _has_vectors(connection: sqlite3.Connection) -> bool:
    """Return whether a file has the index of vectors, which an earlier one of this format lacks."""
    return connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'vector'").fetchone() is not None


def _use_wal(connection: sqlite3.Connection) -> None:
    """Turn the write-ahead log on, which SQLite refuses while another process does the same."""
    give_up_at = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.01)


def _take_over(connection: sqlite3.Connection, path: Path) -> None:
    """Put what a file of the first format holds into the tables of this one."""
    _require_unused(path.parent / OLD_LOCK)
    run = connection.execute
    run("ALTER TABLE item RENAME TO old")
    has_messages = run("SELECT 1 FROM sqlite_schema WHERE name = 'message'").fetchone()
    _run_all(connection, LAYOUT + (MESSAGES.split(";", 1)[1] if has_messages else MESSAGES))
    try:
        for (text,) in run("SELECT attributes FROM old"):
            run(PUT, row_of(json.loads(text)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} holds an item that cannot be read") from error
    run("DROP TABLE old")


def _require_unused(lock: Path) -> None:
    """Raise DataError if a forklore that knows the first format only uses the folder."""
    try:
        import fcntl
    except ModuleNotFoundError:
        return
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DataError(f"{lock.parent} is in use by an older forklore; stop it first") from error


def _run_all(connection: sqlite3.Connection, statements: str) -> None:
    """Run statements inside the open transaction, which `executescript` would commit."""
    statement = ""
    for part in statements.split(";")[:-1]:
        statement += part + ";"
        if sqlite3.complete_statement(statement):  # a trigger holds others
            connection.execute(statement)
            statement = ""
