"""Where branches go on differently: in random trees, beside a plain definition."""

from collections.abc import Mapping, Sequence
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from forklore_service.domain.alternatives import (
    RECORDS_MAX,
    Gap,
    KnownRecords,
    Place,
    ViewLine,
    bounded,
    candidates,
    known,
)
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.model import Channel, Conversation
from forklore_service.domain.tree import ForkRecord
from tests.service.domain.builders import Growth, Tree, at, conversation, examples, growths

ROOT = conversation(0)
Between = tuple[EntryId | None, EntryId | None]
"""A place, by the history entries around it."""


def history_of(tree: Tree) -> Mapping[str, list[EntryId]]:
    """Return the history that each conversation shows."""
    return {
        one: [e.entry_id for e in tree.sees[one] if e.entry.channel is Channel.HISTORY] for one in tree.paths
    }


def places_of(history: Sequence[EntryId]) -> list[Between]:
    """Return each place of a history: the entries around it."""
    return list(zip([None, *history], [*history, None], strict=True))


def records_of(tree: Tree, removed: frozenset[str]) -> Mapping[str, list[ForkRecord]]:
    """Return the records of the forks that leave each conversation, in the order of their keys."""
    records: dict[str, list[ForkRecord]] = {}
    for fork in [*tree.paths][1:]:
        made = Conversation(fork, ROOT, fork[:8])
        record = ForkRecord.of(made, tree.paths[fork], is_removed=fork in removed)
        records.setdefault(record.owner, []).append(record)
    for held in records.values():
        held.sort(key=lambda one: (one.stop, one.created_at))
    return records


def plain(
    tree: Tree, removed: frozenset[str], of: str, after: EntryId | None, before: EntryId | None
) -> list[str]:
    """Return the alternatives of a place between two history entries that `of` shows.

    An alternative is a fork that `of` shows nothing of, that was made of something that `of`
    shows, and that inherits the history up to the place and no more; or a conversation that `of`
    shows something of, and that goes on there with another history entry of its own.
    """
    owners = {e.entry_id: e.entry.conversation_id for e in tree.entries}
    histories = history_of(tree)
    line = {ROOT, of, *(e.entry.conversation_id for e in tree.sees[of])}
    found: set[str | None] = set()
    for fork in [*tree.paths][1:]:
        inherited = tree.sees[fork][: len(tree.sees[fork]) - len(tree.own[fork])]
        history = [e.entry_id for e in inherited if e.entry.channel is Channel.HISTORY]
        made_of = inherited[-1].entry.conversation_id if inherited else ROOT
        if fork not in line and made_of in line and (history[-1] if history else None) == after:
            found.add(standing_for(tree, removed, fork, tree.own[fork][0] if tree.own[fork] else None))
    for one in line:
        goes_on = _next_in(histories[one], after)
        if goes_on is not None and goes_on != before and owners[goes_on] == one:
            found.add(standing_for(tree, removed, one, goes_on))
    return sorted(one for one in found if one is not None)


def _next_in(history: Sequence[EntryId], after: EntryId | None) -> EntryId | None:
    """Return the entry after `after`; None if it is the last one, or if it is not shown."""
    if after is not None and after not in history:
        return None
    rest = history[history.index(after) + 1 :] if after else history
    return rest[0] if rest else None


def standing_for(tree: Tree, removed: frozenset[str], one: str, entry: EntryId | None) -> str | None:
    """Return the conversation, or if it was removed the oldest live one that shows the entry."""
    if one not in removed:
        return one
    live = (other for other in tree.paths if other not in removed)
    return next((other for other in live if entry in {e.entry_id for e in tree.sees[other]}), None)


def listed(tree: Tree, removed: frozenset[str], of: str) -> dict[Between, list[str]]:
    """Return the alternatives of each place of a view, where all records are known."""
    records, line = records_of(tree, removed), ViewLine(tree.view(of), root_id=ROOT)
    histories = history_of(tree)

    def further(gap: Gap) -> EntryId | None:
        """Return the owner's next own history entry where the view leaves it."""
        own = set(tree.own[gap.owner])
        return next((e for e in histories[gap.owner] if gap.exit and e >= gap.exit and e in own), None)

    def of_place(place: Place) -> list[str]:
        gaps = [bounded(gap, further(gap)) for gap in place]
        leaving = {
            gap: [one for one in records.get(gap.owner, []) if gap.first <= one.stop <= gap.last]
            for gap in gaps
        }
        found = []
        for one in candidates(gaps, leaving, {gap.owner: further(gap) for gap in gaps}, removed):
            goes_on = next(iter(tree.own[one.conversation_id]), None)
            if one.shown_from not in (None, FIRST):
                [goes_on] = [further(gap) for gap in gaps if gap.owner == one.conversation_id]
            assert (one.shown_from is None) == (one.conversation_id not in removed)
            found.append(standing_for(tree, removed, one.conversation_id, goes_on))
        return sorted({one for one in found if one is not None})

    return {
        (after, before): of_place(line.place(after=after, before=before))
        for after, before in places_of(histories[of])
    }


@examples(600)
@given(growths(10, 25, 60), st.sampled_from([0.0, 0.3, 0.7]), st.integers(0, 1 << 32))
def test_the_alternatives_of_each_place_are_those_of_the_plain_definition(
    growth: Growth, removals: float, seed: int
) -> None:
    tree, random = growth.tree(), Random(seed)
    removed = frozenset(one for one in tree.paths if random.random() < removals)
    for of in random.sample([*tree.paths], min(4, len(tree.paths))):
        if of not in removed:
            found = listed(tree, removed, of)
            assert found == {place: plain(tree, removed, of, *place) for place in found}


@examples(300)
@given(
    st.lists(st.integers(1, 6), max_size=2 * RECORDS_MAX),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 250),
    st.booleans(),
)
def test_what_was_read_tells_the_first_records_of_a_gap_or_that_it_does_not_know(
    stops: list[int], first: int, length: int, limit: int, backward: bool
) -> None:
    held = [ForkRecord(ROOT, at(stop), "", conversation(n)) for n, stop in enumerate(sorted(stops))]
    gap = Gap(ROOT, at(first), at(first + length - 1))
    read = (held[::-1] if backward else held)[:limit]

    told = known(read, first=FIRST, last=LAST, limit=limit, backward=backward).of(gap)

    wanted = [one for one in held if gap.first <= one.stop <= gap.last][:RECORDS_MAX]
    assert told in (None, wanted)
    if len(held) < limit or (not backward and len(wanted) == RECORDS_MAX and set(wanted) <= set(read)):
        assert told == wanted


def test_a_gap_outside_of_what_was_asked_for_is_not_known() -> None:
    held = KnownRecords([ForkRecord(ROOT, at(3), "", conversation(1))], at(2), at(4), is_forward=True)

    assert held.of(Gap(ROOT, at(2), at(4))) == list(held.records)
    assert held.of(Gap(ROOT, at(1), at(4))) is None
    assert held.of(Gap(ROOT, at(2), at(5))) is None
