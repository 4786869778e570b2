"""Where a copy comes from and where it goes: a table of DynamoDB, a folder, or a file.

A folder and a file are there whole or not at all. A table takes a copy if it is empty, or if it
holds nothing but a part of this copy, which was ended midway.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from forklore_local.copying import lines
from forklore_local.copying.failures import CopyError
from forklore_local.embedded.database import Database
from forklore_local.embedded.engine import NAME, Engine
from forklore_local.embedded.rows import TTL
from forklore_local.fsck.source import NotForkloreError, Source
from forklore_local.in_process import upkeep
from forklore_local.in_process.folder import DataError, prepared
from forklore_local.in_process.objects import ATTACHMENTS, FolderObjects, sync
from forklore_service.errors import ForkloreError, UnavailableError
from forklore_service.storage import items
from forklore_service.storage.clients import make_client, make_objects_client
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import ATTEMPTS_MAX, CallRefused, Deadline, Item
from forklore_service.storage.objects import Objects
from forklore_service.storage.objects_s3 import S3Objects
from forklore_service.storage.table import BATCH_KEYS_MAX, Table
from forklore_service.storage.timeouts import PatientConnection

BESIDE = ".files"
"""The bytes of the attachments of a file lie in a folder with its name and this behind it."""
SEGMENTS = 4
"""How many parts of a table are read at the same time."""
PUTS_MAX = 25
"""DynamoDB's own limit for BatchWriteItem."""
PUT_SECONDS = 20.0

T = TypeVar("T")


class From(Protocol):
    """What is copied. objects: the bytes of its attachments; None: nobody knows where."""

    @property
    def objects(self) -> Objects | None: ...

    def items(self) -> Iterator[Item]:
        """Yield all items, in any order. Each call reads them anew."""
        ...


class To(Protocol):
    """What gets the items. objects: as of From."""

    @property
    def objects(self) -> Objects | None: ...

    def check_free(self, copied: Callable[[], Iterator[Item]]) -> None:
        """Raise CopyError if anything but a part of this copy is there. Nothing is written."""
        ...

    def put(self, some: Sequence[Item]) -> None: ...


def in_batches(items: Iterator[T], number: int) -> Iterator[list[T]]:
    """Yield the items in lists of so many."""
    while batch := list(islice(items, number)):
        yield batch


# A table


class TableCopy:
    """A table of DynamoDB, or of an engine, without what had expired when the copy began.

    DynamoDB removes that at any time, so the second reading might find less than the first.
    """

    def __init__(self, table: Table, *, segments: int = SEGMENTS) -> None:
        self.objects = table.objects
        self._table, self._segments = table, segments
        self._began_s = table.now_s()

    def items(self) -> Iterator[Item]:
        for page in Source(self._table.connection).scan(segments=self._segments):
            yield from (item for item in page if not self._has_expired(item))

    def _has_expired(self, item: Item) -> bool:
        return TTL in item and int(item[TTL]["N"]) <= self._began_s

    def check_free(self, copied: Callable[[], Iterator[Item]]) -> None:
        if next(self.items(), None) is None:
            return
        there = 0
        for batch in in_batches(copied(), BATCH_KEYS_MAX):
            wanted = {items.key(item): item for item in batch}
            found = self._table.items_at(wanted)
            if any(wanted[key] != item for key, item in found.items()):
                break
            there += len(found)
        else:
            if there == sum(1 for _ in self.items()):
                return
        raise CopyError(f"table {self._table.connection.table_name} is in use: it is not empty")

    def put(self, some: Sequence[Item]) -> None:
        for _ in self._table.side_by_side(self._put, list(in_batches(iter(some), PUTS_MAX))):
            pass

    def _put(self, batch: Sequence[Item]) -> None:
        connection, until = self._table.connection, Deadline.after(PUT_SECONDS)
        left = [{"PutRequest": {"Item": item}} for item in batch]
        for attempt in range(ATTEMPTS_MAX):
            if not left or not connection.pause(attempt, until):
                break
            request = {connection.table_name: left}
            answer = connection.call("batch_write_item", until, RequestItems=request)
            left = answer["UnprocessedItems"].get(connection.table_name, [])
        if left:
            raise UnavailableError("the store is busy; try again")


@contextmanager
def table_at(
    name: str, *, endpoint: str | None = None, region: str | None = None, bucket: str | None = None
) -> Iterator[TableCopy]:
    """Yield a table of DynamoDB. What goes wrong with it in the block is raised as a CopyError.

    endpoint: its address, and that of its bucket; None: AWS. region: None: the default of AWS's
    tools. bucket: of its attachments; None: there are none.
    """
    try:
        connection = PatientConnection(make_client(endpoint, region=region), name, Clock())
        Source(connection).describe()
        objects = None if bucket is None else S3Objects(bucket, make_objects_client(endpoint, region=region))
        yield TableCopy(Table(connection, objects=objects))
    except ClientError as error:
        told = error.response["Error"]
        if told["Code"] == "ResourceNotFoundException":
            raise CopyError(f"there is no table {name!r} here") from error
        raise CopyError(f"{told['Code']}: {told.get('Message', '')}".splitlines()[0]) from error
    except (BotoCoreError, ForkloreError, NotForkloreError) as error:
        raise CopyError(str(error)) from error


# A folder


class FolderMoment:
    """What a folder keeps at one moment, while others may write to it."""

    def __init__(self, folder: Path, items: Callable[[], Iterator[Item]]) -> None:
        self.objects = FolderObjects(folder / ATTACHMENTS)
        self.items = items


@contextmanager
def folder_at(folder: Path) -> Iterator[FolderMoment]:
    """Yield a folder that keeps data. Raises CopyError."""
    try:
        with upkeep.moment(folder) as every:
            yield FolderMoment(folder, every)
    except DataError as error:
        raise CopyError(str(error)) from error


@contextmanager
def new_folder(to: Path) -> Iterator[TableCopy]:
    """Yield the table of a folder that is there if the block raises nothing. Raises CopyError."""
    with _made(to) as made:
        folder = made / "data"
        try:
            with closing(Database(prepared(folder))) as database:
                connection = PatientConnection(Engine(database), NAME, Clock())
                yield TableCopy(Table(connection, objects=FolderObjects(folder / ATTACHMENTS)))
        except (CallRefused, DataError, ForkloreError) as error:
            raise CopyError(str(error).splitlines()[0]) from error
        folder.replace(to)


# A file


class FileCopy:
    """A file that is read. Its items are followed by a FormatError if it is not whole."""

    def __init__(self, path: Path) -> None:
        beside = _beside(path)
        self.objects = FolderObjects(beside) if beside.is_dir() else None
        self._path = path

    def items(self) -> Iterator[Item]:
        return lines.read(self._path)


@contextmanager
def file_at(path: Path) -> Iterator[FileCopy]:
    """Yield a file that is read."""
    yield FileCopy(path)


class NewFile:
    """A file that is written."""

    def __init__(self, writer: lines.Writer, beside: Path) -> None:
        self.objects = FolderObjects(beside)
        self._writer = writer

    def check_free(self, copied: Callable[[], Iterator[Item]]) -> None:
        """It is new."""

    def put(self, some: Sequence[Item]) -> None:
        for item in some:
            self._writer.put(item)


@contextmanager
def new_file(to: Path) -> Iterator[NewFile]:
    """Yield a file that is there if the block raises nothing. Raises CopyError."""
    with _made(to) as made:
        beside = _beside(to)
        if beside.exists():
            raise CopyError(f"{beside} exists: name another file, or remove it")
        written, files = made / "lines", made / "files"
        with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            writer = lines.Writer(stream, at=datetime.now(UTC).isoformat(timespec="seconds"))
            yield NewFile(writer, files)
            writer.end()
            stream.flush()
            os.fsync(stream.fileno())
        if files.exists():
            files.replace(beside)
        written.replace(to)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + BESIDE)


@contextmanager
def _made(to: Path) -> Iterator[Path]:
    """Yield a folder, beside `to`, of which only its owner may read. Afterwards it is removed."""
    if to.exists() and not (to.is_dir() and next(to.iterdir(), None) is None):
        raise CopyError(f"{to} exists: name another place, or remove it")
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{to.name}.", dir=to.parent))
        try:
            yield made
            sync(to.parent)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise CopyError(f"cannot make {to}: {error.strerror or error}") from error
