"""Lists by last use: what moves a row, in which order trees come, and a walk while rows move."""

from random import Random

import pytest

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.listing import Ancestry, Archived, Filter, ListPlace, Mode, Order
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import MOVES_KEPT_MS, TreeRow
from forklore_service.storage import items
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.people.archiving import archive_conversation
from forklore_service.usecases.people.sharing import share_conversation
from forklore_service.usecases.reading.conversation_lists import (
    ROWS_AT_ONCE,
    TREES_AT_ONCE,
    ListRequest,
    list_conversations,
)
from forklore_service.usecases.reading.list_modes import HEADS_MAX
from forklore_service.usecases.reading.list_orders import COMPARED_AT_TOP, SHOWN_MAX
from forklore_service.usecases.shared.cursors import PageOf
from forklore_service.usecases.shared.loading import ConversationDetails
from forklore_service.usecases.writing.append import sync_context
from forklore_service.usecases.writing.conversations import Patch, update_conversation
from tests.service.usecases.builders import (
    ANN,
    BOB,
    PLANNER,
    ROOT,
    conversation,
    create,
    fork,
    promote,
    say,
    show,
    thought,
)
from tests.support.mailbox import Mailbox
from tests.support.tables import Standing, Store
from tools.harness.wire import Wire

START_S = ids.milliseconds("2026-03-01T09:00:00.000Z") // 1000
MINUTE = 60
TEN = 10 * MINUTE


@pytest.fixture
def clock() -> Standing:
    return Standing(START_S)


@pytest.fixture
def table(store: Store, clock: Standing) -> Table:
    return store.process(clock=clock)


def listed(table: Table, *, by: Caller = ANN, after: str | None = None, **what: object) -> list[str]:
    request = ListRequest(order=Order.USED, after=after, **{"limit": 200, **what})  # type: ignore[arg-type]
    return [
        one.conversation.conversation_id for one in list_conversations(table, caller=by, request=request).rows
    ]


def page(
    table: Table, after: ListPlace | None, limit: int, **what: object
) -> PageOf[ConversationDetails, ListPlace]:
    request = ListRequest(order=Order.USED, after=after, limit=limit, **what)  # type: ignore[arg-type]
    return list_conversations(table, caller=ANN, request=request)


def make(table: Table, clock: Standing, numbers: range, *, apart: int = 1) -> list[str]:
    """Make conversations of Ann, some seconds apart. Return them, oldest first."""
    made = [conversation(number) for number in numbers]
    for one in made:
        create(table, one)
        clock.now_s += apart
    return made


# What stands first


def test_what_was_just_used_stands_first_at_once(table: Table, clock: Standing) -> None:
    first, second, third = make(table, clock, range(1, 4))
    assert listed(table) == [third, second, first]

    say(table, first, "again")
    clock.now_s += 1
    assert listed(table) == [first, third, second]
    say(table, second, "and again")
    assert listed(table) == [second, first, third]
    assert listed(table, limit=1) == [second]


def test_what_is_used_after_days_stands_first_and_a_new_tree_before_it(table: Table, clock: Standing) -> None:
    old, middle = make(table, clock, range(1, 3), apart=MINUTE)
    clock.now_s += 3 * 24 * 3600
    say(table, old, "again")
    clock.now_s += 1
    [new] = make(table, clock, range(3, 4))

    assert listed(table) == [new, old, middle]
    assert listed(table, limit=2, mode=Mode.ALL) == [new, old]


@pytest.mark.parametrize("later_s", [1, TEN])
@pytest.mark.parametrize("mode", [Mode.ROOTS, Mode.CURRENT, Mode.LATEST_FORK])
@pytest.mark.parametrize("use", ["append", "sync", "fork", "promote", "remove"])
def test_each_kind_of_use_moves_the_tree_whatever_the_list_shows_of_it(
    table: Table, clock: Standing, use: str, mode: Mode, later_s: int
) -> None:
    old, new = make(table, clock, range(1, 3))
    twig, third = conversation(9), conversation(10)
    fork(table, old, twig)
    fork(table, old, third)
    promote(table, third)
    clock.now_s += 1
    say(table, new, "x")
    assert listed(table, mode=mode)[0] == new
    clock.now_s += later_s
    at = table.now()
    match use:
        case "append":
            say(table, twig, "x")
        case "sync":
            sync_context(table, caller=PLANNER, conversation_id=twig, draft=thought("memory"))
        case "fork":
            fork(table, old, conversation(11))
        case "promote":
            promote(table, twig)
        case _:
            remove_branch(table, Mailbox().queue, caller=ANN, conversation_id=twig)

    first, second = list_conversations(
        table, caller=ANN, request=ListRequest(mode=mode, order=Order.USED)
    ).rows
    assert second.conversation.conversation_id == new
    assert ids.milliseconds(first.last_used_at) // 1000 == ids.milliseconds(at) // 1000 == clock.now_s
    assert listed(table, mode=mode, after=first.conversation.conversation_id) == [new]


def test_a_tree_that_no_list_reads_whole_is_used_by_its_root_its_current_and_its_newest_branches(
    table: Table, clock: Standing
) -> None:
    old, new = make(table, clock, range(1, 3))
    forks = [conversation(100 + number) for number in range(HEADS_MAX)]
    for one in forks:
        fork(table, old, one)
        clock.now_s += 1
    promote(table, forks[1])
    for one, rises in [(old, True), (forks[1], True), (forks[-1], True), (forks[0], False)]:
        clock.now_s += 1
        say(table, new, "x")
        clock.now_s += 1
        say(table, one, "x")

        assert listed(table, mode=Mode.ROOTS) == ([old, new] if rises else [new, old])
    clock.now_s += TEN
    say(table, forks[0], "x")
    assert listed(table, mode=Mode.ROOTS) == [old, new]


def test_with_all_its_branches_a_list_tells_of_each_when_it_was_used(table: Table, clock: Standing) -> None:
    create(table)
    fork(table, ROOT, conversation(2))
    clock.now_s += TEN
    [entry] = say(table, conversation(2), "x")

    rows = page(table, None, 10, mode=Mode.ALL).rows
    assert [one.last_used_at for one in rows] == [ids.created_at(entry), rows[1].conversation.created_at]


def test_a_fork_by_a_slower_clock_makes_a_tree_no_older(store: Store, table: Table, clock: Standing) -> None:
    create(table)
    clock.now_s += MINUTE
    newest = fork(table, ROOT, conversation(2)).conversation.created_at
    clock.now_s -= MINUTE // 2
    fork(store.process(clock=clock), ROOT, conversation(3))

    [tree] = page(table, None, 10, mode=Mode.CURRENT).rows
    assert tree.last_used_at == newest


def test_reading_and_a_new_title_move_nothing(table: Table, clock: Standing) -> None:
    old, new = make(table, clock, range(1, 3))
    clock.now_s += TEN
    show(table, old)
    update_conversation(table, caller=ANN, conversation_id=old, change=Patch({"title": "new"}))

    assert listed(table) == [new, old]


def test_what_the_answer_says_is_the_last_entry_or_the_creation(table: Table, clock: Standing) -> None:
    create(table)
    made = show(table)
    assert made.last_used_at == made.conversation.created_at
    clock.now_s += 5
    [entry] = say(table, ROOT, "x")

    assert show(table).last_used_at == ids.created_at(entry)


def test_what_was_just_shared_stands_first_in_the_list_of_the_new_member(
    table: Table, clock: Standing
) -> None:
    [shared] = make(table, clock, range(1, 2))
    clock.now_s += 3 * 24 * 3600
    own = conversation(2)
    create(table, own, by=BOB)
    clock.now_s += TEN
    share_conversation(
        table, caller=ANN, conversation_id=shared, user_id=BOB.user_id, level=AccessLevel.READER
    )
    clock.now_s += TEN

    assert listed(table, by=BOB) == [shared, own]


# Whose rows move, and how often


def row(store: Store, table: Table, user: str) -> TreeRow:
    key = keys.user_tree(user, show(table).conversation.created_at, ROOT, is_child=False)
    return items.tree_row(store.item(key))


def test_the_rows_of_all_members_move_once_in_ten_minutes(
    store: Store, table: Table, clock: Standing
) -> None:
    create(table)
    share_conversation(table, caller=ANN, conversation_id=ROOT, user_id="bob", level=AccessLevel.WRITER)
    say(table, ROOT, "at once")
    assert row(store, table, "ann").moves == ()
    clock.now_s += TEN
    wire = Wire.of(table)
    for _ in range(3):
        say(table, ROOT, "later", by=BOB)
        clock.now_s += MINUTE

    assert wire.operations.count("UpdateItem") == 2
    assert len(wire.operations) == 3 + 3 + 2
    moved = ids.timestamp((START_S + TEN) * 1000)
    assert row(store, table, "ann").moves == row(store, table, "bob").moves == (moved,)


def test_a_process_that_knows_nothing_of_the_move_does_not_repeat_it(
    store: Store, table: Table, clock: Standing
) -> None:
    create(table)
    fork(table, ROOT, conversation(2))
    clock.now_s += TEN
    say(table, ROOT, "x")
    clock.now_s += 1
    say(store.process(clock=clock), conversation(2), "y")

    assert len(row(store, table, "ann").moves) == 1


def test_a_row_forgets_its_old_moves_but_the_last_of_them(
    store: Store, table: Table, clock: Standing
) -> None:
    create(table)
    for hours in (1, 5, 3, 4):
        clock.now_s += hours * 3600
        say(table, ROOT, "x")

    hours_ago = [
        (clock.now_s * 1000 - ids.milliseconds(at)) // 3_600_000 for at in row(store, table, "ann").moves
    ]
    assert hours_ago == [12, 7, 4, 0]
    assert MOVES_KEPT_MS == 8 * 3_600_000


def test_a_removed_row_does_not_come_back(store: Store, table: Table, clock: Standing) -> None:
    create(table)
    made_at = show(table).conversation.created_at
    store.delete(keys.user_tree("ann", made_at, ROOT, is_child=False))
    clock.now_s += TEN
    say(table, ROOT, "x")

    assert keys.user_tree("ann", made_at, ROOT, is_child=False) not in store.contents()


# Filters


def test_archived_and_started_trees_have_the_same_order(table: Table, clock: Standing) -> None:
    made = make(table, clock, range(1, 5))
    for one in made[:2]:
        archive_conversation(table, caller=ANN, conversation_id=one, is_archived=True)
    clock.now_s += TEN
    say(table, made[0], "x")
    say(table, made[2], "x")

    assert listed(table, archived=Archived.ONLY) == [made[0], made[1]]
    assert listed(table) == [made[2], made[3]]
    assert listed(table, ancestry=Ancestry.CHILDREN) == []


def test_a_full_page_with_a_filter_reads_no_more_trees(table: Table, clock: Standing) -> None:
    made = [conversation(number) for number in range(1, 2 * TREES_AT_ONCE + 2)]
    for one in made:
        create(table, one, title="A trip")
        clock.now_s += TEN
    say(table, made[0], "x")
    wire = Wire.of(table)
    shown: list[str] = []
    place: ListPlace | None = None
    while not shown or place is not None:
        before = wire.operations.count("BatchGetItem")
        one_page = page(table, place, 5, wanted=Filter(query="trip"))
        assert wire.operations.count("BatchGetItem") - before == 1
        shown += [row.conversation.conversation_id for row in one_page.rows]
        place = one_page.resume

    assert shown == [made[0], *made[:0:-1]]


# Walks


def test_more_trees_than_a_page_reads_in_ten_minutes_are_all_shown_once(
    table: Table, clock: Standing
) -> None:
    """The row that stands first was used before all others, so most pages leave it to the next."""
    made = make(table, clock, range(1, 3 * COMPARED_AT_TOP // 2))
    for tree in made[:-1]:
        say(table, tree, "x")
    clock.now_s += MINUTE

    shown: list[str] = []
    place: ListPlace | None = None
    while True:
        one = page(table, place, 2)
        shown += [row.conversation.conversation_id for row in one.rows]
        place = one.resume
        if place is None:
            break
        assert place.walk is not None
        assert len(place.walk.shown) <= SHOWN_MAX + 2
    assert sorted(shown) == sorted(made)


def test_a_page_reads_once_what_was_used_since_the_walk_began(table: Table, clock: Standing) -> None:
    made = make(table, clock, range(1, 2 * ROWS_AT_ONCE + 2), apart=TEN)
    for one in (made[0], made[-1]):
        update_conversation(table, caller=ANN, conversation_id=one, change=Patch({"title": "A trip"}))
    place = page(table, None, 1, wanted=Filter(query="trip")).resume
    for one in made[:20]:
        say(table, one, "x")
    clock.now_s += TEN
    counts: list[int] = []
    Wire.of(table).after(lambda request, answer: counts.append(answer.get("Count", 0)))

    assert [
        one.conversation.conversation_id for one in page(table, place, 1, wanted=Filter(query="trip")).rows
    ] == [made[0]]
    assert sum(counts) == len(made) - 1 + 20


def test_of_a_hundred_trees_of_ten_minutes_the_one_that_was_just_used_stands_first(
    table: Table, clock: Standing
) -> None:
    made = make(table, clock, range(1, COMPARED_AT_TOP + 1))
    say(table, made[0], "x")
    clock.now_s += TEN

    assert listed(table, limit=1) == [made[0]]
    assert listed(table, limit=30) == [made[0], *made[:-30:-1]]


def test_a_list_goes_on_after_a_conversation(table: Table, clock: Standing) -> None:
    made = make(table, clock, range(1, 6), apart=TEN)
    say(table, made[1], "x")
    clock.now_s += 1
    say(table, made[3], "x")
    order = listed(table)
    assert order == [made[3], made[1], made[4], made[2], made[0]]

    for at, one in enumerate(order):
        assert listed(table, after=one) == order[at + 1 :]


def test_every_order_is_exact(store: Store) -> None:
    random, clock = Random(1), Standing(START_S)
    table = store.process(clock=clock)
    made = make(table, clock, range(1, 12))
    used = {one: show(table, one).last_used_at for one in made}
    branches = {one: [one] for one in made}
    for number in range(40):
        clock.now_s += random.choice((1, 30, 5 * MINUTE))
        one = random.choice(made)
        if random.random() < 0.3:
            branches[one].append(conversation(1000 + number))
            fork(table, one, branches[one][-1])
            used[one] = show(table, branches[one][-1]).conversation.created_at
        else:
            used[one] = ids.created_at(say(table, random.choice(branches[one]), "x")[0])
        expected = sorted(made, key=lambda one: used[one], reverse=True)

        assert listed(table, mode=Mode.ROOTS, limit=random.choice((1, 3, 200)))[:1] == expected[:1]
        for mode in (Mode.ROOTS, Mode.CURRENT, Mode.LATEST_FORK):
            rows = page(table, None, 200, mode=mode).rows
            assert [one.conversation.group_id for one in rows] == expected
            assert [one.last_used_at for one in rows] == sorted(used.values(), reverse=True)
