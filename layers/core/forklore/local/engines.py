"""What can keep the local server's data in a folder, and the choice of one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import which

from forklore.embedded.folder import JOURNAL, OTHERS, DataError, locked
from forklore.embedded.opened import open_store
from forklore.embedded.outbox import Outbox
from forklore.embedded.store import Store
from forklore.local import dynamodb_local
from forklore.local.engine import EngineMissingError, served
from forklore.local.listening import ServerDidNotStartError, on_free_port

__all__ = ["EMBEDDED", "ENGINES", "DataError", "Kept", "kept_in"]

EMBEDDED = "embedded"
DYNOXIDE_FILE, DYNAMODB_LOCAL_FILE = OTHERS
INSTALL_DYNOXIDE = "cargo install dynoxide-rs --no-default-features --features native-sqlite,http-server,cli"


@dataclass(frozen=True)
class Engine:
    """A database in a process of its own. file: the name of the file that it makes in its folder.

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


ENGINES = {
    "dynoxide": Engine("dynoxide", DYNOXIDE_FILE, dynoxide),
    "dynamodb-local": Engine("DynamoDB Local", DYNAMODB_LOCAL_FILE, dynamodb_local.command),
}
"""The databases beside the embedded store, by the name that chooses them."""


@dataclass(frozen=True)
class Kept:
    """What keeps the data: a store in this process, or a database at an address.

    name: for people.
    """

    name: str
    store: Store | None = None
    endpoint: str | None = None


@contextmanager
def kept_in(
    folder: Path,
    engine: str | None = None,
    *,
    table: str = "forklore",
    on_end: Callable[[], None],
    outbox: Outbox | None = None,
) -> Iterator[Kept]:
    """Yield what keeps its data in `folder`, which is made if it is missing.

    It ends with the context and with this process. engine: EMBEDDED or one of ENGINES; None: the
    one whose data the folder holds, or EMBEDDED for a new folder. table: the name of the table.
    on_end: called if the database ends before the context, or if the store can keep no more.
    outbox: what the embedded store tells of changes.
    Raises DataError if the folder is in use, or if the engine cannot keep its data there.
    """
    folder = folder.resolve()
    with locked(folder) as lock:
        chosen = _chosen(folder, engine)
        if chosen is None:
            store = open_store(folder, name=table, on_failure=on_end, outbox=outbox)
            try:
                yield Kept("The embedded store", store=store)
            finally:
                store.close()
            return
        try:
            command = chosen.command(folder)
            with on_free_port(partial(served, command, on_end=on_end, held=[lock.fileno()])) as endpoint:
                yield Kept(chosen.name, endpoint=endpoint)
        except EngineMissingError as missing:
            raise DataError(f"{chosen.name} cannot keep data in {folder}: {missing}") from missing
        except ServerDidNotStartError as error:
            raise DataError(f"{chosen.name} did not start: {error}") from error


def _chosen(folder: Path, wanted: str | None) -> Engine | None:
    """Return the engine for a folder; None for the embedded store.

    Raises DataError if the folder holds the data of another one than is wanted.
    """
    files = {EMBEDDED: JOURNAL} | {name: engine.file for name, engine in ENGINES.items()}
    begun = [name for name, file in files.items() if (folder / file).exists()]
    if len(begun) > 1:
        raise DataError(f"{folder} holds data of {' and of '.join(begun)}")
    if begun and wanted not in (None, *begun):
        raise DataError(f"{folder} holds data of {begun[0]}, so {wanted} cannot be chosen")
    return ENGINES.get(begun[0] if begun else wanted or EMBEDDED)
