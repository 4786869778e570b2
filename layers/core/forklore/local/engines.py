"""The databases that can keep the local server's data in a folder, and the choice of one."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import which
from typing import IO

from forklore.local import dynamodb_local
from forklore.local.engine import EngineMissingError, served
from forklore.local.listening import ServerDidNotStartError, on_free_port

LOCK = "forklore.lock"
FREE_WITHIN_SECONDS = 5.0
"""How long to wait for the database of a server that was killed to end."""
DYNOXIDE_FILE = "dynoxide.db"
INSTALL_DYNOXIDE = "cargo install dynoxide-rs --no-default-features --features native-sqlite,http-server,cli"


class DataError(Exception):
    """Data cannot be kept in the folder; the message is one line."""


@dataclass(frozen=True)
class Engine:
    """A database. file: the name of the file that it makes in its folder.

    command: returns the command that starts it, without the port; with None it keeps its data in
    memory. Raises EngineMissingError.
    """

    name: str
    file: str
    command: Callable[[Path | None], list[str]]


def dynoxide(folder: Path | None) -> list[str]:
    """Return the command that starts dynoxide, a DynamoDB on SQLite. Raises EngineMissingError."""
    program = which("dynoxide")
    if program is None:
        raise EngineMissingError(f"dynoxide is not on the PATH ({INSTALL_DYNOXIDE})")
    stored = [] if folder is None else ["--db-path", str(folder / DYNOXIDE_FILE)]
    return [program, "--host", "127.0.0.1", *stored, "--port"]


ENGINES = (
    Engine("dynoxide", DYNOXIDE_FILE, dynoxide),
    Engine("DynamoDB Local", "shared-local-instance.db", dynamodb_local.command),
)
"""The preferred one is first."""


@contextmanager
def kept_in(folder: Path, *, on_end: Callable[[], None]) -> Iterator[tuple[str, str]]:
    """Yield the address and the name of a database that keeps its data in `folder`.

    The folder is made if it is missing, with a `.gitignore` so that git ignores what is in it.
    The database ends with the context and with this process. on_end: called if it ends before that.
    Raises DataError if the folder is in use, or if no database can keep its data there.
    """
    folder = folder.resolve()
    try:
        if not folder.exists():
            folder.mkdir(parents=True)
            (folder / ".gitignore").write_text("*\n")
        lock = (folder / LOCK).open("a")
    except OSError as error:
        raise DataError(f"cannot keep data in {folder}: {error.strerror}") from error
    with lock:
        _take(lock, folder)
        engine, command = _engine_for(folder)
        try:
            with on_free_port(partial(served, command, on_end=on_end, held=[lock.fileno()])) as endpoint:
                yield endpoint, engine.name
        except ServerDidNotStartError as error:
            raise DataError(f"{engine.name} did not start: {error}") from error


def _take(lock: IO[str], folder: Path) -> None:
    """Lock the folder for this process and for the database, as long as either runs."""
    give_up_at = time.monotonic() + FREE_WITHIN_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > give_up_at:
                raise DataError(f"{folder} is in use by another server") from None
            time.sleep(0.1)


def _engine_for(folder: Path) -> tuple[Engine, list[str]]:
    """Return the first engine that this machine has and its command.

    If the folder holds the data of an engine, only that one is tried.
    """
    begun = [engine for engine in ENGINES if (folder / engine.file).exists()]
    reasons = []
    for engine in begun or ENGINES:
        try:
            return engine, engine.command(folder)
        except EngineMissingError as missing:
            reasons.append(str(missing))
    raise DataError(f"nothing here can keep data in {folder}: {'; '.join(reasons)}")
