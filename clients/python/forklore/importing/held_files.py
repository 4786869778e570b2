"""The files beside the conversations of a folder or an archive, which their messages name."""

import re
import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from zipfile import BadZipFile, ZipFile

from forklore.client.files import plain_name
from forklore.client.generated.limits import ATTACHMENT_BYTES_MAX

ID_CHARACTERS_MIN = 8
"""A shorter id may be the beginning of any name."""
ARCHIVE_ERRORS = (
    *(BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, ValueError),
    struct.error,
)
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]{1,100}")
_OF_A_MESSAGE = re.compile(r"file[-_][0-9A-Za-z]{8}|[0-9a-f]{8}-[0-9a-f]{4}-")


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A file that is there. place: its path. name, content_type: as an attachment; None: the name
    tells the type."""

    place: str
    name: str
    content_type: str | None = None


@dataclass(slots=True)
class Held:
    """The files that are there. taken: those that messages name, by their paths. others: paths of
    what holds no conversations. unknown: of what is of no format. beside: of what readers have read
    beside a file; parts: of these, what is a part of it, and is not read on its own."""

    taken: dict[str, HeldFile] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    beside: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    _places: dict[str, list[str]] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    _opened: Callable[[str], Any] | None = None
    _archive: ZipFile | None = None

    def put(self, sizes: Mapping[str, int], opened: Callable[[str], Any], archive: ZipFile | None) -> None:
        """Take the files of a folder or an archive, by their paths.

        opened: opens one of them for reading bytes. archive: what `close` closes.
        """
        self._opened, self._archive = opened, archive
        for place, size in sizes.items():
            is_of_the_source = place.endswith(".json") and not is_of_a_message(place)
            if 1 <= size <= ATTACHMENT_BYTES_MAX and not is_of_the_source:
                self._places.setdefault(PurePosixPath(place).name, []).append(place)
        self._names = sorted(self._places)

    def open(self, place: str) -> Any:
        """Return a file that was found, open for reading bytes."""
        assert self._opened is not None, place
        return self._opened(place)

    def close(self) -> None:
        """Close the archive. Nothing can be opened any more."""
        if self._archive is not None:
            self._archive.close()

    def find(self, file_id: str, shown: str, about: Mapping[str, Any]) -> HeldFile | None:
        """Return a file that a message names; None if there is none, or more than one may be it.

        Its name begins with the id, as in `file-AbC123-photo.png` for `file-service://file-AbC123`.
        A file without an id is known by its whole name. about: what the source tells of it.
        """
        places = self._places.get(file_id, []) if file_id == shown else []
        for part in re.split(r"[/#?]", file_id):
            places = places or self._that_begin_with(part)
        if len(places) != 1:
            return None
        named = PurePosixPath(places[0]).name
        types = (about.get(name) for name in ("mimeType", "mime_type"))
        kind = next((one for one in types if isinstance(one, str) and _MEDIA_TYPE.fullmatch(one)), None)
        found = HeldFile(places[0], plain_name(shown or named), kind)
        if shown or places[0] not in self.taken:
            self.taken[places[0]] = found
        return found

    def _that_begin_with(self, file_id: str) -> list[str]:
        if len(file_id) < ID_CHARACTERS_MIN:
            return []
        found: list[str] = []
        for name in self._names[bisect_left(self._names, file_id) :]:
            if not name.startswith(file_id):
                break
            if not name[len(file_id) :][:1].isalnum():
                found += self._places[name]
        return found


def is_of_a_message(place: str) -> bool:
    """Tell whether a file is called as those that messages name."""
    return _OF_A_MESSAGE.match(PurePosixPath(place).name) is not None
