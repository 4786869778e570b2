"""Alternatives of a page of entries: what other conversations go on with at each place."""

from typing import Any

from forklore_service.domain.ids import EntryId
from forklore_service.storage.table import Table
from tests.service.usecases.builders import (
    AFTER,
    BLANK,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    C,
    H,
    append,
    conversation,
    fork,
    page,
    say,
    texts,
    thought,
)
from tests.service.usecases.deletion.test_branch_removal import prune, remove
from tests.support.tables import Store
from tools.harness.wire import Wire

AT_END = "at the end"


def alternatives(table: Table, conversation_id: str = ROOT, **what: Any) -> dict[str, list[str]]:
    """Return the alternatives of a page by the text of the entry, where there are any."""
    found = page(table, conversation_id, alternatives=True, **what)
    said = dict(zip([entry.entry_id for entry in found.entries], texts(found.entries), strict=True))
    by_text = {said[entry_id]: ids for entry_id, ids in found.alternatives.items()}
    return by_text | ({AT_END: found.alternatives_at_end} if found.alternatives_at_end else {})


def edit(table: Table, new_id: str, source: str, anchor: EntryId, text: str) -> EntryId:
    """Fork before an entry with another text, as an interface edits a message."""
    [entry] = append(table, new_id, text, fork=(source, anchor))
    return entry.entry_id


def test_the_end_of_a_view_has_alternatives(table: Table) -> None:
    first, last = say(table, ROOT, "A", "B")
    fork(table, ROOT, FORK)
    fork(table, ROOT, TWIG, first, AFTER)

    assert alternatives(table, ROOT) == {"B": [TWIG], AT_END: [FORK]}
    assert alternatives(table, FORK) == {"B": [TWIG]}
    assert alternatives(table, TWIG) == {AT_END: [ROOT]}
    say(table, ROOT, "C")
    assert alternatives(table, FORK, tail=True, limit=1) == {"B": [TWIG], AT_END: [ROOT]}
    assert page(table, ROOT, alternatives=True, limit=2).alternatives_at_end is None
    assert page(table, ROOT, alternatives=True, before=last).alternatives_at_end is None
    assert page(table, ROOT, alternatives=True, up_to=last).alternatives_at_end is None
    assert page(table, ROOT, alternatives=True).alternatives_at_end == []
    assert page(table, ROOT).alternatives_at_end is None


def test_an_empty_view_has_alternatives_at_its_end(table: Table) -> None:
    say(table, ROOT, "A")
    fork(table, ROOT, FORK, position=BLANK)

    assert alternatives(table, FORK) == {AT_END: [ROOT]}


def test_context_entries_carry_none_and_are_looked_through(table: Table) -> None:
    append(table, ROOT, "A", thought("p1"), by=PLANNER)
    [second] = say(table, ROOT, "B")
    edit(table, FORK, ROOT, second, "B, edited")

    assert alternatives(table, ROOT, by=PLANNER) == {"B": [FORK]}
    assert alternatives(table, FORK, by=PLANNER) == {"B, edited": [ROOT]}
    assert alternatives(table, ROOT, by=PLANNER, channel=H) == {"B": [FORK]}
    wire = Wire.of(table)
    assert alternatives(table, ROOT, by=PLANNER, channel=C) == {}
    assert len(wire.requests) == 2


def test_a_page_says_the_same_as_the_whole_list(table: Table) -> None:
    """The entry before the page decides where the page's first place begins."""
    written = say(table, ROOT, *[f"r{at}" for at in range(6)])
    forks = [conversation(10 + at) for at in range(6)]
    for at, one in enumerate(forks):
        edit(table, one, ROOT, written[at], f"r{at}, edited")
    whole = {f"r{at}": [one] for at, one in enumerate(forks)}

    assert alternatives(table, ROOT) == whole
    for at in range(5):
        there = {f"r{at + 1}": [forks[at + 1]]}
        assert alternatives(table, ROOT, after=written[at], limit=1) == there
        if at < 4:
            assert alternatives(table, ROOT, before=written[at + 2], limit=1) == there
        assert alternatives(table, forks[at + 1], after=written[at]) == {f"r{at + 1}, edited": [ROOT]}
    assert alternatives(table, ROOT, tail=True, limit=2) == {"r4": [forks[4]], "r5": [forks[5]]}
    assert alternatives(table, forks[5], own=True) == {"r5, edited": [ROOT]}
    assert alternatives(table, forks[5], own=True, tail=True) == {"r5, edited": [ROOT]}


def test_the_oldest_live_branch_that_shows_it_stands_for_a_removed_one(store: Store, table: Table) -> None:
    _, second = say(table, ROOT, "A", "B")
    own = edit(table, FORK, ROOT, second, "B, edited")
    say(table, FORK, "C")
    fork(table, FORK, TWIG, own, AFTER)
    fork(table, FORK, OTHER)
    assert alternatives(table, ROOT) == {"B": [FORK]}

    remove(table, FORK)
    assert alternatives(table, ROOT) == {"B": [TWIG]}
    assert alternatives(table, TWIG) == {"B, edited": [ROOT], AT_END: [OTHER]}
    remove(table, TWIG)
    assert alternatives(table, ROOT) == {"B": [OTHER]}
    remove(table, OTHER)
    assert alternatives(table, ROOT) == {}
    prune(store)
    assert alternatives(table, ROOT) == {}


def test_a_removed_root_is_not_listed_either(store: Store, table: Table) -> None:
    _, second, _ = say(table, ROOT, "A", "B", "C")
    edit(table, FORK, ROOT, second, "B, edited")
    fork(table, ROOT, TWIG)
    remove(table, ROOT)

    assert alternatives(table, FORK) == {"B, edited": [TWIG]}
    remove(table, TWIG)
    assert alternatives(table, FORK) == {}


def test_of_many_alternatives_a_hundred_are_listed(store: Store, table: Table) -> None:
    _, second = say(table, ROOT, "A", "B")
    forks = [conversation(100 + at) for at in range(105)]
    for one in forks:
        fork(table, ROOT, one, second)
    say(table, forks[50], "B, edited")

    assert alternatives(table, ROOT) == {"B": forks[:100]}
    assert alternatives(table, ROOT, tail=True) == {"B": forks[:100]}
    assert alternatives(table, forks[50]) == {"B, edited": [ROOT, *forks[:50], *forks[51:100]]}


def test_alternatives_take_no_more_rounds_than_the_entries(store: Store, table: Table) -> None:
    written = say(table, ROOT, *[f"r{at}" for at in range(30)])
    edit(table, FORK, ROOT, written[20], "edited")
    for number in range(9):
        edit(table, conversation(10 + number), ROOT, written[2 * number], "edited")
    for of in (ROOT, FORK):
        for start in ({}, {"tail": True}, {"after": written[3]}, {"before": written[15]}):
            rounds = []
            for asked in (False, True):
                process = store.process()
                wire = Wire.of(process)
                page(process, of, limit=10, alternatives=asked, **start)
                rounds.append(wire.rounds)
            assert rounds[0] == rounds[1], (of, start)
