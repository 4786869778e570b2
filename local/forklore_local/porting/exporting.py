"""Export trees of a table to a file."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from forklore_local.porting.beside import Beside
from forklore_local.porting.failures import (
    BrokenTreeError,
    FormatError,
    PortingError,
    UnreadableError,
    decoding,
)
from forklore_local.porting.lines import entry_line, item_line
from forklore_local.porting.outline import Outline
from forklore_local.porting.output import ExportFile
from forklore_local.porting.reading import Line, TreeReader
from forklore_local.porting.scope import Choice, Scope, trees
from forklore_service.domain import ids
from forklore_service.domain.attachments import File
from forklore_service.domain.clock_offset import OFFSET_MAX_MS
from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import Entry
from forklore_service.errors import UnavailableError
from forklore_service.storage.table import Table

TRIES_MAX = 8
"""How often a tree is read that is changed while it is read."""
PAUSE_FIRST_S, PAUSE_MAX_S = 0.1, 10.0


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote.

    left_out: listed trees that were not live when they were read. damaged: the ids of trees that
    could not be read and were skipped. lost: the ids of attachments whose bytes are lost.
    """

    trees: int
    conversations: int
    entries: int
    left_out: int
    damaged: Sequence[str] = ()
    lost: Sequence[str] = ()


def export(
    table: Table,
    choice: Choice,
    path: Path,
    *,
    skip_damaged: bool = False,
    on_total: Callable[[int], object] = lambda _: None,
    on_done: Callable[[int], object] = lambda _: None,
    sleep: Callable[[float], None] | None = None,
) -> Exported:
    """Write the trees of a choice to a file, and return what was written.

    An export that was ended midway goes on, if it is called with the same arguments again.
    skip_damaged: leave out a tree that cannot be read, unless it is the only one that is asked for.
    on_total, on_done: called with how much there is to do, and with each part that is done: trees,
    or entries if there is one tree.
    Raises PortingError for a file that cannot be written, or belongs to another export;
    UnreadableError for a tree that cannot be read; NoSuchTreeError; and UnavailableError, after
    which it can go on, too.
    """
    pause = sleep or table.wait
    name = table.connection.table_name
    if choice.scope is Scope.TREE:
        with _told(choice.named):
            next(trees(table, choice, after=None, through=""))  # there is one, or nothing is written
    with ExportFile(path, table=name, choice=choice, begin=lambda: _begin(table)) as file:
        through = ids.timestamp(ids.milliseconds(file.exported_at) + OFFSET_MAX_MS)

        def left() -> Iterator[ListKey]:
            return trees(table, choice, after=file.total.place, through=through)

        def keep(entry: Entry) -> Sequence[File]:
            return beside.keep(table, entry) if entry.attachments else ()

        beside = Beside(path)
        exporting = _Exporting(TreeReader(table), keep, choice, file, skip_damaged, on_total, on_done, pause)
        if choice.scope is not Scope.TREE:
            on_total(sum(1 for _ in left()))
        left_out = sum(not exporting.tree(place) for place in left())
        total = file.total
        if choice.scope is Scope.TREE and not total.trees:
            raise PortingError(f"{choice.named} is being deleted")
        lost = beside.tidy(table, file.lines())
        file.finish()
    return Exported(total.trees, total.conversations, total.entries, left_out, tuple(total.damaged), lost)


@contextmanager
def _told(conversation_id: str) -> Iterator[None]:
    """Raise UnreadableError for an item that cannot be decoded. It does not show what is in it."""
    try:
        with decoding():
            yield
    except FormatError as error:
        raise UnreadableError(f"tree {conversation_id} cannot be read: {error}") from error


def _begin(table: Table) -> tuple[str, str]:
    return str(uuid.uuid4()), table.now()


@dataclass(frozen=True, slots=True)
class _Exporting:
    """An export that goes on. The last four are as in `export`.

    keep: returns the attachments of an entry, when their bytes are kept.
    """

    reader: TreeReader
    keep: Callable[[Entry], Sequence[File]]
    choice: Choice
    file: ExportFile
    skip_damaged: bool
    on_total: Callable[[int], object]
    on_done: Callable[[int], object]
    pause: Callable[[float], object]

    def tree(self, place: ListKey) -> bool:
        """Write a tree, or skip it if it cannot be read and that is asked for.

        Return False for one that is not live.
        """
        try:
            return self._read(place)
        except UnreadableError:
            if not self.skip_damaged or self.choice.scope is Scope.TREE:
                raise
            self.file.skip(place)
            return True
        finally:
            if self.choice.scope is not Scope.TREE:
                self.on_done(1)

    def _read(self, place: ListKey) -> bool:
        """Write a tree, and read it again if it was changed meanwhile. Raises UnreadableError."""
        last: Exception | None = None
        for attempt in range(TRIES_MAX):
            if attempt:
                self.pause(min(PAUSE_MAX_S, PAUSE_FIRST_S * 2**attempt))
            try:
                with _told(place.conversation_id):
                    return self._write(place)
            except (BrokenTreeError, UnavailableError) as error:
                last = error
        if isinstance(last, UnavailableError):
            raise last
        raise UnreadableError(f"tree {place.conversation_id} changes all the time, or is damaged: {last}")

    def _write(self, place: ListKey) -> bool:
        tree = self.reader.read(place.conversation_id)
        if tree is not None and self.choice.has_owner(tree[0].group.owner):
            self.file.write_tree(tree[0], self._lines(*tree))
        return tree is not None

    def _lines(self, outline: Outline, rest: Iterator[Line]) -> Iterator[bytes]:
        is_alone = self.choice.scope is Scope.TREE
        if is_alone:
            self.on_total(sum(head.own_entries for head in outline.heads.values()))
        yield item_line(outline.group_item)
        yield from list(map(item_line, outline.items.values()))
        for item, entry in rest:
            yield item_line(item) if entry is None else entry_line(item, entry, self.keep(entry))
            if is_alone and entry is not None:
                self.on_done(1)
