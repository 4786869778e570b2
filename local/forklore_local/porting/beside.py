"""The bytes of attachments beside the file of an export, each under its SHA-256.

They lie in a folder that is called as the file, with `.files` behind it. The line of an entry tells
what the attachments are that it names.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from forklore_local.porting import actions
from forklore_local.porting.failures import BrokenTreeError, FormatError, PortingError, RefusedError
from forklore_local.porting.lines import ATTACHED, item_of, members_of
from forklore_local.porting.opening import copy_bytes
from forklore_service.domain import keys
from forklore_service.domain.attachments import File, when_unnamed
from forklore_service.domain.model import Entry
from forklore_service.storage import items
from forklore_service.storage.objects import Expected, Objects, WrongBytesError
from forklore_service.storage.table import Table

ENDING = ".files"
LOOKS_MAX = 8
_OURS = re.compile(r"[0-9a-f]{64}(\.[0-9a-f]{16})?")
"""A file, or a part of one that was killed while it arrived."""


class Beside:
    """The files of one export, each of which is looked at once. path: of its lines."""

    def __init__(self, path: Path) -> None:
        self._folder = path.with_name(path.name + ENDING)
        self._seen, self._brought = set[tuple[int, str]](), set[str]()

    def keep(self, table: Table, entry: Entry) -> Sequence[File]:
        """Return the attachments that an entry names, when their bytes are kept here.

        One whose bytes are lost is returned as removed. Raises BrokenTreeError if one is missing.
        """
        named = [one.attachment_id for one in entry.attachments]
        return [_lasting(self._kept(table, file)) for file in _files(table, named)]

    def _kept(self, table: Table, file: File) -> File:
        if not file.is_removed and self._wrong(file) is not None:
            try:
                copy_bytes(_objects(table), file.attachment_id, _expected(file), self._place(file))
                self._seen.add((file.size, file.sha256))
            except WrongBytesError:
                [now] = _files(table, [file.attachment_id])  # it may have been removed meanwhile
                return now._replace(is_removed=True)
        return file

    def tidy(self, table: Table, lines: Iterable[bytes]) -> list[str]:
        """Remove the files here that no line of the export names.

        Return the attachments, sorted, that the lines have as removed because their bytes are lost.
        """
        if not self._folder.exists():
            return []
        named, removed = set[str](), set[str]()
        for file in _told(lines):
            if file.is_removed:
                removed.add(file.attachment_id)
            else:
                named.add(file.sha256)
        try:
            for place in self._folder.glob("*"):
                if _OURS.fullmatch(place.name) and place.name not in named:
                    place.unlink()
        except OSError as error:
            raise PortingError(f"{self._folder}: {error.strerror}") from error
        found = table.get(keys.file(one) for one in removed)
        there = {one: found.file(one) for one in removed}
        return sorted(one for one, file in there.items() if file is not None and not file.is_removed)

    def check(self, file: File) -> None:
        """Raise FormatError if the bytes of an attachment are not here, whole."""
        wrong = None if file.is_removed else self._wrong(file)
        if wrong is not None:
            raise FormatError(wrong)

    def _wrong(self, file: File) -> str | None:
        """Return what is wrong with the bytes of an attachment here."""
        if (file.size, file.sha256) in self._seen:
            return None
        try:
            with self._place(file).open("rb") as kept:
                if hashlib.file_digest(kept, "sha256").hexdigest() != file.sha256 or kept.tell() != file.size:
                    return f"{file.sha256} in {self._folder.name} was changed"
        except FileNotFoundError:
            return f"{self._folder.name} has no {file.sha256}"
        except OSError as error:
            raise PortingError(f"{self._folder}: {error.strerror}") from error
        self._seen.add((file.size, file.sha256))
        return None

    def bring(self, table: Table, file: File) -> None:
        """Make an attachment, and bring its bytes, unless they are there.

        It has the owner whom the line says, if that user has no other one with these bytes. Raises
        RefusedError, and FormatError for other bytes.
        """
        objects = _objects(table)
        for attempt in range(LOOKS_MAX):
            table.pause(attempt)
            there = table.get([keys.file(file.attachment_id)]).file(file.attachment_id)
            if there is None:
                there = file._replace(
                    is_pending=not file.is_removed, asked=table.now(), due=when_unnamed(table.now_ms())
                )
                row = file.owner and keys.user_file(file.owner, file.sha256, file.content_type)
                if row and not file.is_removed and row in table.get([row]):
                    there = there._replace(owner=None)
                if table.try_commit(actions.put_file(there)) is not None:
                    continue
                self._brought.discard(file.attachment_id)
            if there.is_going or _expected(there) != _expected(file):
                raise RefusedError(f"attachment {file.attachment_id} is being removed, or is another one")
            has_bytes = not (file.is_removed or there.is_removed)
            if has_bytes and file.attachment_id not in self._brought:
                if not objects.holds(file.attachment_id, _expected(file)):
                    self._store(objects, file)
                self._brought.add(file.attachment_id)
            return
        raise RefusedError(f"attachment {file.attachment_id} keeps changing; try again")

    def _store(self, objects: Objects, file: File) -> None:
        self.check(file)
        try:
            with self._place(file).open("rb") as kept:
                objects.store(file.attachment_id, kept, _expected(file))
        except WrongBytesError as error:
            raise FormatError(f"{file.sha256} in {self._folder.name} was changed") from error
        except OSError as error:
            raise PortingError(f"{self._folder}: {error.strerror}") from error

    def _place(self, file: File) -> Path:
        return self._folder / file.sha256


def _objects(table: Table) -> Objects:
    if table.objects is None:
        raise PortingError("there are attachments: name their bucket with --bucket")
    return table.objects


def _expected(file: File) -> Expected:
    return Expected(file.content_type, file.size, file.sha256)


def _files(table: Table, named: Sequence[str]) -> list[File]:
    """Return some attachments. Raises BrokenTreeError if one is missing."""
    found = table.get(map(keys.file, named))
    files = [file for file in map(found.file, named) if file is not None and not file.is_going]
    if len(files) < len(named):
        raise BrokenTreeError("an attachment is missing")
    return files


def _told(lines: Iterable[bytes]) -> Iterator[File]:
    """Yield the attachments that lines tell of."""
    for line in lines:
        if f'"{ATTACHED}":'.encode() in line:
            yield from (items.file(item_of(one)) for one in members_of(line).get(ATTACHED, ()))


def _lasting(file: File) -> File:
    """Return an attachment without what only the table knows of it."""
    return file._replace(named=0, named_by=None, is_pending=False, asked=None, due=None)
