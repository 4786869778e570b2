"""Read what goes on differently at the places of a page: domain.alternatives says what that is.

The records of forks are read in the same round as the entries of their owner. Where the view leaves
the owner, the same round reads how the owner goes on.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import NamedTuple

from forklore_service.domain import alternatives, ids, keys
from forklore_service.domain.alternatives import (
    ALTERNATIVES_MAX,
    RECORDS_MAX,
    Candidate,
    Gap,
    KnownRecords,
    Place,
    ViewLine,
)
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.model import Channel, StoredEntry
from forklore_service.domain.paging import RangeRead, Window
from forklore_service.domain.tree import ForkRecord
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import view_pages

RECORDS_AT_FIRST = 15
"""Records read in the round of the entries: what one read unit holds."""
STAND_INS_READ_MAX = 100
"""Queries for those that stand in the place of removed conversations, for one page."""


class _Started(NamedTuple):
    """The reads about one conversation. further: where the view leaves it, how it goes on."""

    records: Future[KnownRecords]
    further: Future[StoredEntry | None] | None


class AlternativesReader:
    """Reads the alternatives of one page of a view.

    after: the history entry that the view shows before the page; None: none, or it is not known.
    near: the number of the line's segment where the page begins, in the order of reading.
    """

    def __init__(
        self, table: Table, group_id: str, line: ViewLine, *, backward: bool, after: EntryId | None, near: int
    ) -> None:
        self._table, self._group_id, self._line = table, group_id, line
        self._backward, self._after, self._near = backward, after, near
        self._started: dict[str, _Started] = {}
        self._heads: dict[str, Future[Found]] = {}

    def start(self, reads: Sequence[RangeRead]) -> None:
        """Start to read about the conversations whose entries the page reads in this round."""
        named = [self._line.numbers[read.conversation_id] for read in reads if read.conversation_id]
        if not named:
            return
        numbers = range(min(*named, self._near), max(*named, self._near) + 1)
        firsts = dict.fromkeys(numbers, FIRST)
        if self._after is not None and not self._backward:
            firsts[self._line.number_of(self._after)] = ids.next_id(self._after)
        left = [self._line.segments[at].conversation_id for at in numbers if at != self._line.own]
        self._start({at: firsts[at] for at in numbers}, left, backward=self._backward)

    def of(self, places: Sequence[Place]) -> list[list[str]]:
        """Return the alternatives of each place, the oldest first. places: in the view's order."""
        gaps = list(dict.fromkeys(gap for place in places for gap in place))
        firsts: dict[int, EntryId] = {}
        for gap in gaps:
            firsts.setdefault(self._line.numbers[gap.owner], gap.first)
        left = [gap.owner for gap in gaps if gap.exit]
        self._start(firsts, left, backward=False)
        further = {owner: self._further(owner) for owner in left}
        bounded = {gap: alternatives.bounded(gap, further[gap.owner] if gap.exit else None) for gap in gaps}
        records = self._records(list(bounded.values()))
        removed = self._removed([owner for owner in left if further[owner]], records.values())
        found = [
            alternatives.candidates([bounded[gap] for gap in place], records, further, removed)
            for place in places
        ]
        replaced = [one for of_place in found for one in of_place if one.shown_from is not None]
        stand_ins = dict(zip(replaced, self._stand_ins(replaced), strict=True))
        return [_oldest(of_place, stand_ins) for of_place in found]

    def _start(self, firsts: Mapping[int, EntryId], left: Collection[str], *, backward: bool) -> None:
        """Start to read about those segments of the line that are not read yet.

        firsts: for each segment's number the lowest stop whose records count. left: the
        conversations that the view leaves. Whether one of these was removed is written in its
        record, which is read with its predecessor; of the first one the HEAD is read.
        """
        segments = {at: self._line.segments[at] for at in firsts}
        new = {at: one for at, one in segments.items() if one.conversation_id not in self._started}
        if new and (lowest := segments[min(new)].conversation_id) in left:
            self._heads[lowest] = self._table.start(
                partial(self._table.get, [keys.head(self._group_id, lowest)])
            )
        for at, segment in new.items():
            owner, further = segment.conversation_id, None
            if owner in left:
                read = RangeRead(Window(segment.stop), 1, owner, Channel.HISTORY)
                further = self._table.start(partial(view_pages.nearest, self._table, self._group_id, read))
            records = self._table.start(
                partial(self._read, owner, firsts[at], limit=RECORDS_AT_FIRST, backward=backward)
            )
            self._started[owner] = _Started(records, further)

    def _further(self, owner: str) -> EntryId | None:
        """Return the first own history entry of a conversation after the view has left it."""
        further = self._started[owner].further
        assert further is not None, "the view leaves it"
        stored = further.result()
        return stored.entry_id if stored else None

    def _removed(self, owners: Iterable[str], read: Iterable[Sequence[ForkRecord]]) -> set[str]:
        """Return which of the conversations were removed. read: the records of the page's gaps."""
        recorded = {one.conversation_id: one.is_removed for records in read for one in records}
        unknown = [one for one in owners if one not in recorded]
        heads = self._table.get(keys.head(self._group_id, one) for one in unknown if one not in self._heads)
        for one in unknown:
            heads |= self._heads[one].result() if one in self._heads else Found()
        dead = {one for one in unknown if heads.head(self._group_id, one) is None}
        return dead | {one for one, is_removed in recorded.items() if is_removed}

    def _read(
        self,
        owner: str,
        first: EntryId,
        last: EntryId = LAST,
        *,
        limit: int = RECORDS_MAX,
        backward: bool = False,
    ) -> KnownRecords:
        found = self._table.read.fork_records(
            self._group_id, owner, first=first, last=last, newest_first=backward, limit=limit
        )
        return alternatives.known([*found], first=first, last=last, limit=limit, backward=backward)

    def _records(self, gaps: Sequence[Gap]) -> dict[Gap, list[ForkRecord]]:
        """Return the records of each gap. What the first reads did not reach is read now."""
        of_owner: dict[str, list[Gap]] = {}
        for gap in gaps:
            of_owner.setdefault(gap.owner, []).append(gap)
        begun = [(of_one, self._started[owner].records.result()) for owner, of_one in of_owner.items()]
        filled = self._table.side_by_side(lambda pair: self._filled(*pair), begun)
        return {gap: records for of_one in filled for gap, records in of_one.items()}

    def _filled(self, gaps: Sequence[Gap], known: KnownRecords) -> dict[Gap, list[ForkRecord]]:
        """Return the records of an owner's gaps, which are in order. known: from the first read."""
        filled = {}
        for gap in gaps:
            found = known.of(gap)
            if found is None:
                known = self._read(gap.owner, gap.first, gaps[-1].last)
                found = known.of(gap)
            assert found is not None, "a read from the beginning of a gap knows its first records"
            filled[gap] = found
        return filled

    def _stand_ins(self, removed: Sequence[Candidate]) -> list[ForkRecord | None]:
        """Return for each removed candidate the oldest live conversation that shows how it goes on.

        None: there is none, or it was not found within STAND_INS_READ_MAX reads.
        """
        best: list[ForkRecord | None] = [None] * len(removed)
        todo = [(at, one.conversation_id, one.shown_from or FIRST) for at, one in enumerate(removed)]
        reads_left = STAND_INS_READ_MAX
        while todo and reads_left > 0:
            now, reads_left = todo[:reads_left], reads_left - len(todo)
            reads = [partial(self._read, owner, first) for _, owner, first in now]
            todo = []
            answers = self._table.side_by_side(lambda read: read(), reads)
            for (at, _, _), found in zip(now, answers, strict=True):
                best[at] = min(
                    [one for one in (best[at], *found.records) if one and not one.is_removed],
                    key=_age,
                    default=None,
                )
                todo += [(at, one.conversation_id, FIRST) for one in found.records if one.is_removed]
        return best


def _age(record: ForkRecord) -> tuple[str, str]:
    return record.created_at, record.conversation_id


def _oldest(found: Iterable[Candidate], stand_ins: Mapping[Candidate, ForkRecord | None]) -> list[str]:
    """Return the conversations of one place, the oldest first."""
    listed = []
    for one in found:
        if one.shown_from is None:
            listed.append((one.created_at, one.conversation_id))
        elif (stand_in := stand_ins[one]) is not None:
            listed.append(_age(stand_in))
    return [conversation_id for _, conversation_id in sorted(listed)][:ALTERNATIVES_MAX]
