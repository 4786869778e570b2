"""Reads the file of an export, and refuses one that is damaged.

A tree is read in two parts: its outline at once, and its entries one by one. What only the end of
the tree tells is checked there: the counts and the digest.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from forklore_local.porting.failures import FormatError
from forklore_local.porting.from_line import record_of
from forklore_local.porting.lines import read
from forklore_local.porting.output import chained
from forklore_local.porting.records import (
    FORMAT,
    Branch,
    ContextLine,
    End,
    EntryLine,
    Header,
    Kind,
    Outline,
    Removed,
    Total,
    TreeStart,
)
from forklore_service.domain import ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.model import Channel, Transfer
from forklore_service.domain.names import Name
from forklore_service.domain.tree import Member

LINE_BYTES_MAX = 64 << 20
"""No line is longer. An entry takes at most what one request does."""
HEADER_BYTES_MAX = 4_096
_ORDER = {
    TreeStart: 0,
    Member: 1,
    Transfer: 2,
    Name: 3,
    Branch: 4,
    Removed: 5,
    EntryLine: 6,
    ContextLine: 7,
    End: 8,
}


class Lines:
    """The lines of a file, one after another. number: of the last one. at: where it begins."""

    def __init__(self, stream: IO[bytes], *, on_bytes: Callable[[int], object] = lambda _: None) -> None:
        self._stream = stream
        self._on_bytes = on_bytes
        self.number = 0
        self.at = stream.tell()
        self._next_at = self.at

    def next(self) -> bytes:
        """Return the next line; b"" at the end of the file. Raises FormatError if it is cut."""
        line = self._stream.readline(LINE_BYTES_MAX)
        self.at, self._next_at = self._next_at, self._next_at + len(line)
        self.number += 1
        if line and not line.endswith(b"\n"):
            raise FormatError("it is cut, or too long")
        self._on_bytes(len(line))
        return line


class TreeLines:
    """One tree of a file.

    outline: all but its entries. Read `entries` to the end; then `held` and `end` are there.
    Raises FormatError, here and in `entries`, for a tree that is damaged.
    """

    def __init__(self, first: bytes, lines: Lines) -> None:
        self._lines = lines
        self._digest = hashlib.sha256(first)
        start = record_of(read(first))
        if not isinstance(start, TreeStart):
            raise FormatError("no tree begins here")
        self.outline = Outline(start)
        self.held: list[ContextLine] = []
        self.end: End | None = None
        self._reached = 0
        self._next: object = self._read_outline()
        _check_outline(self.outline)
        self._ends = self.outline.shown_before()

    def entries(self) -> Iterator[EntryLine]:
        """Yield the entries, and check what can be checked when all were read."""
        record, last = self._next, FIRST
        seen: dict[tuple[str, Channel], int] = {}
        firsts: dict[str, EntryId] = {}
        lasts: dict[str, EntryId] = {}
        while isinstance(record, EntryLine):
            entry = record.entry
            owner = entry.conversation_id
            if entry.entry_id <= last:
                raise FormatError("entries come in the order of their ids, each once")
            if not self.outline.has(entry.entry_id, owner, self._ends):
                raise FormatError(f"the tree does not have this entry of {owner}")
            yield record
            last = entry.entry_id
            seen[owner, entry.channel] = seen.get((owner, entry.channel), 0) + 1
            firsts.setdefault(owner, last)
            lasts[owner] = last
            record = self._take()
        for branch in self.outline.branches.values():
            head = branch.head
            counted = tuple(seen.get((branch.id, channel), 0) for channel in Channel)
            bounds = firsts.get(branch.id), lasts.get(branch.id, head.floor)
            if counted != (head.history, head.context) or bounds != (head.first, head.last):
                raise FormatError(f"the entries of {branch.id} are not those that it counts")
        while isinstance(record, ContextLine):
            self.held.append(record)
            record = self._take()
        _check_held(self.outline, self.held)
        self._check_end(record, sum(seen.values()))

    # Lines

    def _read_outline(self) -> "EntryLine | ContextLine | End":
        outline = self.outline
        while True:
            record = self._take()
            match record:
                case Member():
                    outline.members.append(record)
                case Transfer():
                    if outline.transfer is not None:
                        raise FormatError("a tree has one transfer at most")
                    outline.transfer = record
                case Name():
                    outline.names.append(record)
                case Branch():
                    _add(outline, record.id)
                    outline.branches[record.id] = record
                case Removed():
                    _add(outline, record.conversation_id)
                    outline.removed[record.conversation_id] = record
                case EntryLine() | ContextLine() | End():
                    return record
                case _:
                    raise FormatError("the tree before has no end")

    def _take(self) -> object:
        raw = self._lines.next()
        if not raw:
            raise FormatError("the file is cut")
        record = record_of(read(raw), self.outline.group_id)
        place = _ORDER.get(type(record))
        if place is None or place < max(self._reached, 1):
            raise FormatError("this line does not belong here")
        self._reached = place
        if not isinstance(record, End):
            self._digest.update(raw)
        return record

    def _check_end(self, record: object, entries: int) -> None:
        counted = (self.outline.group_id, len(self.outline.branches), entries)
        if not isinstance(record, End) or (record.group_id, record.conversations, record.entries) != counted:
            raise FormatError("the tree has not the numbers of conversations and entries that it says")
        if record.sha256 != self._digest.hexdigest():
            raise FormatError("the digest of the tree is wrong: a line was changed")
        self.end = record


class ExportedFile:
    """The file of an export, from its first line to its last.

    total: what the last line says, when `trees` has come to its end.
    """

    def __init__(self, stream: IO[bytes], *, on_bytes: Callable[[int], object] = lambda _: None) -> None:
        """Raises FormatError for another file."""
        self._lines = Lines(stream, on_bytes=on_bytes)
        with self._named():
            first = self._lines.next()
            if not first or read(first).kind != Kind.HEADER:
                raise FormatError("it is no export of a table")
            header = record_of(read(first))
            assert isinstance(header, Header)
        self.header = header
        self.total: Total | None = None
        self._chain = hashlib.sha256(first).hexdigest()

    def check(self, see: Callable[[int, Outline], object] = lambda *_: None) -> Total:
        """Read the whole file, and return what its last line says.

        see: called with each tree and the byte at which it begins, when it was read. Raises
        FormatError, which names the line.
        """
        with self._named():
            counts = 0, 0, 0
            while read(raw := self._next()).kind != Kind.TOTAL:
                begins = self._lines.at
                tree = TreeLines(raw, self._lines)
                for _ in tree.entries():
                    pass
                assert tree.end is not None
                self._chain = chained(self._chain, tree.end.sha256)
                counts = counts[0] + 1, counts[1] + tree.end.conversations, counts[2] + tree.end.entries
                see(begins, tree.outline)
            total = Total(*counts, self._chain)
            if record_of(read(raw)) != total:
                raise FormatError("the file has not the trees that it says")
            if self._lines.next():
                raise FormatError("something follows the last line")
        return total

    def _next(self) -> bytes:
        raw = self._lines.next()
        if not raw:
            raise FormatError("the file is cut")
        return raw

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except FormatError as error:
            raise FormatError(f"line {self._lines.number}: {error}") from error


def is_export(path: Path) -> bool:
    """Tell whether a file begins like the export of a table, of any version."""
    try:
        with path.open("rb") as stream:
            line = read(stream.readline(HEADER_BYTES_MAX))
            return line.kind == Kind.HEADER and line.text("format") == FORMAT
    except (OSError, FormatError):
        return False


def tree_at(stream: IO[bytes], offset: int) -> TreeLines:
    """Return the tree that begins at a byte of a file."""
    stream.seek(offset)
    lines = Lines(stream)
    return TreeLines(lines.next(), lines)


def _add(outline: Outline, conversation_id: str) -> None:
    if conversation_id in outline.branches or conversation_id in outline.removed:
        raise FormatError(f"{conversation_id} comes twice")


def _check_outline(outline: Outline) -> None:
    """Raise FormatError if the parts of a tree do not agree with each other."""
    start, group_id = outline.start, outline.group_id
    users = {member.user_id for member in outline.members}
    owners = [member.user_id for member in outline.members if member.level is AccessLevel.OWNER]
    if owners != [start.owner] or len(users) < len(outline.members):
        raise FormatError(f"tree {group_id}: each member comes once, and the owner is one of them")
    if (start.promoted or group_id) not in outline.branches:
        raise FormatError(f"tree {group_id} does not have its current branch")
    transfer = outline.transfer
    if transfer is not None and not (
        transfer.from_user_id == start.owner != transfer.to_user_id
        and transfer.to_user_id in users
        and ids.created_at(EntryId(transfer.transfer_id)) == transfer.created_at
    ):
        raise FormatError(f"tree {group_id}: a transfer is an offer of the owner to another member")
    if any(name.conversation_id not in outline.branches for name in outline.names):
        raise FormatError(f"tree {group_id}: a name points to a conversation of its tree")
    for branch in outline.branches.values():
        one, is_root = branch.conversation, branch.id == group_id
        if (one.fork_point is None) != is_root or (is_root and branch.path):
            raise FormatError(f"{branch.id}: a fork says where it was made, and a root does not")
        if is_root and one.created_at != start.created_at:
            raise FormatError(f"{branch.id}: a root is as old as its tree")
    paths = outline.paths()
    for conversation_id, path in paths.items():
        if path and paths.get(path[-1].conversation_id) != path[:-1]:
            raise FormatError(f"{conversation_id}: a path goes on from that of its last conversation")
    if not outline.removed.keys() <= outline.shown_before().keys():
        raise FormatError(f"tree {group_id} has a removed branch of which no other shows an entry")


def _check_held(outline: Outline, held: list[ContextLine]) -> None:
    known = outline.branches.keys() | outline.removed.keys()
    of = {(one.conversation_id, one.client_id) for one in held}
    if len(of) < len(held) or any(conversation_id not in known for conversation_id, _ in of):
        raise FormatError("the context of each client comes once for a conversation of the tree")
