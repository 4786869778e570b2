"""The history of a tree as a message tree: every entry names the history entry before it."""

from forklore_service.domain.ids import EntryId
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.copying import Copy, copy_conversation
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.reading.fork_lists import list_forks
from forklore_service.usecases.writing.merging import Merge, merge_branch
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BLANK,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    H,
    conversation,
    create,
    fork,
    page,
    said,
    say,
    thought,
    turn,
)
from tests.service.usecases.deletion.test_branch_removal import prune
from tests.support.mailbox import Mailbox
from tests.support.tables import Store

BLANKS, FIRSTS, AT_CONTEXT, BEFORE_CONTEXT, COPY = (conversation(number) for number in range(21, 26))


def ends(table: Table, of: str = ROOT) -> dict[str, EntryId | None]:
    """Return the last entry of each branch, as the list of forks names it, in two pages."""
    first = list_forks(table, caller=ANN, conversation_id=of, after=None, limit=2)
    rest = list_forks(table, caller=ANN, conversation_id=of, after=first.resume, limit=200)
    rows = [*first.conversations, *(rest.conversations if first.resume else ())]
    return {one.conversation_id: head.last_history for one, head in rows}


def assert_tree(table: Table, of: str = ROOT) -> dict[str, list[EntryId]]:
    """Compare the ways up the tree with what each branch shows. Return the latter."""
    entries = page(table, of, channel=H, all_forks=True).entries
    parents = {entry.entry_id: entry.after.history for entry in entries}
    shown = {}
    for branch, last in ends(table, of).items():
        way: list[EntryId] = []
        up = last
        while up is not None:
            way.insert(0, up)
            up = parents[up]
        shown[branch] = [entry.entry_id for entry in page(table, branch, channel=H).entries]
        assert way == shown[branch], branch
    return shown


def grown(table: Table) -> list[EntryId]:
    """Make a tree whose branches leave in every way. Return the root's history."""
    (one,) = say(table, ROOT, "one")
    (noted,) = say(table, ROOT, thought("a", epoch=1), by=PLANNER)
    two, _, _, three = say(table, ROOT, said("two"), thought("b"), thought("c"), said("three"), by=PLANNER)
    turned = turn(table, ROOT, "four", context=["x"]).entries[0].entry_id
    fork(table, ROOT, FORK, three)
    say(table, FORK, "other three")
    fork(table, FORK, TWIG)
    say(table, TWIG, "twig")
    fork(table, ROOT, AT_CONTEXT, noted, AFTER, by=PLANNER)
    fork(table, ROOT, BEFORE_CONTEXT, noted, by=PLANNER)
    fork(table, ROOT, FIRSTS, one)
    say(table, FIRSTS, "other one")
    fork(table, ROOT, BLANKS, position=BLANK)
    say(table, BLANKS, "blank")
    return [one, two, three, turned]


def test_the_way_up_from_the_last_entry_of_a_branch_is_what_it_shows(table: Table) -> None:
    one, two, three, four = grown(table)

    shown = assert_tree(table)

    assert shown[ROOT] == [one, two, three, four]
    assert shown[AT_CONTEXT] == shown[BEFORE_CONTEXT] == [one]
    assert [len(shown[branch]) for branch in (FORK, TWIG, FIRSTS, BLANKS)] == [3, 4, 1, 1]


def test_it_stays_so_when_branches_are_removed_and_nobody_shows_where_others_left_them(
    store: Store, table: Table
) -> None:
    one, two, _, _ = grown(table)
    for gone in (FORK, ROOT):
        remove_branch(table, Mailbox().queue, caller=ANN, conversation_id=gone, wait_s=0)
        assert_tree(table, TWIG)
    prune(store)

    assert assert_tree(store.process(), TWIG)[TWIG][:2] == [one, two]


def test_a_copy_names_the_copy_before_it(table: Table) -> None:
    grown(table)
    say(table, BLANKS, "more")

    merge_branch(table, caller=ANN, request=Merge(BLANKS, TWIG))
    copied = copy_conversation(table, caller=ANN, request=Copy(TWIG, COPY))

    assert len(assert_tree(table)[BLANKS]) == 2 + 4
    assert len(assert_tree(table, COPY)[COPY]) == 4
    assert copied.conversation.conversation_id == COPY


def test_a_context_entry_names_the_history_before_it_and_never_other_context(table: Table) -> None:
    grown(table)

    entries = page(table, by=PLANNER).entries
    last: EntryId | None = None
    for entry in entries:
        assert entry.after.history == last
        last = entry.entry_id if entry.channel is H else last


def test_a_conversation_without_entries_ends_nowhere(table: Table) -> None:
    create(table, OTHER)

    assert ends(table, OTHER) == {OTHER: None}
