"""The files that an import brings along: those beside forklore's lines, and those of an archive."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from forklore.client import jsontext
from forklore.client.errors import BadRequestError, ConflictError, InputError, TooLargeError
from forklore.exporting.kept_files import is_file_of
from forklore.importing.held_files import ARCHIVE_ERRORS, Held, HeldFile

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.client import Forklore

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Brought:
    """Finds the files that the lines of an import name, and uploads them. Threads may share it.

    folder: where they are; it may be missing. held: files of an archive of another system, which
    stay unnamed if the service does not take them. on_refused: is called with each of these.
    """

    def __init__(
        self,
        folder: Path,
        held: Held | None = None,
        on_refused: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._held = held or Held()
        self._on_refused = on_refused
        self._rows: dict[str, Mapping[str, Any]] = {}
        self._ids: dict[str, str | None] = {}
        self._lock = Lock()

    def find(self, entry: Mapping[str, Any], attachments: Any) -> Iterator[str]:
        """Look for the bytes of what an entry names, and yield the id of each that has none.

        Such a one becomes an `attachmentId`, which says only that there was one. attachments: what
        the line tells.
        """
        rows = {row["id"]: row for row in _objects(attachments) if isinstance(row.get("id"), str)}
        for one in _named(entry):
            row = rows.get(one["id"], {})
            known = {name: row[name] for name in ("name", "contentType") if isinstance(row.get(name), str)}
            if len(known) == 2 and _is_there(self._folder, row.get("sha256")):
                self._rows[one["id"]] = row
            else:
                one |= {**known, "attachmentId": one.pop("id")}
                yield one["attachmentId"]

    def entry(self, client: "Forklore", entry: dict[str, Any]) -> dict[str, Any]:
        """Return the entry of an append with the ids of what was uploaded, and is uploaded now."""
        content = entry["content"]
        if isinstance(content, jsontext.Written) and self._held.taken:
            content = jsontext.read(content.text)
        named = _named({**entry, "content": content})
        ids = {one["id"]: self._uploaded(client, one["id"]) for one in named}
        if not ids:
            return entry
        files = [_named_as(one, ids) if one in named else one for one in content[0]["attachments"]]
        return {**entry, "content": [{**content[0], "attachments": files}, *content[1:]]}

    def _uploaded(self, client: "Forklore", old_id: str) -> str | None:
        """Return the id that an attachment has here; the same one for what was not found.

        It is None for what the service does not take of another system.
        """
        with self._lock:
            if old_id not in self._ids and old_id in self._rows:
                row = self._rows[old_id]
                path = self._folder / row["sha256"]
                made = client.upload(path, name=row["name"], content_type=row["contentType"])
                self._ids[old_id] = made.id
            elif old_id not in self._ids and old_id in self._held.taken:
                self._ids[old_id] = self._taken(client, self._held.taken[old_id])
            return self._ids.get(old_id, old_id)

    def _taken(self, client: "Forklore", file: HeldFile) -> str | None:
        try:
            with self._held.open(file.place) as stream:
                return client.upload(stream, name=file.name, content_type=file.content_type).id
        except (BadRequestError, ConflictError, InputError, TooLargeError, OSError, *ARCHIVE_ERRORS):
            self._on_refused(file.place)
            return None


def _named_as(one: dict[str, Any], ids: Mapping[str, str | None]) -> dict[str, Any]:
    here = ids[one["id"]]
    others = {name: value for name, value in one.items() if name != "id"}
    return {"attachmentId": one["id"], **others} if here is None else {"id": here, **others}


def _is_there(folder: Path, sha_256: Any) -> bool:
    is_hash = isinstance(sha_256, str) and _SHA256.fullmatch(sha_256) is not None
    return is_hash and is_file_of(folder / sha_256, sha_256)


def _named(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what names attachments of the service in an entry, as the service reads it.

    A context is whatever its agent keeps in it.
    """
    kind, content = entry.get("contentType", ""), entry.get("content")
    if entry.get("channel") == "context" or kind.lower().partition("/")[0] != "history":
        return []
    if not content or not isinstance(content, list):  # of another system: it names none of ours
        return []
    files = _objects(content[0].get("attachments") if isinstance(content[0], dict) else None)
    ours = (one for one in files if isinstance(one.get("id"), str))
    return [one for one in ours if one.get("href") is None and one.get("attachmentId") is None]


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
