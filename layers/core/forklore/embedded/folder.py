"""A folder that holds data: made, locked for one process, and whose data it holds."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

LOCK = "forklore.lock"
JOURNAL = "forklore.db"
"""The file of the embedded store."""
OTHERS: Mapping[str, str] = {"dynoxide.db": "dynoxide", "shared-local-instance.db": "DynamoDB Local"}
"""The files of the databases that only the local server can start, with their names."""
FREE_WITHIN_SECONDS = 5.0
"""How long to wait for a process that was killed to end."""


class DataError(Exception):
    """Data cannot be kept in the folder; the message is one line."""


def locked(folder: Path) -> IO[str]:
    """Return an open file that locks the folder for this process until `free` is called with it.

    The folder is made if it is missing, with a `.gitignore` so that git ignores what is in it.
    Raises DataError if the folder cannot be used, or if another process uses it.
    """
    try:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)  # another process may make it, too
            (folder / ".gitignore").write_text("*\n")
        lock = (folder / LOCK).open("a")
    except OSError as error:
        raise DataError(f"cannot keep data in {folder}: {error.strerror}") from error
    try:
        _take(lock, folder)
    except BaseException:
        lock.close()
        raise
    return lock


def _take(lock: IO[str], folder: Path) -> None:
    try:
        import fcntl
    except ModuleNotFoundError:
        raise DataError("data can be kept in a folder on Linux and macOS only") from None
    give_up_at = time.monotonic() + FREE_WITHIN_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > give_up_at:
                raise DataError(f"{folder} is in use by another process") from None
            time.sleep(0.1)
        except OSError as error:
            raise DataError(f"cannot lock {folder}: {error.strerror}") from error


def free(lock: IO[str]) -> None:
    """Free the folder, also if a process that was forked from this one has the file open."""
    import fcntl

    with lock:
        fcntl.flock(lock, fcntl.LOCK_UN)


def refuse_data_of_others(folder: Path) -> None:
    """Raise DataError if the folder holds the data of a database that only the server can start."""
    for file, name in OTHERS.items():
        if (folder / file).exists():
            raise DataError(f"{folder} holds data of {name}, which only the local server can open")
