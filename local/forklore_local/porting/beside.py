"""The bytes of attachments beside the file of an export, each under its SHA-256.

They lie in a folder that is called as the file, with `.files` behind it. The line of an entry tells
what the attachments are that it names.
"""

from collections.abc import Sequence
from pathlib import Path

from forklore_local.porting import actions
from forklore_local.porting.failures import BrokenTreeError, FormatError, PortingError, RefusedError
from forklore_local.porting.opening import copy_bytes
from forklore_service.domain import keys
from forklore_service.domain.attachments import File
from forklore_service.domain.model import Entry
from forklore_service.storage.objects import Expected, Objects, WrongBytesError
from forklore_service.storage.table import Table

ENDING = ".files"
LOOKS_MAX = 8


class Beside:
    """The files of one export. path: of its lines."""

    def __init__(self, path: Path) -> None:
        self._folder = path.with_name(path.name + ENDING)

    def keep(self, table: Table, entry: Entry) -> Sequence[File]:
        """Return the attachments that an entry names, when their bytes are kept here.

        Raises BrokenTreeError if one is missing.
        """
        found = table.get(keys.file(one.attachment_id) for one in entry.attachments)
        files = [found.file(one.attachment_id) for one in entry.attachments]
        for file in files:
            if file is None or file.is_going:
                raise BrokenTreeError("an attachment is missing")
            if not (file.is_removed or self._place(file).exists()):
                self._copy(_objects(table), file)
        return [_lasting(file) for file in files if file is not None]

    def _copy(self, objects: Objects, file: File) -> None:
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            copy_bytes(objects, file.attachment_id, _expected(file), self._place(file))
        except WrongBytesError as error:
            raise BrokenTreeError("the bytes of an attachment are others") from error
        except OSError as error:
            raise BrokenTreeError("the bytes of an attachment cannot be read or kept") from error

    def check(self, file: File) -> None:
        """Raise FormatError if the bytes of an attachment are not here."""
        if not file.is_removed and not self._place(file).is_file():
            raise FormatError(f"{self._folder.name} has no {file.sha256}")

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
                there = file._replace(is_pending=not file.is_removed, asked=table.now())
                row = file.owner and keys.user_file(file.owner, file.sha256, file.content_type)
                if row and not file.is_removed and row in table.get([row]):
                    there = there._replace(owner=None)
                if table.try_commit(actions.put_file(there, at=table.now())) is not None:
                    continue
            if there.is_going or _expected(there) != _expected(file):
                raise RefusedError(f"attachment {file.attachment_id} is being removed, or is another one")
            if not (there.is_removed or objects.holds(file.attachment_id, _expected(file))):
                self._store(objects, file)
            return
        raise RefusedError(f"attachment {file.attachment_id} keeps changing; try again")

    def _store(self, objects: Objects, file: File) -> None:
        self.check(file)
        try:
            objects.store(file.attachment_id, self._place(file).read_bytes(), _expected(file))
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


def _lasting(file: File) -> File:
    """Return an attachment without what only the table knows of it."""
    return file._replace(named=0, named_by=None, is_pending=False, asked=None)
