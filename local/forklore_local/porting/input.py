"""Reads the file of an export, and refuses one that is damaged.

A tree is read in two parts: its outline at once, and its entries one by one. What only the end of
the tree tells is checked there: the counts and the digest.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from forklore_local.porting.failures import BrokenTreeError, FormatError, decoding
from forklore_local.porting.lines import CONTENT, entry_of, files_of, is_time, item_of, line_of, members_of
from forklore_local.porting.outline import Counted, Outline
from forklore_local.porting.scope import Scope
from forklore_service.domain import ids
from forklore_service.domain.attachments import File
from forklore_service.domain.ids import FIRST
from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import StoredEntry

FORMAT, VERSION = "forklore-table", 2
READ_ELSEWHERE = (
    ". Import it into a folder with a checkout from before the three packages, and open the folder here"
)
"""What is said of version 1."""
LINE_BYTES_MAX = 128 << 20
"""No line is longer. An entry takes at most what one request does, and its quotes are escaped."""
HEADER_BYTES_MAX = 4_096
TYPE = "type"
_NO_ITEM = b'{"type":'
"""How the lines begin that have no item."""


@dataclass(slots=True)
class Total:
    """What a file has, so far or in all.

    chain: the digest of the header and of the digests of all trees. place: of the last tree, also
    of one in `damaged`: the trees that could not be read and were skipped.
    """

    chain: str
    trees: int = 0
    conversations: int = 0
    entries: int = 0
    damaged: list[str] = field(default_factory=list)
    place: ListKey | None = None

    def add(self, end: dict[str, Any]) -> None:
        """Count the tree of an `end`, or one that is `damaged`.

        Raises FormatError for a line that does not have their members. Then nothing is counted.
        """
        counts = [end.get("conversations"), end.get("entries")]
        is_damaged = end[TYPE] == "damaged"
        is_named = ids.is_uuid(str(end.get("id"))) and is_time(str(end.get("createdAt")))
        if not (is_named and (is_damaged or all(isinstance(count, int) for count in counts))):
            raise FormatError("it does not say which tree ends, or what that has")
        self.place = ListKey(end["createdAt"], end["id"])
        if is_damaged:
            self.damaged.append(end["id"])
            return
        self.trees += 1
        self.conversations += end["conversations"]
        self.entries += end["entries"]
        self.chain = hashlib.sha256(f"{self.chain}{end['sha256']}".encode()).hexdigest()

    def line(self) -> bytes:
        """Return the last line of the file."""
        counts = {"trees": self.trees, "conversations": self.conversations, "entries": self.entries}
        return line_of({TYPE: "total", **counts, "damaged": self.damaged, "sha256": self.chain})


class ExportedFile:
    """A file, from its first line to its last.

    total: what was read so far. whole: the byte at which that ends.
    """

    def __init__(self, stream: IO[bytes], *, on_bytes: Callable[[int], object] = lambda _: None) -> None:
        """Raises FormatError for another file, and for one of another version."""
        self._lines = _Lines(stream, on_bytes=on_bytes)
        with self.named():
            first = self._lines.next()
            self.header = header_of(first)
        self.total = Total(hashlib.sha256(first).hexdigest())
        self.whole = self._lines.at

    def sections(self) -> Iterator[tuple[int, "TreeLines"]]:
        """Yield the trees, each with the byte at which it begins. Each is to be read to its end.

        After the last one, the whole file was read. Raises FormatError.
        """
        while (line := self._lines.next()) != self.total.line():
            lines = TreeLines(line, self._lines)
            if line.startswith(_NO_ITEM):
                lines.end = members_of(line)
                if lines.end[TYPE] != "damaged":
                    raise FormatError("the file has not the trees that it says")
            else:
                yield self.whole, lines
            self.total.add(lines.end)
            self.whole = self._lines.at
        if self._lines.has_more():
            raise FormatError("something follows the last line")

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the line in each FormatError."""
        try:
            yield
        except FormatError as error:
            raise FormatError(f"line {self._lines.number}: {error}") from error


class _Lines:
    """The lines of a file. number: of the last one that was read. at: where the next begins."""

    def __init__(self, stream: IO[bytes], *, on_bytes: Callable[[int], object] = lambda _: None) -> None:
        self._stream = stream
        self._on_bytes = on_bytes
        self.number = 0
        self.at = stream.tell()

    def next(self) -> bytes:
        """Return the next line. Raises FormatError if there is none, or only a part of it."""
        line = self._stream.readline(LINE_BYTES_MAX)
        self.number += 1
        if not line.endswith(b"\n"):
            raise FormatError("it is cut, or too long" if line else "the file is cut")
        self.at += len(line)
        self._on_bytes(len(line))
        return line

    def has_more(self) -> bool:
        return bool(self._stream.read(1))


class TreeLines:
    """The lines of one tree, without its end. end: what that says, when they were read."""

    def __init__(self, first: bytes, lines: _Lines) -> None:
        self._first = first
        self._lines = lines
        self.end: dict[str, Any] = {}

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines. Raises FormatError if they have another digest than the end says."""
        digest, line = hashlib.sha256(), self._first
        while not line.startswith(_NO_ITEM):
            digest.update(line)
            yield line
            line = self._lines.next()
        self.end = members_of(line)
        if self.end[TYPE] != "end":
            raise FormatError("the tree before has no end")
        if self.end.get("sha256") != digest.hexdigest():
            raise FormatError("the digest of the tree is wrong: a line was changed")


class TreeInFile:
    """One tree of a file.

    outline: all but its entries, which are to be read to the end. The contexts, which follow them,
    are then in the outline, too. files: the attachments of the entry that was read last.
    Raises FormatError, here and in `entries`, for a tree that is damaged.
    """

    def __init__(self, lines: TreeLines) -> None:
        self._lines = lines
        self._rest = map(members_of, lines)
        self._entry: dict[str, Any] | None = None
        self.files: list[File] = []
        with decoding(), _whole():
            self.outline = Outline(item_of(next(self._rest, {})))
            for members in self._rest:
                if CONTENT in members:
                    self._entry = members
                    break
                self.outline.add(item_of(members))
            self.outline.check()

    def entries(self) -> Iterator[StoredEntry]:
        """Yield the entries, and check what can be checked when all were read."""
        counted, last = Counted(self.outline), FIRST
        members = self._entry
        while members is not None and CONTENT in members:
            stored = entry_of(members, self.outline.group_id)
            if stored.entry_id <= last:
                raise FormatError("entries come in the order of their ids, each once")
            if not counted.has(stored):
                raise FormatError("the tree does not have this entry")
            with _whole():
                counted.take(stored)
            self.files = files_of(members, stored.entry)
            yield stored
            last = stored.entry_id
            members = next(self._rest, None)
        with decoding(), _whole():
            while members is not None:
                self.outline.add(item_of(members))
                members = next(self._rest, None)
            self.outline.check()
            counted.check()
        group = self.outline.group
        said = {"id": group.group_id, "createdAt": group.created_at, "conversations": group.conversations}
        end = {TYPE: "end", **said, "entries": counted.entries, "sha256": self._lines.end["sha256"]}
        if self._lines.end != end:
            raise FormatError("the tree has not the numbers of conversations and entries that it says")


@contextmanager
def _whole() -> Iterator[None]:
    try:
        yield
    except BrokenTreeError as error:
        raise FormatError(str(error)) from error


def header_of(line: bytes) -> dict[str, Any]:
    """Return the members of a first line. Raises FormatError if it is none of this version."""
    header = members_of(line)
    if header.get(TYPE) != "header" or header.get("format") != FORMAT:
        raise FormatError("it is no export of a table")
    version = header.get("version")
    if version != VERSION:
        elsewhere = READ_ELSEWHERE if version == 1 else ""
        raise FormatError(
            f"it has version {version} of the format, and this forklore reads version {VERSION}{elsewhere}"
        )
    if not ids.is_uuid(str(header.get("exportId"))):
        raise FormatError("it names no export")
    scope = header.get("scope")
    is_scope = isinstance(scope, dict) and len(scope) == 1 and scope.keys() <= set(Scope)
    if not (is_scope and isinstance(header.get("table"), str) and is_time(header.get("exportedAt", ""))):
        raise FormatError("it does not say of what the export is, or when it was begun")
    return header


def is_export(path: Path) -> bool:
    """Tell whether a file begins like the export of a table, of any version."""
    try:
        with path.open("rb") as stream:
            header = members_of(stream.readline(HEADER_BYTES_MAX))
            return header.get(TYPE) == "header" and header.get("format") == FORMAT
    except (OSError, FormatError):
        return False


def tree_at(stream: IO[bytes], offset: int) -> TreeInFile:
    """Return the tree that begins at a byte of a file."""
    stream.seek(offset)
    lines = _Lines(stream)
    return TreeInFile(TreeLines(lines.next(), lines))
