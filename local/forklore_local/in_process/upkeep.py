"""What an operator does with a folder that may be in use: look for damage, and copy it."""

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from forklore_local.embedded import rows
from forklore_local.embedded.database import WAIT_SECONDS, DamagedRowError, failure
from forklore_local.embedded.items import Place
from forklore_local.in_process.folder import FILE, FORMAT, IGNORED, DataError, format_of
from forklore_local.in_process.objects import ATTACHMENTS, FolderObjects, sync
from forklore_service.errors import DamagedError, ForkloreError
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.objects import Expected

IN_FILE: Place = ("", "")
_ROWS = "SELECT PK, SK, CAST(attributes AS BLOB) FROM item"
_FILES = "SELECT attributes FROM item WHERE SK = 'FILE' AND PK BETWEEN 'FILE#' AND 'FILE$'"
COPIES_MAX = 5
"""How often the database is copied if attachments that it names go meanwhile."""


class Damage(NamedTuple):
    """Something that SQLite or forklore cannot read. place: of an item; else IN_FILE."""

    place: Place
    detail: str


def damage_in(folder: Path) -> list[Damage]:
    """Return what is damaged in the file of a folder. Nothing is written.

    Raises DataError if the folder keeps no data of this format, or cannot be read at all.
    """
    try:
        with _opened(folder) as connection:
            found = [Damage(IN_FILE, text) for (text,) in connection.execute("PRAGMA integrity_check")]
            if found != [Damage(IN_FILE, "ok")]:
                return found
            if format_of(connection, folder / FILE) != FORMAT:
                raise DataError(f"{folder} is of an earlier format; open it once first")
            return list(_damaged_rows(connection))
    except DamagedError:
        return [Damage(IN_FILE, "SQLite cannot read the file")]
    except ForkloreError as error:
        raise DataError(str(error)) from error


def require_readable(folder: Path) -> None:
    """Raise DataError if the folder keeps no data that this forklore reads. Nothing is written."""
    try:
        with _opened(folder) as connection:
            format_of(connection, folder / FILE)
    except ForkloreError as error:
        raise DataError(str(error)) from error


def _damaged_rows(connection: sqlite3.Connection) -> Iterator[Damage]:
    for partition, sort, attributes in connection.execute(_ROWS):
        try:
            if rows.place_in(attributes) != (partition, sort):
                yield Damage((partition, sort), "the row holds another item")
        except DamagedRowError:
            yield Damage((partition, sort), "the row holds no item")


def back_up(folder: Path, to: Path) -> list[str]:
    """Copy what a folder keeps at this moment into a new folder. Others may go on writing.

    Return the attachments whose bytes are lost, sorted. All else is copied.
    The new folder is there whole or not at all. Raises DataError if it exists, or if something
    cannot be read or written.
    """
    if to.exists():
        raise DataError(f"{to} exists already; a backup makes its folder")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{to.name}.", dir=to.parent))
    except OSError as error:
        raise DataError(f"cannot make {to}: {error.strerror}") from error
    try:
        lost = _copy(folder, made)
        made.rename(to)
        sync(to.parent)
        return sorted(lost)
    except ForkloreError as error:
        raise DataError(str(error)) from error
    except OSError as error:
        raise DataError(f"cannot make {to}: {error.strerror}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _copy(folder: Path, to: Path) -> set[str]:
    """Copy a folder. Return the attachments whose bytes are lost: two copies in turn lack them."""
    os.close(os.open(to / FILE, os.O_CREAT | os.O_EXCL, 0o600))
    with _opened(folder) as source, _opened(to) as copy:
        missing = set[str]()
        for _ in range(COPIES_MAX):
            before = missing
            source.backup(copy)
            if copy.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
                raise DataError(f"{folder} is damaged, so no backup was made; `forklore fsck` shows where")
            missing = _copy_objects(copy, folder, to)
            if missing <= before:
                break
    (to / IGNORED).write_text("*\n")
    sync(to / FILE)
    sync(to)
    return missing


def _copy_objects(copied: sqlite3.Connection, folder: Path, to: Path) -> set[str]:
    """Copy the bytes of the attachments in a copied database. Return those that are missing.

    One that was removed since the database was copied may be missing.
    """
    source, copies = FolderObjects(folder / ATTACHMENTS), FolderObjects(to / ATTACHMENTS)
    kept, missing = {object_id for object_id, _ in copies.all()}, set[str]()
    for file in (items.file(json.loads(text)) for (text,) in copied.execute(_FILES)):
        if file.can_be_named and file.attachment_id not in kept:
            expected = Expected(file.content_type, file.size, file.sha256)
            is_there = copies.take(source.place(file.attachment_id), file.attachment_id, expected)
            if not is_there and not file.is_pending:
                missing.add(file.attachment_id)
        kept.discard(file.attachment_id)
    for object_id in kept:
        copies.delete(object_id)
    return missing


@contextmanager
def moment(folder: Path) -> Iterator[Callable[[], Iterator[Item]]]:
    """Yield what yields all items of a folder as they are now, each time that it is called.

    Others may go on writing. Raises DataError.
    """
    try:
        with _opened(folder) as connection:
            if format_of(connection, folder / FILE) != FORMAT:
                raise DataError(f"{folder} is of an earlier format; open it once first")
            connection.execute("BEGIN")
            connection.execute("SELECT PK FROM item LIMIT 1").fetchone()  # the moment is that of a first read
            yield lambda: (
                rows.item_in(text) for (text,) in connection.execute("SELECT attributes FROM item")
            )
    except ForkloreError as error:
        raise DataError(str(error)) from error


@contextmanager
def _opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to the file of a folder. Raises DataError if there is none."""
    path = folder.absolute() / FILE
    if not path.is_file():
        raise DataError(f"{folder} keeps no data of forklore")
    try:
        place = f"{path.as_uri()}?mode=rw"
        with closing(
            sqlite3.connect(place, uri=True, timeout=WAIT_SECONDS, isolation_level=None)
        ) as connection:
            yield connection
    except sqlite3.Error as error:
        raise failure(error, folder / FILE) from error
