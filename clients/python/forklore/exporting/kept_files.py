"""The files beside forklore's JSON Lines: the bytes of attachments, each under its SHA-256.

They stand in a folder that is called as the file of the lines, with `.files` behind it.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forklore.client.errors import InputError
from forklore.client.result_base import wire

if TYPE_CHECKING:
    from forklore.client.generated.results import AttachedFile, Entry
    from forklore.client.generated.synchronous.client import Forklore

ENDING = ".files"
MEMBERS = ("name", "contentType", "size", "sha256")
"""What a line tells of an attachment beside its `id`."""


class Keeping:
    """Keeps the files that an export names. left_out: how many it has no place for, or no bytes.

    folder: made with the first file; None: there is no place.
    """

    def __init__(self, client: "Forklore", folder: Path | None) -> None:
        self._client, self._folder = client, folder
        self._rows: dict[str, Mapping[str, Any]] = {}
        self.left_out = 0

    def row(self, entry: "Entry") -> dict[str, Any]:
        """Return the row of an entry, whose attachments have a hash in place of a link."""
        row: dict[str, Any] = wire(entry)
        if entry.attachments:
            row["attachments"] = [self._kept(one) for one in entry.attachments]
        return row

    def _kept(self, attached: "AttachedFile") -> Mapping[str, Any]:
        if attached.id not in self._rows:
            found = self._client.api.get_attachment(attached.id)
            self._rows[attached.id] = {name: wire(found)[name] for name in ("id", *MEMBERS)}
            if self._folder is None or found.url is None:
                self.left_out += 1
            else:
                make_folder(self._folder)
                if not is_file_of(self._folder / found.sha_256, found.sha_256):
                    self._client.download(found, self._folder / found.sha_256)
        return {**self._rows[attached.id], "name": attached.name}


def is_file_of(path: Path, sha_256: str) -> bool:
    """Tell whether a file is there and has these bytes."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha_256
    except OSError:
        return False


def make_folder(folder: Path) -> None:
    """Make a folder, unless it is there. Raises InputError if that cannot be."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from error
