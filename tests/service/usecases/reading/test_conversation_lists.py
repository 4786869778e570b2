import functools
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import ListKey
from forklore_service.domain.listing import Ancestry, Archived, Filter, ListPlace, Mode
from forklore_service.domain.model import Caller, Conversation, Description, Head, StartedBy
from forklore_service.domain.tree import Group, Member
from forklore_service.limits import PAGE_BYTES_MAX
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.table import Table
from forklore_service.usecases.people.sharing import remove_membership, share_conversation, update_membership
from forklore_service.usecases.people.transfers import accept_transfer, request_transfer
from forklore_service.usecases.reading import conversation_lists
from forklore_service.usecases.reading.conversation_lists import (
    TREES_AT_ONCE,
    TREES_MAX,
    ListRequest,
)
from forklore_service.usecases.reading.fork_lists import list_forks
from forklore_service.usecases.reading.list_modes import (
    CONVERSATIONS_MAX,
    HEADS_MAX,
    NEWEST,
    SMALL_BYTES,
    SMALL_ITEMS,
)
from forklore_service.usecases.reading.list_orders import ROWS_MAX
from forklore_service.usecases.shared.cursors import PageOf
from forklore_service.usecases.shared.loading import ConversationDetails
from forklore_service.usecases.writing.conversations import Patch, update_conversation
from tests.service.usecases.builders import (
    ANN,
    BOB,
    EVE,
    ROOT,
    conversation,
    create,
    fork,
    promote,
    say,
    show,
)
from tests.support.samples import drawn
from tests.support.tables import Store, Ticking, fresh_store, mine_of
from tests.support.torn import of_kind, tear
from tools.harness.wire import Request, Wire

READER, MANAGER, OWNER = AccessLevel.READER, AccessLevel.MANAGER, AccessLevel.OWNER
FILTERS = ("query", "agent_id", "tag")
HOUR_MS = 3_600_000
START_MS = ids.milliseconds("2026-01-01T00:00:00.000Z")


def titled(number: int) -> str:
    return f"Tree {number:03}"


def plant_tree(
    store: Store,
    number: int,
    *,
    user: str = "ann",
    hour: int | None = None,
    title: str = "",
    child: bool = False,
) -> str:
    """Plant a root as `put_root` writes it, and return its id. hour: by default its number."""
    root_id = conversation(number)
    created_at = ids.timestamp(START_MS + (number if hour is None else hour) * HOUR_MS)
    started = StartedBy(conversation(9999), None) if child else None
    root = Conversation(
        root_id, root_id, created_at, described=Description(title=title or titled(number)), started_by=started
    )
    child_key = keys.child(conversation(9999), conversation(9999), ListKey(created_at, root_id))
    store.put(
        items.pointer_item(root, "n"),
        items.group_item(Group(root_id, user, created_at, child_key=child_key if child else None)),
        items.conversation_item(root),
        items.head_item(root, Head(user, created_at)),
        items.tree_item(root),
        items.member_item(root_id, Member(user, AccessLevel.OWNER, created_at)),
        mine_of(root, user),
    )
    return root_id


def one_page(table: Table, *, by: Caller = ANN, **what: Any) -> PageOf[ConversationDetails, ListPlace]:
    """Return a page. what: fields of the request, and those of its filter."""
    wanted = {name: what.pop(name) for name in list(what) if name in FILTERS}
    found = conversation_lists.list_conversations(
        table, caller=by, request=ListRequest(wanted=Filter(**wanted), **what)
    )
    assert len(found.rows) <= what.get("limit", 20)
    return found


def walk(
    table: Table, *, by: Caller = ANN, after: ListPlace | None = None, **what: Any
) -> list[ConversationDetails]:
    """Return the whole list, read page by page."""
    found: list[ConversationDetails] = []
    while True:
        page = one_page(table, by=by, after=after, **what)
        found += page.rows
        after = page.resume
        if after is None:
            return found


def named(shown: Iterable[ConversationDetails]) -> list[int]:
    """Return the numbers of the conversations."""
    return [int(one.conversation.conversation_id[:8], 16) for one in shown]


def touch(table: Table, number: int, **tags: str) -> None:
    update_conversation(
        table,
        caller=ANN,
        conversation_id=conversation(number),
        change=Patch({"tags": tags or {"a": "b"}}),
    )


def grow(store: Store) -> Table:
    """Plant trees 1 to 5; 4 is a child. 2 has forks 20 to 22, 4 has 40.

    Last updated: 21, with the tag `a`, and 4, with it, too. Promoted: 20. 2 has the tag `of`.
    """
    table = store.process(clock=Ticking())
    for number in range(1, 6):
        plant_tree(store, number, child=number == 4)
    store.change(keys.conversation(conversation(2), conversation(2)), agentId=items.text("planner"))
    touch(table, 2, of="root")
    for number, agent in ((20, "a"), (21, "b"), (22, "planner")):
        fork(table, conversation(2), conversation(number), title=f"Fork {number}", agent_id=agent)
    fork(table, conversation(4), conversation(40), title="Fork 40")
    touch(table, 21)
    touch(table, 4)
    promote(table, conversation(20))
    return table


@pytest.fixture(scope="module")
def still_forest() -> Iterator[Table]:
    """A table of trees that no test changes."""
    with fresh_store("still-forest") as store:
        yield grow(store)


@pytest.fixture
def forest(store: Store) -> Table:
    return grow(store)


LISTS = {
    (Mode.LATEST_FORK, Ancestry.ROOTS): [5, 3, 21, 1],
    (Mode.LATEST_FORK, Ancestry.CHILDREN): [4],
    (Mode.LATEST_FORK, Ancestry.ALL): [5, 4, 3, 21, 1],
    (Mode.CURRENT, Ancestry.ROOTS): [5, 3, 20, 1],
    (Mode.CURRENT, Ancestry.CHILDREN): [4],
    (Mode.CURRENT, Ancestry.ALL): [5, 4, 3, 20, 1],
    (Mode.ROOTS, Ancestry.ROOTS): [5, 3, 2, 1],
    (Mode.ROOTS, Ancestry.CHILDREN): [4],
    (Mode.ROOTS, Ancestry.ALL): [5, 4, 3, 2, 1],
    (Mode.ALL, Ancestry.ROOTS): [5, 3, 22, 21, 20, 2, 1],
    (Mode.ALL, Ancestry.CHILDREN): [40, 4],
    (Mode.ALL, Ancestry.ALL): [5, 40, 4, 3, 22, 21, 20, 2, 1],
}


@pytest.mark.parametrize("limit", [1, 2, 3, 20])
def test_the_list_has_the_newest_tree_first_and_in_a_tree_the_newest_first(
    still_forest: Table, limit: int
) -> None:
    for (mode, ancestry), expected in LISTS.items():
        assert named(walk(still_forest, mode=mode, ancestry=ancestry, limit=limit)) == expected, (
            mode,
            ancestry,
        )


def test_a_listed_conversation_equals_the_conversation_by_id(still_forest: Table) -> None:
    """Only the list knows when its rows were moved, and how many branches there are."""
    for shown in walk(still_forest, mode=Mode.ALL, ancestry=Ancestry.ALL):
        assert shown._replace(tree_used_at="", branches=None) == show(
            still_forest, shown.conversation.conversation_id
        )


@pytest.mark.parametrize(
    ("query", "mode", "expected"),
    [
        ("tree", Mode.ROOTS, [5, 3, 2, 1]),
        ("FORK 2", Mode.ALL, [22, 21, 20]),
        ("tree 002", Mode.ALL, [2]),
        ("fork", Mode.LATEST_FORK, [21]),
        ("tree 002", Mode.LATEST_FORK, [21]),
        ("TREE 002", Mode.CURRENT, [20]),
        ("fork", Mode.ROOTS, []),
        ("nowhere", Mode.ALL, []),
        ("", Mode.ROOTS, [5, 3, 2, 1]),
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 20])
def test_a_query_is_part_of_the_title_in_any_case(
    still_forest: Table, query: str, mode: Mode, expected: list[int], limit: int
) -> None:
    assert named(walk(still_forest, mode=mode, query=query, limit=limit)) == expected


@pytest.mark.parametrize(
    ("wanted", "mode", "expected"),
    [
        ({"agent_id": "planner"}, Mode.ALL, [22, 2]),
        ({"agent_id": "planner"}, Mode.CURRENT, []),
        ({"agent_id": "plan"}, Mode.ALL, []),
        ({"tag": "a"}, Mode.ALL, [21]),
        ({"tag": "a"}, Mode.LATEST_FORK, [21]),
        ({"tag": "a"}, Mode.ROOTS, []),
        ({"tag": "a:b"}, Mode.ALL, [21]),
        ({"tag": "a:c"}, Mode.ALL, []),
        ({"tag": "of"}, Mode.LATEST_FORK, [21]),
        ({"tag": "of:root"}, Mode.CURRENT, [20]),
        ({"tag": "of"}, Mode.ROOTS, [2]),
        ({"tag": "of"}, Mode.ALL, [2]),
        ({"tag": "a", "query": "fork 21"}, Mode.ALL, [21]),
        ({"tag": "a", "query": "fork 22"}, Mode.ALL, []),
        ({"tag": "a", "agent_id": "planner"}, Mode.ALL, []),
    ],
    ids=str,
)
@pytest.mark.parametrize("limit", [1, 20])
def test_agents_and_tags_choose_what_is_listed(
    still_forest: Table, wanted: dict[str, Any], mode: Mode, expected: list[int], limit: int
) -> None:
    assert named(walk(still_forest, mode=mode, limit=limit, **wanted)) == expected


def test_a_query_is_compared_without_case_in_any_script(store: Store, table: Table) -> None:
    plant_tree(store, 1, title="STRASSE ΣΊΣΥΦΟΣ")
    create(table, conversation(2))  # It has no title.

    assert named(walk(table, query="straße")) == [1]
    assert named(walk(table, query="σίσυφος")) == [1]
    assert named(walk(table, query="x")) == []


def test_a_list_that_ends_with_its_page_says_so(still_forest: Table) -> None:
    assert one_page(still_forest, limit=4).resume is None
    assert one_page(still_forest, limit=3).resume is not None


def test_a_new_user_has_an_empty_list(table: Table) -> None:
    assert one_page(table, by=EVE) == PageOf([], None)


def test_the_latest_fork_is_the_one_updated_last(store: Store, table: Table) -> None:
    plant_tree(store, 1)
    fork(table, conversation(1), conversation(10))
    fork(table, conversation(1), conversation(11))
    for number in (10, 1, 11, 10):
        say(table, conversation(number), "now")
        assert named(walk(table)) == [number]


def test_trees_of_one_millisecond_are_all_listed_in_a_fixed_order(store: Store, table: Table) -> None:
    for number in range(1, 8):
        plant_tree(store, number, hour=1)

    for limit in (1, 2, 3, 20):
        assert named(walk(table, limit=limit)) == [7, 6, 5, 4, 3, 2, 1]


# Access


def test_every_present_member_sees_a_tree_with_the_own_level(forest: Table) -> None:
    """Sharing, a change of level, a transfer and a removal show in the next list."""
    tree = conversation(21)
    share_conversation(forest, caller=ANN, conversation_id=tree, user_id="bob", level=READER)
    share_conversation(forest, caller=ANN, conversation_id=conversation(3), user_id="bob", level=MANAGER)

    seen = walk(forest, by=BOB, mode=Mode.ALL)
    assert named(seen) == [3, 22, 21, 20, 2]
    assert [one.level for one in seen] == [MANAGER] + [READER] * 4

    update_membership(forest, caller=ANN, conversation_id=tree, user_id="bob", level=AccessLevel.WRITER)
    assert [one.level for one in walk(forest, by=BOB)] == [MANAGER, AccessLevel.WRITER]
    offer = request_transfer(forest, caller=ANN, conversation_id=tree, new_owner="bob")
    accept_transfer(forest, caller=BOB, transfer_id=offer.transfer_id)
    assert [one.level for one in walk(forest, by=BOB)] == [MANAGER, OWNER]
    assert [(one.level, one.owner) for one in walk(forest) if one.owner != "ann"] == [(MANAGER, "bob")]
    remove_membership(forest, caller=BOB, conversation_id=tree, user_id="ann")
    assert named(walk(forest)) == [5, 3, 1]


@pytest.mark.failure("stale-list-row")
@pytest.mark.parametrize("row_is_old", [False, True], ids=["new row", "old row"])
@pytest.mark.parametrize("at", [2, 3])
@pytest.mark.parametrize(("caller", "before", "after"), [(ANN, OWNER, MANAGER), (BOB, READER, OWNER)])
def test_a_transfer_while_a_list_is_read_shows_the_level_before_or_after_it(
    forest: Table,
    store: Store,
    caller: Caller,
    before: AccessLevel,
    after: AccessLevel,
    at: int,
    row_is_old: bool,
) -> None:
    """The level and the owner of a listed tree agree. at: the request before which it happens."""
    tree = conversation(1)
    share_conversation(forest, caller=ANN, conversation_id=tree, user_id="bob", level=READER)
    offer = request_transfer(forest, caller=ANN, conversation_id=tree, new_owner="bob")
    if row_is_old:
        made_at = ids.timestamp(START_MS + HOUR_MS)
        store.put(items.key_of(keys.user_tree(caller.user_id, made_at, tree, is_child=False)))
    process = store.process()
    wire = Wire.of(process)

    def accept(_: Request) -> None:
        if len(wire.requests) == at:
            accept_transfer(forest, caller=BOB, transfer_id=offer.transfer_id)

    wire.before(accept)
    shown = one_page(process, by=caller, mode=Mode.ROOTS).rows[-1]

    assert named([shown]) == [1]
    assert (shown.level, shown.owner) in ((before, "ann"), (after, "bob"))


def test_a_member_who_is_removed_while_a_list_is_read_sees_nothing_of_later_trees(
    store: Store, table: Table
) -> None:
    """Rows are read ahead of their trees. What is written after the removal stays hidden."""
    for number in range(1, 91):
        plant_tree(store, number)
        store.add_member(conversation(number), "bob", READER)
    process = store.process()
    wire = Wire.of(process)

    def remove_then_say(request: Request) -> None:
        if [r.operation for r in wire.requests].count("BatchGetItem") == 2 and not removed:
            removed.append(request)
            remove_membership(table, caller=ANN, conversation_id=conversation(5), user_id="bob")
            update_conversation(
                table,
                caller=ANN,
                conversation_id=conversation(5),
                change=Patch({"title": "Secret 005"}),
            )

    removed: list[Request] = []
    wire.before(remove_then_say)

    assert one_page(process, by=BOB, query="secret").rows == []
    assert removed


def test_a_row_of_an_earlier_version_tells_no_level_so_the_membership_is_read(
    forest: Table, store: Store
) -> None:
    for number, level in ((1, READER), (3, MANAGER)):
        store.add_member(conversation(number), "bob", level)
        made_at = ids.timestamp(START_MS + number * HOUR_MS)
        store.put(items.key_of(keys.user_tree("bob", made_at, conversation(number), is_child=False)))
    wire = Wire.of(forest)

    assert [one.level for one in walk(forest, by=BOB)] == [MANAGER, READER]
    assert wire.operations == ["Query", "BatchGetItem"]

    store.delete(keys.member(conversation(3), "bob"))
    assert named(walk(forest, by=BOB)) == [1]


@pytest.mark.failure("stale-list-row")
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("limit", [1, 20])
def test_a_deleted_tree_is_not_listed_although_rows_are_left(
    forest: Table, store: Store, mode: Mode, limit: int
) -> None:
    """A row that does not agree with its tree has no effect."""
    created_at = ids.timestamp(START_MS + 3 * HOUR_MS)
    stale = store.contents()[keys.user_tree("ann", created_at, conversation(3), is_child=False)]
    store.mark_deleted(conversation(2))
    store.remove_tree(conversation(3))
    store.put(stale)

    assert named(walk(forest, mode=mode, limit=limit)) == [5, 1]


def test_a_conversation_with_missing_items_is_not_listed(forest: Table, store: Store) -> None:
    group_id = conversation(2)
    store.delete(keys.head(group_id, conversation(21)), keys.conversation(group_id, conversation(22)))

    assert named(walk(forest, mode=Mode.ALL)) == [5, 3, 20, 2, 1]


# Between two pages


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_changes_between_pages_make_no_gap_and_no_duplicate(
    forest: Table, store: Store, mode: Mode, limit: int
) -> None:
    expected = LISTS[mode, Ancestry.ROOTS]
    found: list[int] = []
    after: ListPlace | None = None
    for step in itertools.count(50):
        page = one_page(forest, mode=mode, limit=limit, after=after)
        found += named(page.rows)
        after = page.resume
        if after is None:
            break
        plant_tree(store, step)
        fork(forest, conversation(2), conversation(step + 100), title="new")
        fork(forest, conversation(3), conversation(step + 200), title="new")

    old = [number for number in found if number < 50]
    assert sorted(set(found)) == sorted(found)
    assert old == [number for number in expected if number in old]
    if mode is not Mode.LATEST_FORK:  # In that mode a newer fork may replace its tree.
        assert old == expected


def test_a_tree_that_is_deleted_between_pages_does_not_end_the_list(forest: Table, store: Store) -> None:
    first = one_page(forest, mode=Mode.ALL, limit=3)  # up to the first fork of tree 2
    assert named(first.rows) == [5, 3, 22]
    store.mark_deleted(conversation(2))

    assert named(walk(forest, mode=Mode.ALL, after=first.resume)) == [1]


def test_a_membership_removed_between_pages_hides_its_tree(forest: Table, store: Store) -> None:
    for number in (1, 2, 3):
        store.add_member(conversation(number), "bob")
    first = one_page(forest, by=BOB, limit=1)
    store.remove_member(conversation(2), "bob")

    assert named(walk(forest, by=BOB, after=first.resume)) == [1]


# Many trees


def test_a_user_of_many_trees_gets_all_of_them_with_pages_of_any_size(store: Store, table: Table) -> None:
    for number in range(1, 2 * TREES_AT_ONCE + 8):
        plant_tree(store, number, child=number % 3 == 0)
    expected = [number for number in range(2 * TREES_AT_ONCE + 7, 0, -1) if number % 3]

    for limit in (7, 20, 200):
        assert named(walk(table, limit=limit)) == expected


def test_a_page_reads_no_more_trees_than_it_has_room_for(store: Store, table: Table) -> None:
    for number in range(1, 60):
        plant_tree(store, number)
    wire = Wire.of(table)

    assert len(one_page(table, limit=5).rows) == 5

    asked = [
        len(r.body["RequestItems"]["forklore"]["Keys"]) for r in wire.requests if "RequestItems" in r.body
    ]
    assert asked == [3 * 5 + 1]  # with the user's pins


def test_children_that_are_not_listed_need_no_requests(store: Store, table: Table) -> None:
    for number in range(1, 70):
        plant_tree(store, number, child=number > 10)
    wire = Wire.of(table)

    assert named(one_page(table, limit=5).rows) == [10, 9, 8, 7, 6]

    asked = [
        len(r.body["RequestItems"]["forklore"]["Keys"]) for r in wire.requests if "RequestItems" in r.body
    ]
    assert (asked, wire.rounds) == ([3 * 5 + 1], 2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("wanted", "others"), [(Ancestry.ROOTS, True), (Ancestry.CHILDREN, False)], ids=["roots", "children"]
)
def test_a_tree_behind_2_000_newer_ones_of_the_other_kind_is_on_the_first_page(
    store: Store, table: Table, wanted: Ancestry, others: bool
) -> None:
    plant_tree(store, 1, child=not others)
    started = StartedBy(conversation(9999), None) if others else None
    for number in range(10, 2_010):
        at = ids.timestamp(START_MS + number * HOUR_MS)
        root = Conversation(conversation(number), conversation(number), at, started_by=started)
        store.put(mine_of(root, "ann"))
    wire = Wire.of(table)

    page = one_page(table, ancestry=wanted)

    assert (named(page.rows), page.resume) == ([1], None)
    assert wire.operations == ["Query", "BatchGetItem"]


# What the user has archived


def plant_archived(store: Store, numbers: Iterable[int], *, planted: bool = True) -> None:
    """Mark trees as archived by Ann. planted: whether the trees are there; else only rows are."""
    for number in numbers:
        root_id, at = conversation(number), ids.timestamp(START_MS + number * HOUR_MS)
        if planted:
            store.change(keys.member(root_id, "ann"), archived={"BOOL": True})
            store.change(keys.user_tree("ann", at, root_id, is_child=False), archived={"BOOL": True})
        else:
            row = mine_of(Conversation(root_id, root_id, at), "ann")
            store.put(row | {"archived": {"BOOL": True}})


@pytest.mark.parametrize("mode", [Mode.LATEST_FORK, Mode.ALL])
@pytest.mark.parametrize("limit", [3, 200])
def test_archived_trees_are_left_out_and_no_page_ends_early_or_misses_one(
    store: Store, table: Table, mode: Mode, limit: int
) -> None:
    for number in range(1, 31):
        plant_tree(store, number)
    left = {29, 20, 8, 1}
    plant_archived(store, {*range(1, 31)} - left)

    def all_of(archived: Archived) -> list[ConversationDetails]:
        return walk(table, mode=mode, limit=limit, archived=archived)

    assert named(all_of(Archived.EXCLUDE)) == sorted(left, reverse=True)
    assert named(all_of(Archived.ONLY)) == [number for number in range(30, 0, -1) if number not in left]
    everything = all_of(Archived.INCLUDE)
    assert named(everything) == [*range(30, 0, -1)]
    assert {number for number, one in zip(named(everything), everything, strict=True) if one.is_archived} == {
        *range(1, 31)
    } - left
    first = one_page(table, mode=mode, limit=limit)
    assert len(first.rows) == min(limit, 4)
    assert (first.resume is None) == (limit == 200)


def test_a_list_of_which_nothing_is_archived_reads_no_more_than_one_of_everything(
    store: Store, table: Table
) -> None:
    for number in range(1, 60):
        plant_tree(store, number)
    wire = Wire.of(table)
    asked = []
    for archived in (Archived.EXCLUDE, Archived.INCLUDE):
        wire.clear()
        one_page(table, limit=5, archived=archived)
        asked.append([request.body for request in wire.requests])

    assert asked[0] == asked[1]


def test_a_page_looks_at_so_many_rows_and_then_has_a_cursor(store: Store, table: Table) -> None:
    plant_tree(store, 1)
    plant_archived(store, range(2, ROWS_MAX + 2), planted=False)
    wire = Wire.of(table)

    first = one_page(table, limit=20)
    assert (first.rows, first.resume is None) == ([], False)
    assert wire.operations == ["Query"] * 6  # each of twice as many rows as the one before it
    second = one_page(table, limit=20, after=first.resume)
    assert (named(second.rows), second.resume) == ([1], None)


def test_a_full_page_before_many_archived_trees_goes_on_behind_them(store: Store, table: Table) -> None:
    plant_tree(store, 1)
    plant_archived(store, range(2, ROWS_MAX + 2), planted=False)
    plant_tree(store, ROWS_MAX + 2)

    first = one_page(table, limit=1)
    assert named(first.rows) == [ROWS_MAX + 2]
    assert named(walk(table, limit=1, after=first.resume)) == [1]


def test_a_tree_that_is_archived_between_pages_does_not_end_the_list(forest: Table, store: Store) -> None:
    first = one_page(forest, mode=Mode.ALL, limit=3)  # up to the first fork of tree 2
    plant_archived(store, [2])

    assert named(walk(forest, mode=Mode.ALL, after=first.resume)) == [1]


@pytest.mark.parametrize("of_user", ["ann", None])
def test_for_an_auditor_nothing_is_archived(forest: Table, store: Store, of_user: str | None) -> None:
    plant_archived(store, [1, 3])
    auditor = Caller("ann", bypasses_membership=True)

    shown = walk(forest, by=auditor, of_user=of_user, ancestry=Ancestry.ALL)

    assert named(shown) == [5, 4, 3, 21, 1]
    assert not any(one.is_archived for one in shown)


def test_roots_and_children_are_one_list_when_both_are_asked_for(store: Store, table: Table) -> None:
    for number in range(1, 3 * TREES_AT_ONCE):
        plant_tree(store, number, child=number % 5 == 0, hour=number // 2)
    wire = Wire.of(table)

    for limit in (1, 7, 20, 200):
        newest_first = sorted(range(1, 3 * TREES_AT_ONCE), key=lambda n: (n // 2, n), reverse=True)
        assert named(walk(table, ancestry=Ancestry.ALL, limit=limit)) == newest_first

    wire.clear()
    one_page(table, ancestry=Ancestry.ALL)
    assert wire.rounds == 2


# Small trees


@pytest.mark.parametrize(
    ("mode", "forks", "others", "metadata", "operations"),
    [
        (Mode.LATEST_FORK, NEWEST - 1, 0, 0, ["Query", "BatchGetItem", "Query"]),
        (Mode.ALL, NEWEST - 1, 0, 0, ["Query", "BatchGetItem", "Query"]),
        (Mode.LATEST_FORK, 1, SMALL_ITEMS - 5, 0, ["Query", "BatchGetItem", "Query"]),
        (Mode.LATEST_FORK, 1, SMALL_ITEMS - 4, 0, ["Query", "BatchGetItem", *["Query"] * 2, "BatchGetItem"]),
        (Mode.ALL, 1, SMALL_ITEMS - 4, 0, ["Query", "BatchGetItem", *["Query"] * 2, "BatchGetItem"]),
        (Mode.LATEST_FORK, 1, 0, SMALL_BYTES, ["Query", "BatchGetItem", "Query", "BatchGetItem"]),
        (Mode.ALL, 1, 0, SMALL_BYTES, ["Query", "BatchGetItem", "Query"]),
    ],
)
def test_a_tree_is_read_whole_with_one_query_if_it_is_small(
    store: Store, table: Table, mode: Mode, forks: int, others: int, metadata: int, operations: list[str]
) -> None:
    """others: items between CONV and HEAD, beside GROUP. metadata: bytes of the root's."""
    root = plant_tree(store, 1)
    made = widen(store, 1, forks)
    held = items.text(f'{{"a":"{"x" * metadata}"}}')
    store.change(keys.conversation(root, root), metadata=held)
    store.put(*(items.key_of(keys.context(root, root, f"client {at}")) for at in range(others)))
    wire = Wire.of(table)

    shown = [one.conversation.conversation_id for one in one_page(table, mode=mode, limit=40).rows]

    assert shown == ([*reversed(made), root] if mode is Mode.ALL else made[:1])
    assert wire.operations == operations


# Wide trees


def widen(store: Store, number: int, forks: int, *, counted: int | None = None) -> list[str]:
    """Put forks into a tree, 1 ms apart, and return their ids.

    A newer fork was updated less recently. counted: how many GROUP counts, if not `forks`.
    """
    group_id = conversation(number)
    made = []
    for at in range(1, forks + 1):
        made_at = START_MS + number * HOUR_MS + at
        fork_id = conversation((number << 16) + at)
        one = Conversation(
            fork_id, group_id, ids.timestamp(made_at), described=Description(title=f"Fork {at}")
        )
        head = Head("ann", ids.timestamp(START_MS + 100 * HOUR_MS - at))
        store.put(items.tree_item(one), items.conversation_item(one), items.head_item(one, head))
        made.append(fork_id)
    store.change(
        keys.group(group_id), conversations=items.number(1 + (forks if counted is None else counted))
    )
    return made


class Cost:
    """Counts on the wire: requests, rounds, and items that are read or asked for."""

    def __init__(self, table: Table) -> None:
        self._wire = Wire.of(table)
        self._read = 0
        self._wire.before(self._count_keys)
        self._wire.after(self._count_items)

    def _count_keys(self, request: Request) -> None:
        for asked in request.body.get("RequestItems", {}).values():
            self._read += len(asked["Keys"])

    def _count_items(self, request: Request, answer: dict[str, Any]) -> None:
        self._read += len(answer["Items"]) if request.operation == "Query" else 0

    @property
    def of_all(self) -> tuple[int, int, int]:
        return len(self._wire.requests), self._wire.rounds, self._read


@pytest.mark.long
@pytest.mark.parametrize(
    "by", [ANN, ANN._replace(user_id="adam", bypasses_membership=True)], ids=["user", "admin"]
)
@pytest.mark.parametrize("query", [None, "fork"])
def test_the_reads_of_a_list_do_not_grow_with_the_tree(store: Store, by: Caller, query: str | None) -> None:
    """A user can be added to any tree without being asked, so a list may have very wide trees."""

    def cost() -> tuple[int, int, int]:
        process = store.process()
        cost = Cost(process)
        assert len(one_page(process, by=by, query=query).rows) == 4
        return cost.of_all

    for number in range(1, 5):
        plant_tree(store, number)
        widen(store, number, HEADS_MAX)
    of_100_forks = cost()
    for number in range(1, 5):
        widen(store, number, 2 * HEADS_MAX, counted=9_999)

    assert cost() == of_100_forks
    _, rounds, read = of_100_forks
    assert rounds <= 5
    assert read <= 4 + 4 * (4 + 2 * NEWEST + 1) + 8


@pytest.mark.parametrize(
    ("forks", "latest"),
    [(NEWEST, 1), (HEADS_MAX - 1, 1), (HEADS_MAX, HEADS_MAX - NEWEST + 1)],
)
def test_a_wide_tree_s_latest_is_one_of_its_newest_forks_or_its_root(
    store: Store, table: Table, forks: int, latest: int
) -> None:
    plant_tree(store, 1)
    made = widen(store, 1, forks)

    assert [s.conversation.conversation_id for s in walk(table)] == [made[latest - 1]]

    touch(table, 1)
    assert named(walk(table)) == [1]


@pytest.mark.parametrize("forks", [NEWEST - 1, NEWEST, HEADS_MAX + 9])
def test_a_wide_tree_s_latest_can_also_be_its_current_branch(store: Store, table: Table, forks: int) -> None:
    plant_tree(store, 1)
    made = widen(store, 1, forks)  # The first one was updated last, and is too old to be compared.
    store.put(*(items.pointer_item(Conversation(one, conversation(1), ""), "n") for one in made[:1]))

    promote(table, made[0])

    for mode in (Mode.LATEST_FORK, Mode.CURRENT):
        [shown] = walk(table, mode=mode)
        assert (shown.conversation.conversation_id, shown.is_current) == (made[0], True)


def remove(store: Store, number: int, *, of: int, current: int) -> None:
    """Remove a branch from a tree, as its removal does. current: the current branch after that."""
    group_id, removed = conversation(of), conversation(number)
    group = items.group(store.item(keys.group(group_id)))
    created_at = items.conversation(store.item(keys.conversation(group_id, removed))).created_at
    store.delete(
        keys.head(group_id, removed),
        keys.conversation(group_id, removed),
        keys.tree_row(group_id, created_at, removed),
    )
    store.change(
        keys.group(group_id),
        conversations=items.number(group.conversations - 1),
        version=items.number(group.version + 1),
        current=items.text(conversation(current)),
    )


def test_a_tree_without_its_root_shows_its_current_branch_in_its_place(forest: Table, store: Store) -> None:
    remove(store, 2, of=2, current=22)

    assert named(walk(forest, mode=Mode.ROOTS)) == [5, 3, 22, 1]
    assert named(walk(forest, mode=Mode.CURRENT)) == [5, 3, 22, 1]
    assert named(walk(forest, mode=Mode.LATEST_FORK)) == [5, 3, 21, 1]
    for limit in (1, 2, 20):
        assert named(walk(forest, mode=Mode.ALL, limit=limit)) == [5, 3, 22, 21, 20, 1]


@pytest.mark.long
@pytest.mark.failure("half-visible-transaction")
@pytest.mark.parametrize("at", range(2, 7))
@pytest.mark.parametrize(
    ("mode", "removed", "then"),
    [
        (Mode.CURRENT, 20, [5, 3, 22, 1]),
        (Mode.ROOTS, 2, [5, 3, 22, 1]),
        (Mode.LATEST_FORK, 21, [5, 3, 22, 1]),
        (Mode.ALL, 21, [5, 3, 22, 20, 2, 1]),
    ],
    ids=["current", "roots", "latest-fork", "all"],
)
def test_a_branch_that_is_removed_meanwhile_does_not_hide_its_tree(
    forest: Table, store: Store, mode: Mode, removed: int, then: list[int], at: int
) -> None:
    """at: the request before which it is removed."""
    touch(forest, 22)
    touch(forest, 21)
    before = named(walk(forest, mode=mode))
    process = store.process()
    wire = Wire.of(process)
    wire.before(lambda _: remove(store, removed, of=2, current=22) if len(wire.requests) == at else None)

    assert named(one_page(process, mode=mode).rows) in (before, then)
    assert len(wire.requests) < at or named(walk(forest, mode=mode)) == then


@pytest.mark.parametrize(("mode", "missing"), [(Mode.CURRENT, [4]), (Mode.ROOTS, [])])
def test_a_list_reads_of_a_tree_what_it_shows_and_with_one_query_when_it_was_used(
    store: Store, table: Table, mode: Mode, missing: list[int]
) -> None:
    for number in range(1, 5):
        plant_tree(store, number)
        widen(store, number, HEADS_MAX - 1)
        store.change(keys.group(conversation(number)), current=items.text(conversation((number << 16) + 9)))
    wire = Wire.of(table)

    assert len(one_page(table, mode=mode).rows) == 4

    asked = [len(r.body["RequestItems"]["forklore"]["Keys"]) for r in wire.requests if r.operation != "Query"]
    assert (asked, wire.operations.count("Query")) == ([4 * 3 + 1, *missing], 1 + 4)


@pytest.mark.long
def test_a_page_costs_the_same_for_a_user_of_10_000_trees(store: Store, table: Table) -> None:
    def cost(place: ListPlace | None) -> tuple[list[str], int]:
        """Return the requests for a page after a place, and how many keys or rows they ask for."""
        process = store.process()
        wire = Wire.of(process)
        one_page(process, after=place)
        rows = sum(r.body.get("Limit", 0) for r in wire.requests)
        return [r.operation for r in wire.requests], rows

    def row(number: int) -> Item:
        root_id = conversation(number)
        return mine_of(Conversation(root_id, root_id, ids.timestamp(START_MS + number * HOUR_MS)), "ann")

    for number in [*range(30), *range(5_000, 5_030)]:
        plant_tree(store, number)
    few = cost(None)
    store.put(*(row(number) for number in range(10_000) if number % 5_000 >= 30))
    for number in range(9_970, 10_000):
        plant_tree(store, number)
    middle = ListPlace(ListKey(ids.timestamp(START_MS + 5_030 * HOUR_MS), conversation(5_030)))

    assert cost(None) == cost(middle) == few


def test_a_query_without_a_match_in_a_wide_tree_makes_a_bounded_number_of_requests(
    store: Store, table: Table
) -> None:
    root_id = plant_tree(store, 1)
    forks = [
        Conversation(
            conversation(n),
            root_id,
            ids.timestamp(START_MS + n * HOUR_MS),
            described=Description(title="fork"),
        )
        for n in range(100, 1_000)
    ]
    store.put(*map(items.tree_item, forks), *map(items.conversation_item, forks))
    store.put(*(items.head_item(one, Head("ann", one.created_at)) for one in forks))
    store.change(keys.group(root_id), conversations=items.number(1 + len(forks)))
    wire = Wire.of(table)

    page = one_page(table, mode=Mode.ALL, query="nowhere", limit=1)

    assert (page.rows, page.resume is None) == ([], False)
    assert len(wire.requests) <= 25
    asked = [len(r.body["RequestItems"]["forklore"]["Keys"]) for r in wire.requests if r.operation != "Query"]
    assert sum(asked) <= CONVERSATIONS_MAX + 8  # It reads the titles, and no HEAD without a match.
    assert [s.conversation.described.title for s in walk(table, mode=Mode.ALL, query=titled(1))] == [
        titled(1)
    ]


@pytest.mark.failure("no-time-left")
def test_a_page_at_the_bound_of_trees_is_short_and_has_a_cursor(store: Store, table: Table) -> None:
    """No request does unbounded work."""
    roots = [
        Conversation(conversation(n), conversation(n), ids.timestamp(START_MS + n * HOUR_MS))
        for n in range(1, TREES_MAX + 30)
    ]
    store.put(*(mine_of(root, "ann") for root in roots))  # The trees of these rows are deleted.
    plant_tree(store, 0)

    first = one_page(table)
    assert (first.rows, first.resume is None) == ([], False)
    assert named(walk(table)) == [0]


def short_pages(wire: Wire) -> None:
    """Let every Query return an empty page first, and then pages of two items."""

    def shorten(request: Request, answer: dict[str, Any]) -> None:
        if request.operation == "Query" and len(answer["Items"]) > 2:
            del answer["Items"][2:]
            answer["LastEvaluatedKey"] = {name: answer["Items"][-1][name] for name in ("PK", "SK")}

    wire.after(shorten)


@pytest.mark.failure("misleading-query-page")
def test_pages_of_dynamodb_that_end_early_lose_nothing(forest: Table) -> None:
    short_pages(Wire.of(forest))

    for (mode, ancestry), expected in LISTS.items():
        assert named(walk(forest, mode=mode, ancestry=ancestry, limit=3)) == expected


def test_a_page_is_cut_by_bytes_as_well_as_by_count(store: Store, table: Table) -> None:
    tags = {f"t{at:02}": "😀" * 256 for at in range(50)}  # 150 KB in an answer: 12 bytes for each emoji
    for number in range(1, 41):
        plant_tree(store, number)
        key = keys.conversation(conversation(number), conversation(number))
        store.change(key, tags={"M": items.present(tags)})

    first = one_page(table, limit=40)

    assert 4 / 5 * PAGE_BYTES_MAX < len(first.rows) * 50 * 256 * 12 <= PAGE_BYTES_MAX
    assert named([*first.rows, *walk(table, limit=40, after=first.resume)]) == list(range(40, 0, -1))


def test_a_page_of_forks_is_cut_by_bytes_too(store: Store, table: Table) -> None:
    root = plant_tree(store, 1)
    made = [root, *widen(store, 1, 39)]
    tags = {f"t{at:02}": "😀" * 256 for at in range(50)}  # 150 KB in an answer
    for one in made:
        store.change(keys.conversation(root, one), tags={"M": items.present(tags)})

    first = list_forks(table, caller=ANN, conversation_id=root, after=None, limit=100)
    rest = list_forks(table, caller=ANN, conversation_id=root, after=first.resume, limit=100)

    assert 4 / 5 * PAGE_BYTES_MAX < len(first.conversations) * 50 * 256 * 12 <= PAGE_BYTES_MAX
    assert [one.conversation_id for one, _ in [*first.conversations, *rest.conversations]] == made
    assert rest.resume is None


@pytest.mark.failure("torn-read")
@pytest.mark.parametrize(
    ("mode", "query", "forks"), drawn([*itertools.product(Mode, (None, "t"), (1, NEWEST))], 4)
)
def test_what_is_listed_belongs_to_its_updated_at(
    store: Store, table: Table, mode: Mode, query: str | None, forks: int
) -> None:
    """A conversation is changed in the middle of each batch read, with each of its items early."""
    create(table, title="t")
    for number in range(forks):
        fork(table, ROOT, conversation(50 + number))
    changes = itertools.count(1)

    def change(one: str) -> None:
        asked = Patch({"metadata": json.dumps({"n": next(changes)})})
        update_conversation(store.process(), caller=ANN, conversation_id=one, change=asked)

    newest = conversation(49 + forks)  # has the greatest id, too: it is the latest fork in any case
    for one, early, number in itertools.product((ROOT, newest), ("CONV", "HEAD"), (1, 2)):
        before, late = show(table, one), store.process()
        tear(
            late,
            early=of_kind(early),
            between=functools.partial(change, one),
            number=number,
        )
        listed = one_page(late, mode=mode, query=query, limit=100).rows
        of_it = [
            shown._replace(branches=None, tree_used_at="")
            for shown in listed
            if shown.conversation.conversation_id == one
        ]

        assert all(shown in (before, show(table, one)) for shown in of_it)
        assert len(of_it) == 1 or mode is not Mode.ALL
