"""The vectors of a whole folder: how many there are, and their making anew by another model."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from forklore_local.in_process.folder import FILE, DataError
from forklore_local.in_process.models import nearness_named
from forklore_local.in_process.opened import Opened
from forklore_service.domain import keys
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.meaning import Nearness, pieces_of
from forklore_service.domain.tree import Group
from forklore_service.errors import ForkloreError
from forklore_service.storage.table import LOOKS_MAX, Table
from forklore_service.usecases.shared import tree_rows
from forklore_service.usecases.shared.over_all import shown_ends
from forklore_service.usecases.shared.searched import texts_of
from forklore_service.usecases.shared.vectors import ENTRIES_AT_ONCE, embed, is_placed

ROWS_AT_ONCE = 1_000


@dataclass
class Counted:
    """How many history entries with text have vectors, and of which model.

    model: the one that is looked for. waiting: entries that have none of it. refused: those of
    which it refuses a piece. others: how many of the waiting ones have vectors of another model, by
    its name.
    """

    model: str
    embedded: int = 0
    waiting: int = 0
    refused: int = 0
    others: Counter[str] = field(default_factory=Counter)

    @property
    def entries(self) -> int:
        return self.embedded + self.waiting + self.refused


class _Part(NamedTuple):
    """Of a conversation. embedded: how many entries have vectors of the model. waiting: which have
    none of it. refused: of which it refuses a piece. others: the models of those that wait.
    """

    conversation_id: str
    embedded: int
    waiting: Sequence[EntryId]
    refused: Sequence[EntryId]
    others: Counter[str]


class Embedding:
    """A folder whose vectors are counted, or made. Others may have it open, too."""

    def __init__(self, folder: Path, named: str) -> None:
        """named: of the model, as `forklore serve --recall` names it. Raises DataError."""
        if not (folder / FILE).exists():
            raise DataError(f"there is no data in {folder}")
        nearness = nearness_named(named)
        assert nearness is not None
        self._nearness: Nearness = nearness
        self._opened = Opened(folder, nearness=nearness, sweeps=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def count(self) -> Counted:
        """Read which entries have vectors. Raises DataError if the model does not answer."""
        with _told():
            counted = Counted(self._nearness.model)
            for tree in self._trees():
                for part in self._parts(tree):
                    counted.embedded += part.embedded
                    counted.waiting += len(part.waiting)
                    counted.refused += len(part.refused)
                    counted.others += part.others
            return counted

    def rebuild(self, done: Callable[[int], None]) -> None:
        """Make the vectors that entries lack, in place of those of other models.

        What the model refused is asked for again: a function may have been mended. Each transaction
        of vectors is kept, so one that was killed goes on where it was. done: is told how many more
        entries have theirs. Raises DataError if the model does not answer.
        """
        with _told():
            self._opened.keep_model()
            for tree in self._trees():
                if not any(self._rebuilt(tree, done, look) for look in range(LOOKS_MAX)):
                    raise DataError("a tree keeps changing; try again")

    @property
    def _table(self) -> Table:
        return self._opened.table

    def _trees(self) -> Iterator[str]:
        rows = tree_rows.of_all(self._table, before=None, through=None, page=ROWS_AT_ONCE)
        return (row.group_id for row in rows)

    def _rebuilt(self, group_id: str, done: Callable[[int], None], look: int) -> bool:
        """Return whether all of a tree was done, or it is gone; False: it has changed meanwhile."""
        self._table.pause(look)
        tree = self._live(group_id)
        for part in self._parts(group_id) if tree else ():
            wanted = [*part.waiting, *part.refused]
            for at in range(0, len(wanted), ENTRIES_AT_ONCE):
                some = wanted[at : at + ENTRIES_AT_ONCE]
                tree = self._live(group_id)
                if (
                    tree is None
                    or embed(self._table, self._nearness, tree, part.conversation_id, some) is None
                ):
                    return tree is None
                done(len(some))
        return True

    def _live(self, group_id: str) -> Group | None:
        tree = self._table.get([keys.group(group_id)]).group(group_id)
        return tree if tree is not None and tree.is_live else None

    def _parts(self, group_id: str) -> Iterator[_Part]:
        """Yield what each conversation of a tree has, also a removed one that others show."""
        for conversation_id, end in shown_ends(
            self._table, group_id, self._table.read.last_entries(group_id)
        ).items():
            has, refused, others = set[EntryId](), set[EntryId](), dict[EntryId, str]()
            for one in self._table.read.vectors(group_id, conversation_id, first=FIRST, last=end):
                if one.model == self._nearness.model and is_placed(one):
                    (has if one.packed else refused).add(one.entry_id)
                else:
                    others[one.entry_id] = one.model
            wanted = self._table.read.history_ids(group_id, conversation_id, first=FIRST, last=end)
            known = has | refused
            lacking = [one for one in wanted if one not in known]
            waiting = [*self._with_text(group_id, lacking)]
            of_others = Counter(others[one] for one in waiting if one in others)
            yield _Part(conversation_id, len(has - refused), waiting, sorted(refused), of_others)

    def _with_text(self, group_id: str, entry_ids: Sequence[EntryId]) -> Iterator[EntryId]:
        for at in range(0, len(entry_ids), ENTRIES_AT_ONCE):
            for one in self._table.entries(group_id, entry_ids[at : at + ENTRIES_AT_ONCE]):
                if pieces_of(texts_of(one, one.content), one.indexed_content):
                    yield one.entry_id


@contextmanager
def _told() -> Iterator[None]:
    """Raise an error of the service as a DataError, whose text is one line for people."""
    try:
        yield
    except ForkloreError as error:
        raise DataError(str(error)) from error
