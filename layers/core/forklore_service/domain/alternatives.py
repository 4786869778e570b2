"""Where the branches of a tree go on differently from a view.

A place of a view lies before a history entry, after the history entry that the view shows before
it; or it lies at the end. The forks that leave a place are those that show the view up to there and
nothing of its next history entry. Their records lie in gaps: one gap in each conversation that the
view shows there, or leaves there.
"""

from bisect import bisect_right
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from forklore_service.domain.ancestry import Path, Segment, View
from forklore_service.domain.ids import FIRST, LAST, EntryId, next_id, previous_id
from forklore_service.domain.tree import ForkRecord

ALTERNATIVES_MAX = 100
"""The alternatives of one place that are listed."""
RECORDS_MAX = ALTERNATIVES_MAX + 1
"""The records of one gap that are read: one may be of the branch that the view goes on with."""


class Gap(NamedTuple):
    """The stops at which forks of one conversation leave a place.

    first, last: the stops, both included. exit: where the view leaves `owner` in this gap; then the
    gap ends at the owner's next history entry, which the view does not show. None: the view stays.
    onto: the conversation that the view goes on with after `exit`.
    """

    owner: str
    first: EntryId
    last: EntryId
    exit: EntryId | None = None
    onto: str | None = None


Place = tuple[Gap, ...]
"""The gaps of a place, from the conversation that owns the history entry before it."""


class ViewLine:
    """The conversations that a view goes through, oldest first.

    A view that begins with another conversation than the root has left the root before its first
    entry.
    """

    def __init__(self, view: View, *, root_id: str) -> None:
        begins_at_root = view.segments[0].conversation_id == root_id
        self.segments: Path = view.segments if begins_at_root else (Segment(root_id, FIRST), *view.segments)
        self._stops = [segment.stop for segment in self.segments]
        self.numbers = {segment.conversation_id: at for at, segment in enumerate(self.segments)}
        self.own = len(self.segments) - 1

    def number_of(self, entry_id: EntryId | None) -> int:
        """Return the number of the segment that shows a position; None: before every entry."""
        return 0 if entry_id is None else bisect_right(self._stops, entry_id)

    def place(self, *, after: EntryId | None, before: EntryId | None) -> Place:
        """Return the place between two history entries that the view shows next to each other.

        after: None at the beginning of the view. before: None at its end.
        """
        begin = self.number_of(after)
        end = self.number_of(before) if before else self.own
        gaps = []
        for at in range(begin, end + 1):
            owner, stop = self.segments[at].conversation_id, self.segments[at].stop
            first = next_id(after) if after and at == begin else FIRST
            if at == end:
                gaps.append(Gap(owner, first, before or LAST))
            else:
                gaps.append(Gap(owner, first, LAST, stop, self.segments[at + 1].conversation_id))
        return tuple(gaps)


def bounded(gap: Gap, further: EntryId | None) -> Gap:
    """Return the gap up to the owner's next own history entry, where the view leaves the owner.

    further: that entry; None: there is none, or the view stays.
    """
    return gap if further is None else Gap(gap.owner, gap.first, min(gap.last, further), gap.exit, gap.onto)


class KnownRecords(NamedTuple):
    """Records of one owner: all with a stop from `first` to `last`, in the order of their keys.

    last: None if not even all records of the first stop are known. is_forward: whether the records
    after `last` are known in their order, too, as far as they were read.
    """

    records: Sequence[ForkRecord]
    first: EntryId
    last: EntryId | None
    is_forward: bool

    def of(self, gap: Gap) -> list[ForkRecord] | None:
        """Return the first RECORDS_MAX records in the gap; None if not all of these are known."""
        found = [one for one in self.records if gap.first <= one.stop <= gap.last]
        reaches_end = self.last is not None and gap.last <= self.last
        is_crowded = self.is_forward and len(found) >= RECORDS_MAX
        return found[:RECORDS_MAX] if gap.first >= self.first and (reaches_end or is_crowded) else None


def known(
    read: Sequence[ForkRecord], *, first: EntryId, last: EntryId, limit: int, backward: bool
) -> KnownRecords:
    """Return what a read of at most `limit` records tells.

    read: the records in the order of reading. first, last: the stops that were asked for.
    """
    in_order = read[::-1] if backward else read
    if len(read) < limit:
        return KnownRecords(in_order, first, last, is_forward=not backward)
    end = read[-1].stop
    if backward:
        return KnownRecords(in_order, next_id(end), last, is_forward=False)
    return KnownRecords(in_order, first, previous_id(end) if end > first else None, is_forward=True)


class Candidate(NamedTuple):
    """A conversation that goes on differently at a place.

    created_at: empty if it is older than all forks of the place. shown_from: where it was removed,
    the first stop of the forks that show how it goes on; one of them stands in its place.
    """

    conversation_id: str
    created_at: str
    shown_from: EntryId | None = None


def candidates(
    place: Sequence[Gap],
    records: Mapping[Gap, Sequence[ForkRecord]],
    further: Mapping[str, EntryId | None],
    removed: Container[str],
) -> list[Candidate]:
    """Return what goes on differently at a place.

    records: of each gap. further: the next own history entry of each conversation that the view
    leaves there; None: there is none. removed: those of them that were deleted.
    """
    found: list[Candidate] = []
    ages = {record.conversation_id: record.created_at for gap in place for record in records[gap]}
    for gap in place:
        found += [
            Candidate(one.conversation_id, one.created_at, FIRST if one.is_removed else None)
            for one in records[gap]
            if one.conversation_id != gap.onto
        ]
        entry_id = further[gap.owner] if gap.exit else None
        if entry_id is not None:
            shown_from = next_id(entry_id) if gap.owner in removed else None
            found.append(Candidate(gap.owner, ages.get(gap.owner, ""), shown_from))
    return found
