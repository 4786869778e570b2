"""Export trees of a table to a file."""

import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from forklore_local.porting.failures import PortingError, UnreadableError
from forklore_local.porting.output import ExportFile
from forklore_local.porting.reading import ChangedError, TreeOutline, TreeReader
from forklore_local.porting.records import EntryLine, Record
from forklore_local.porting.scope import Choice, Scope, trees
from forklore_service.domain import ids
from forklore_service.domain.clock_offset import OFFSET_MAX_MS
from forklore_service.domain.keys import ListKey
from forklore_service.errors import BrokenAncestryError, DamagedError, UnavailableError
from forklore_service.storage.table import Table

TRIES_MAX = 8
"""How often a tree is read that is changed while it is read."""
PAUSE_FIRST_S, PAUSE_MAX_S = 0.1, 10.0
_UNDECODABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    zlib.error,
    BrokenAncestryError,
    DamagedError,
)
"""What reading an item raises that was not written by forklore."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote.

    left_out: listed trees that were not live when they were read. damaged: the ids of trees that
    could not be read and were skipped.
    """

    trees: int
    conversations: int
    entries: int
    left_out: int
    damaged: Sequence[str] = ()


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
        if not file.is_done:
            through = ids.timestamp(ids.milliseconds(file.state.exported_at) + OFFSET_MAX_MS)

            def left() -> Iterator[ListKey]:
                return trees(table, choice, after=file.state.after, through=through)

            exporting = _Exporting(TreeReader(table), choice, file, skip_damaged, on_total, on_done, pause)
            if choice.scope is not Scope.TREE:
                on_total(sum(1 for _ in left()))
            for place in left():
                exporting.tree(place)
            if choice.scope is Scope.TREE and not file.state.trees:
                raise PortingError(f"{choice.named} is being deleted")
            file.finish()
        state = file.state
    return Exported(state.trees, state.conversations, state.entries, state.left_out, tuple(state.damaged))


@contextmanager
def _told(conversation_id: str) -> Iterator[None]:
    """Raise UnreadableError for an item that cannot be decoded. It does not show what is in it."""
    try:
        yield
    except _UNDECODABLE as error:
        what = f"an item is damaged ({type(error).__name__})"
        raise UnreadableError(f"tree {conversation_id} cannot be read: {what}") from error


def _begin(table: Table) -> tuple[str, str]:
    return str(uuid.uuid4()), ids.timestamp(table.now_ms())


@dataclass(frozen=True, slots=True)
class _Exporting:
    """An export that goes on. The last four are as in `export`."""

    reader: TreeReader
    choice: Choice
    file: ExportFile
    skip_damaged: bool
    on_total: Callable[[int], object]
    on_done: Callable[[int], object]
    pause: Callable[[float], object]

    def tree(self, place: ListKey) -> None:
        """Write a tree, or skip it if it cannot be read and that is asked for."""
        try:
            self._read(place)
        except UnreadableError:
            if not self.skip_damaged or self.choice.scope is Scope.TREE:
                raise
            self.file.skip(place.conversation_id)
            self.on_done(1)

    def _read(self, place: ListKey) -> None:
        """Write a tree, and read it again if it was changed meanwhile. Raises UnreadableError."""
        last: Exception | None = None
        for attempt in range(TRIES_MAX):
            if attempt:
                self.pause(min(PAUSE_MAX_S, PAUSE_FIRST_S * 2**attempt))
            try:
                with _told(place.conversation_id):
                    self._write(place)
                return
            except (ChangedError, UnavailableError) as error:
                last = error
        if isinstance(last, UnavailableError):
            raise last
        raise UnreadableError(f"tree {place.conversation_id} changes all the time, or is damaged: {last}")

    def _write(self, place: ListKey) -> None:
        tree = self.reader.outline(place.conversation_id)
        if tree is None:
            self.file.leave_out()
        elif self.choice.has_owner(tree.outline.start.owner):
            self.file.write_tree(place, self._records(tree))
        if self.choice.scope is not Scope.TREE:
            self.on_done(1)

    def _records(self, tree: TreeOutline) -> Iterator[Record]:
        is_alone = self.choice.scope is Scope.TREE
        if is_alone:
            self.on_total(sum(branch.head.own_entries for branch in tree.outline.branches.values()))
        yield from tree.outline.records()
        for record in self.reader.rest(tree):
            yield record
            if is_alone and isinstance(record, EntryLine):
                self.on_done(1)
