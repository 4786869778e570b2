"""The ancestors of a conversation, for a breadcrumb."""

from itertools import pairwise

from forklore_service.storage.table import Table
from forklore_service.usecases.reading.ancestors import Ancestor, list_ancestors
from tests.service.usecases.builders import (
    ANN,
    BLANK,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    append,
    conversation,
    create,
    fork,
    say,
    thought,
)
from tests.service.usecases.deletion.test_branch_removal import remove
from tests.support.tables import Store
from tools.harness.wire import Wire


def ancestors(table: Table, of: str) -> list[Ancestor]:
    return list_ancestors(table, caller=ANN, conversation_id=of)


def test_the_path_is_listed_from_the_root_to_the_conversation(table: Table) -> None:
    create(table, ROOT, title="root")
    _, second, third = say(table, ROOT, "A", "B", "C")
    [first] = append(table, FORK, "C, edited", fork=(ROOT, third))
    fork(table, FORK, TWIG, title="twig")

    assert ancestors(table, TWIG) == [
        Ancestor(ROOT, title="root", up_to=second),
        Ancestor(FORK, title="C, edited", up_to=first.entry_id),
        Ancestor(TWIG, title="twig"),
    ]
    assert ancestors(table, ROOT) == [Ancestor(ROOT, title="root")]


def test_only_those_are_listed_whose_entries_are_shown(table: Table) -> None:
    """A fork of a fork before its first entry shows nothing of it; a blank one shows nothing."""
    first, second = say(table, ROOT, "A", "B")
    [own] = append(table, FORK, "B, edited", fork=(ROOT, second))
    fork(table, FORK, TWIG, own.entry_id)
    fork(table, FORK, OTHER, position=BLANK)

    assert [(one.conversation_id, one.up_to) for one in ancestors(table, TWIG)] == [
        (ROOT, first),
        (TWIG, None),
    ]
    assert [one.conversation_id for one in ancestors(table, OTHER)] == [OTHER]


def test_an_ancestor_of_which_only_context_is_shown_names_no_entry(table: Table) -> None:
    [first] = say(table, ROOT, "A")
    fork(table, ROOT, FORK)
    append(table, FORK, thought("p1"), by=PLANNER)
    fork(table, FORK, TWIG)

    assert [(one.conversation_id, one.up_to) for one in ancestors(table, TWIG)] == [
        (ROOT, first),
        (FORK, None),
        (TWIG, None),
    ]


def test_a_removed_ancestor_is_marked(store: Store, table: Table) -> None:
    first, second = say(table, ROOT, "A", "B")
    [own] = append(table, FORK, "B, edited", fork=(ROOT, second))
    fork(table, FORK, TWIG, title="twig")
    remove(table, FORK)

    assert ancestors(table, TWIG) == [
        Ancestor(ROOT, title="A", up_to=first),
        Ancestor(FORK, is_removed=True, up_to=own.entry_id),
        Ancestor(TWIG, title="twig"),
    ]


def test_a_long_path_takes_one_round_more_than_the_conversation(store: Store, table: Table) -> None:
    say(table, ROOT, "x")
    line = [ROOT, *(conversation(100 + at) for at in range(30))]
    for above, below in pairwise(line):
        fork(table, above, below)
        say(table, below, "x")
    process = store.process()
    wire = Wire.of(process)

    assert [one.conversation_id for one in ancestors(process, line[-1])] == line
    assert wire.rounds <= 4
