"""Which entries of one append belong together."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_service.domain import ids
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import NOTHING, Channel, Entry, LastEntries, Tip, Turn
from forklore_service.domain.turns import turns_of, with_turns
from tests.service.domain.builders import examples

H, C = Channel.HISTORY, Channel.CONTEXT


def owner(channels: tuple[Channel, ...], at: int) -> int | None:
    """Return the index of the history entry that an entry belongs to, by plain definition."""
    if channels[at] is H:
        return at
    if H in channels[:at]:
        return owner(channels, at - 1)
    return channels.index(H) if H in channels else None


@pytest.mark.failure("split-turn")
def test_turns_are_as_defined_for_all_short_appends() -> None:
    for length in range(1, 9):
        for channels in product((H, C), repeat=length):
            owners = [owner(channels, at) for at in range(length)]
            turns = {of: [at for at in range(length) if owners[at] == of] for of in owners if of is not None}

            assert [list(turn) for turn in turns_of(channels)] == list(turns.values())


def test_an_append_of_context_alone_has_no_turn() -> None:
    assert turns_of([C, C]) == []
    assert all(entry.turn is None for entry in with_turns(made([C, C], Tip(ids.FIRST))))


def made(channels: list[Channel], tip: Tip) -> list[Entry]:
    """Return entries of these channels, each of which names what was shown last before it."""
    entries = []
    for channel in channels:
        entry_id = ids.next_id(tip.last)
        entries.append(Entry(entry_id, "c", "ann", channel, "text", "[]", after=tip.lasts))
        tip = Tip(entry_id, tip.lasts.moved(channel, entry_id))
    return entries


@given(
    st.lists(st.sampled_from([H, C]), min_size=1, max_size=12),
    st.sampled_from([NOTHING, LastEntries(EntryId("h"), None), LastEntries(EntryId("h"), EntryId("c"))]),
)
@examples(200)
def test_each_entry_knows_where_its_turn_begins_and_ends(channels: list[Channel], lasts: LastEntries) -> None:
    entries = with_turns(made(channels, Tip(ids.FIRST, lasts)))

    shown = lasts
    for at, entry in enumerate(entries):
        of = owner(tuple(channels), at)
        same = [other for n, other in enumerate(entries) if n == at or owner(tuple(channels), n) == of]
        if of is None:
            same = [entry]
        assert (entry.begins, entry.ends) == (same[0].entry_id, same[-1].entry_id)
        assert entry.lasts_before == same[0].after
        assert entry.lasts_after == same[-1].after.moved(same[-1].channel, same[-1].entry_id)
        assert (entry.turn is None) == (len(same) == 1)
        assert entry.after == shown
        shown = shown.moved(entry.channel, entry.entry_id)


def test_a_turn_names_what_is_shown_before_and_after_it() -> None:
    one, two, three = with_turns(made([C, H, C], Tip(ids.FIRST)))

    after = LastEntries(two.entry_id, three.entry_id)
    assert one.turn == two.turn == three.turn == Turn(one.entry_id, three.entry_id, NOTHING, after)
