"""The files beside forklore's JSON Lines: the bytes of attachments, each under its SHA-256.

They stand in a folder that is called as the file of the lines, with `.files` behind it.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from forklore.cli.exits import CommandError
from forklore.cli.output import wire

if TYPE_CHECKING:
    from forklore.client.results import AttachedFile, Entry
    from forklore.client.synchronous.client import Forklore

ENDING = ".files"
MEMBERS = ("name", "contentType", "size", "sha256")
"""What a line tells of an attachment beside its `id`."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


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
                self._make(self._folder)
                place = self._folder / found.sha_256
                if not place.exists():
                    self._client.download(found, place)
        return {**self._rows[attached.id], "name": attached.name}

    @staticmethod
    def _make(folder: Path) -> None:
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise CommandError(f"{folder}: {error.strerror}") from error


def marked(content: list[Any], attachments: Any, folder: Path) -> Iterator[str]:
    """Let the attachments that a content names say how they are brought; yield the id of each lost.

    attachments: what the line tells of them. One whose bytes are there gets their `sha256`. Any
    other becomes an `attachmentId`, which says only that there was one.
    """
    rows = {row.get("id"): row for row in _objects(attachments)}
    for one in _named(content):
        row = rows.get(one["id"], {})
        one |= {name: row[name] for name in ("name", "contentType") if isinstance(row.get(name), str)}
        if "contentType" in one and "name" in one and _is_there(folder, row.get("sha256")):
            one["sha256"] = row["sha256"]
        else:
            one["attachmentId"] = one.pop("id")
            yield str(one["attachmentId"])


class Bringing:
    """Uploads the files that marked entries name. Threads may share it."""

    def __init__(self, client: "Forklore", folder: Path) -> None:
        self._client, self._folder = client, folder
        self._ids: dict[tuple[str, str], str] = {}
        self._lock = Lock()

    def entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Return the entry of an append as the service takes it."""
        content = entry["content"]
        if not _named(content):
            return entry
        brought = [self._brought(one) if "sha256" in one else one for one in content[0]["attachments"]]
        return {**entry, "content": [{**content[0], "attachments": brought}, *content[1:]]}

    def _brought(self, one: Mapping[str, Any]) -> dict[str, Any]:
        sha_256, name, kind = one["sha256"], one["name"], one["contentType"]
        with self._lock:
            if (sha_256, kind) not in self._ids:
                made = self._client.upload(self._folder / sha_256, name=name, content_type=kind)
                self._ids[sha_256, kind] = made.id
        return {"id": self._ids[sha_256, kind], "name": name}


def _is_there(folder: Path, sha_256: Any) -> bool:
    if not isinstance(sha_256, str) or not _SHA256.fullmatch(sha_256):
        return False
    try:
        with (folder / sha_256).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha_256
    except OSError:
        return False


def _named(content: list[Any]) -> list[dict[str, Any]]:
    """Return what names attachments of the service in a content, as the service reads it."""
    first = content[0] if content and isinstance(content[0], dict) else {}
    ours = (one for one in _objects(first.get("attachments")) if "id" in one)
    return [one for one in ours if one.get("href") is None and one.get("attachmentId") is None]


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
