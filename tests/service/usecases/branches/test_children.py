import time
from typing import Any

import pytest

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.listing import Ancestry, Mode
from forklore_service.domain.model import Caller, Entry, StartedBy
from forklore_service.domain.tree import Member, State
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    ForkloreError,
    NotFoundError,
    UnavailableError,
    ValidationError,
)
from forklore_service.limits import PAGE_BYTES_MAX
from forklore_service.storage import items
from forklore_service.storage.items import number
from forklore_service.storage.table import Table
from forklore_service.usecases.background.sweeper import sweep
from forklore_service.usecases.branches import children
from forklore_service.usecases.people.archiving import archive_conversation
from forklore_service.usecases.reading import entries
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.writing.append import append_entries
from tests.service.usecases.builders import (
    ANN,
    BOB,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    append,
    conversation,
    create,
    fork,
    read,
    said,
    say,
    show,
    thought,
)
from tests.service.usecases.members import (
    MANAGER,
    READER,
    WRITER,
    Killed,
    accept,
    assert_settled,
    dies,
    listed,
    meanwhile,
    members,
    offer,
    remove,
    share,
    update,
)
from tests.support.mailbox import Mailbox
from tests.support.samples import drawn
from tests.support.tables import Store, Ticking, WrongClock
from tests.support.torn import tear
from tools.harness.wire import Wire

CHILD = conversation(77)


def start(
    table: Table,
    *drafts: Draft | str,
    child_key: str = CHILD,
    of: str = ROOT,
    at: str | None = None,
    by: Caller = ANN,
    idempotency_key: IdempotencyKey | None = None,
    **more: Any,
) -> list[Entry]:
    """Start a child with a first entry, by default `x`. at: the entry that starts it."""
    drafts = drafts or ("x",)
    request = Append(
        child_key,
        [said(draft) if isinstance(draft, str) else draft for draft in drafts],
        start=StartedBy(of, None if at is None else EntryId(at)),
        idempotency_key=idempotency_key,
        **more,
    )
    return append_entries(table, caller=by, request=request)


def kids(
    table: Table, of: str = ROOT, *, by: Caller = ANN, limit: int = 200, started_by: str | None = None
) -> list[str]:
    """Return the ids of the children, read page by page."""
    found: list[str] = []
    place: ListKey | None = None
    while True:
        page = children.list_children(
            table,
            caller=by,
            conversation_id=of,
            after=place,
            limit=limit,
            started_by=started_by,
        )
        assert len(page.rows) <= limit
        found += [shown.conversation.conversation_id for shown in page.rows]
        place = page.resume
        if place is None:
            return found


def plant_members(store: Store, count: int, level: AccessLevel = READER) -> None:
    """Give the root this many members: those that it has, and `user 0`, `user 1`, ..."""
    group = items.group(store.item(keys.group(ROOT)))
    new = [Member(f"user {at}", level, group.created_at) for at in range(count - group.members)]
    mine = [
        items.user_tree_item(ROOT, one.user_id, one.level, created_at=group.created_at, is_child=False)
        for one in new
    ]
    store.put(*(items.member_item(ROOT, one) for one in new), *mine)
    store.change(keys.group(ROOT), members=number(count))


@pytest.fixture
def parent(store: Store) -> Table:
    """A root of Ann with a fork. Bob is a writer, and Eve is a reader."""
    table = store.process(clock=Ticking())
    say(table, ROOT, "a", "b")
    fork(table)
    share(table, "bob", WRITER)
    share(table, "eve", READER)
    return table


each_request = pytest.mark.parametrize(
    ("count", "nth"), drawn([*((3, nth) for nth in range(1, 5)), *((60, nth) for nth in range(2, 9))], 5)
)
"""Each request of a creation with few and with many members, and one request more."""

# The properties of a child


@pytest.mark.parametrize("by", [ANN, BOB], ids=["owner", "writer"])
@pytest.mark.parametrize("has_entry", [True, False])
def test_a_child_is_a_tree_of_its_own_with_its_parents_owner_and_members(
    store: Store, parent: Table, by: Caller, has_entry: bool
) -> None:
    at = show(parent).head.last if has_entry else None
    [entry] = start(parent, said("Do this", agent_id="helper"), of=FORK, at=at, by=by)

    shown = show(parent, CHILD)
    made = shown.conversation
    assert (made.group_id, made.started_by, made.fork_point) == (CHILD, StartedBy(FORK, at), None)
    assert (made.described.title, made.agent_id, made.client_id) == ("Do this", "helper", by.client_id)
    assert (shown.owner, shown.head.owner, shown.level) == ("ann", "ann", "owner")
    assert members(parent, CHILD) == {"ann": "owner", "bob": "writer", "eve": "reader"}
    assert (entry.user_id, entry.conversation_id) == (by.user_id, CHILD)
    assert read(parent, CHILD) == ["Do this"]
    assert made.created_at == ids.created_at(entry.entry_id)
    assert shown.head.metrics.entries == 1
    for member in (ANN, BOB, EVE):
        assert CHILD in listed(store.process(), member)
        assert kids(parent, FORK, by=member) == [CHILD]
    assert kids(parent, ROOT) == []
    say(parent, CHILD, "more", by=BOB)
    assert read(parent, ROOT) == ["a", "b"]
    assert_settled(store)


def test_an_unknown_or_deleted_parent_is_404(store: Store, parent: Table) -> None:
    for of in (OTHER, CHILD, "x", "", ROOT.upper()[:-1] + "A"):
        with store.refuses(NotFoundError):
            start(parent, of=of)
    store.mark_deleted(ROOT)
    for of in (ROOT, FORK):
        with store.refuses(NotFoundError):
            start(parent, of=of)
    store.remove_tree(ROOT)
    with store.refuses(NotFoundError):
        start(parent)


def test_an_entry_that_the_parent_does_not_show_cannot_start_a_child(store: Store, parent: Table) -> None:
    first, last = (entry.entry_id for entry in entries_of(parent))
    fork(parent, ROOT, TWIG, last)
    [own] = say(parent, TWIG, "twig's")
    [foreign] = say(parent, OTHER, "of another tree")

    for of, at in [
        *((ROOT, at) for at in (own, foreign, ids.fresh_id(1, 1), "x", "", ROOT, "#" * 900)),
        *((TWIG, at) for at in (last, foreign)),
    ]:
        with store.refuses(ValidationError):
            start(parent, of=of, at=at)
    start(parent, of=TWIG, at=first)
    assert show(parent, CHILD).conversation.started_by == StartedBy(TWIG, first)


def entries_of(table: Table) -> list[Entry]:
    request = entries.ListEntriesRequest(ROOT, entries.PageStart(), 50)
    return entries.list_entries(table, caller=ANN, request=request).entries


def test_a_context_entry_may_start_a_child(parent: Table) -> None:
    [noted] = append(parent, ROOT, thought("c"), by=PLANNER)
    start(parent, at=noted.entry_id)
    assert show(parent, CHILD).conversation.started_by == StartedBy(ROOT, noted.entry_id)


@pytest.mark.parametrize("knows", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize(("of", "at"), [(ROOT, None), (OTHER, None), ("x", "y"), (TWIG, "x")])
def test_appending_with_child_fields_to_a_conversation_that_is_no_child_is_refused(
    store: Store, parent: Table, knows: bool, of: str, at: str | None
) -> None:
    create(parent, CHILD)
    with store.refuses(ConflictError):
        start(parent if knows else store.process(), of=of, at=at)

    assert show(parent, CHILD).conversation.started_by is None
    assert (read(parent, CHILD), kids(parent)) == ([], [])
    assert_settled(store)


@pytest.mark.parametrize("knows", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("with_entry", [True, False], ids=["by an entry", "by no entry"])
def test_appending_to_a_child_accepts_only_its_own_child_fields(
    store: Store, parent: Table, knows: bool, with_entry: bool
) -> None:
    [one, two] = say(parent, ROOT, "one", "two")
    at = one if with_entry else None
    start(parent, at=at)
    mine = parent if knows else store.process()

    start(mine, "y", at=at)
    for of, other in [(ROOT, two), (ROOT, None if with_entry else one), (OTHER, at)]:
        with store.refuses(ConflictError):
            start(mine, "z", of=of, at=other)

    assert (read(parent, CHILD), kids(parent)) == (["x", "y"], [CHILD])


def test_if_match_fails_for_a_new_child(store: Store, parent: Table) -> None:
    with store.refuses(ConflictError):
        start(parent, if_match=show(parent).head.last)


def test_an_id_of_somebody_else_is_403_and_a_deleted_one_404(store: Store, parent: Table) -> None:
    create(parent, CHILD, by=Caller("nobody"))
    with store.refuses(ForbiddenError):
        start(parent)
    store.remove_tree(CHILD)
    with store.refuses(NotFoundError):
        start(parent)


def test_later_changes_that_keep_children_affect_only_one_of_the_two_trees(
    store: Store, parent: Table
) -> None:
    start(parent)
    remove(parent, "bob", keep=True)
    share(parent, "dan", MANAGER)
    update(parent, "eve", READER, of=CHILD)
    update(parent, "eve", MANAGER, of=CHILD)
    accept(parent, offer(parent, "eve"))

    assert members(parent) == {"ann": "manager", "eve": "owner", "dan": "manager"}
    assert members(parent, CHILD) == {"ann": "owner", "bob": "writer", "eve": "manager"}
    start(parent, child_key=OTHER, by=Caller("dan"))
    assert show(parent, OTHER).owner == "eve"
    assert members(parent, OTHER) == members(parent)
    assert_settled(store)


def test_children_are_listed_as_children_and_so_are_their_forks(parent: Table) -> None:
    start(parent)
    fork(parent, CHILD, TWIG)
    start(parent, child_key=OTHER, of=TWIG)

    for by in (ANN, BOB):
        assert listed(parent, by, ancestry=Ancestry.CHILDREN) == {CHILD, TWIG, OTHER}
        assert listed(parent, by, ancestry=Ancestry.ROOTS) == {ROOT, FORK}
        assert listed(parent, by, ancestry=Ancestry.CHILDREN, mode=Mode.ROOTS) == {CHILD, OTHER}
    assert (kids(parent), kids(parent, CHILD), kids(parent, TWIG)) == ([CHILD], [], [OTHER])


# The list


@pytest.mark.parametrize("limit", [1, 2, 3, 200])
def test_children_are_listed_oldest_first_and_without_those_the_caller_may_not_see(
    store: Store, parent: Table, limit: int
) -> None:
    made = [conversation(number) for number in (90, 85, 95, 80, 99, 70, 71)]
    for child_key in made:
        start(parent, child_key=child_key)
    remove(parent, "bob", of=made[1])
    store.mark_deleted(made[2])
    store.remove_tree(made[3])
    remove(parent, "bob", of=made[6])

    assert kids(parent, limit=limit) == [made[0], made[1], made[4], made[5], made[6]]
    assert kids(parent, by=BOB, limit=limit) == [made[0], made[4], made[5]]
    remove(parent, "bob")
    with store.refuses(ForbiddenError):
        kids(parent, by=BOB)


@pytest.mark.parametrize("lies_between", [0, 3], ids=["alone", "others between"])
def test_levels_come_from_the_callers_rows_or_where_these_lie_apart_from_memberships(
    parent: Table, lies_between: int
) -> None:
    create(parent, OTHER)
    made = [conversation(at) for at in range(101, 106)]
    start(parent, child_key=made[0])
    for at in range(lies_between):
        start(parent, of=OTHER, child_key=conversation(90 + at))
    for child_id in made[1:]:
        start(parent, child_key=child_id)
    archived = {made[0], made[4]}
    for child_id in archived:
        archive_conversation(parent, caller=ANN, conversation_id=child_id, is_archived=True)
    wire = Wire.of(parent)

    page = children.list_children(parent, caller=ANN, conversation_id=ROOT, after=None, limit=20)

    assert [(one.conversation.conversation_id, one.level, one.is_archived) for one in page.rows] == [
        (child_id, AccessLevel.OWNER, child_id in archived) for child_id in made
    ]
    asked = [one for request in wire.requests for one in request.body.get("RequestItems", {}).values()]
    read = [key["SK"]["S"] for one in asked for key in one["Keys"]]
    assert read.count("MEM#ann") == lies_between  # so many rows of the other tree come first
    assert wire.rounds == (4 if lies_between else 3)


def test_a_member_who_is_removed_during_a_long_page_sees_nothing_that_is_read_later(
    store: Store, parent: Table
) -> None:
    made = [conversation(at) for at in range(101, 101 + children.CHILDREN_AT_ONCE + 5)]
    for child_id in made:
        start(parent, child_key=child_id)

    def remove_eve() -> None:
        remove(elsewhere, "eve")
        say(elsewhere, made[-1], "secret")

    reading, elsewhere = store.process(), parent
    show(reading, by=EVE)
    Wire.of(reading).just_before("BatchGetItem", remove_eve, nth=2)

    page = children.list_children(reading, caller=EVE, conversation_id=ROOT, after=None, limit=200)

    assert {one.conversation.conversation_id for one in page.rows} <= {*made[: children.CHILDREN_AT_ONCE]}


@pytest.mark.parametrize("nth", [2, 3], ids=["the trees", "the memberships"])
@pytest.mark.parametrize("by", [ANN, BOB])
def test_a_child_that_is_given_away_during_a_page_has_one_owner_in_it(
    store: Store, parent: Table, by: Caller, nth: int
) -> None:
    made = [conversation(at) for at in range(101, 103)]
    create(parent, OTHER)
    start(parent, child_key=made[0])
    start(parent, of=OTHER, child_key=conversation(90))
    share(parent, "bob", of=conversation(90))
    start(parent, child_key=made[1])
    offered, reading = offer(parent, of=made[1]), store.process()
    show(reading, by=by)
    Wire.of(reading).just_before("BatchGetItem", lambda: accept(parent, offered), nth=nth)

    page = children.list_children(reading, caller=by, conversation_id=ROOT, after=None, limit=20)

    last = page.rows[-1]
    assert (last.conversation.conversation_id, last.owner) == (made[1], "bob")
    assert last.level is (AccessLevel.OWNER if by == BOB else AccessLevel.MANAGER)


def test_a_list_without_children_reads_no_rows_of_the_caller(parent: Table) -> None:
    for at in range(3):
        start(parent, child_key=conversation(90 + at))
    wire = Wire.of(parent)
    wire.before(lambda _: time.sleep(0.02))  # So a read that nobody waits for is sent, too.

    assert kids(parent, FORK) == []

    assert wire.operations == ["BatchGetItem", "Query"]


@pytest.mark.parametrize("limit", [1, 2, 3, 200])
def test_the_children_of_one_entry_can_be_listed_alone(store: Store, parent: Table, limit: int) -> None:
    first, second = say(parent, ROOT, "one", "two")
    starting = [first, None, second, first, second, None, first]
    made = [conversation(number) for number in range(90, 90 + len(starting))]
    for child_key, at in zip(made, starting, strict=True):
        start(parent, child_key=child_key, at=at)

    for at in (first, second):
        expected = [one for one, by in zip(made, starting, strict=True) if by == at]
        assert kids(parent, limit=limit, started_by=at) == expected
    for nobody in (ROOT, "x", ""):
        assert kids(parent, limit=limit, started_by=nobody) == []


@pytest.mark.failure("no-time-left")
@pytest.mark.parametrize("started_by", [None, "an entry"])
def test_a_page_of_children_looks_at_a_bounded_number_of_rows(
    store: Store, parent: Table, started_by: str | None
) -> None:
    at = ids.timestamp(ids.milliseconds(show(parent).conversation.created_at))
    rows = [ListKey(at, conversation(number)) for number in range(1_000, 1_000 + 2 * children.ROWS_MAX)]
    store.put(*(items.child_item(keys.child(ROOT, ROOT, row), StartedBy(ROOT, None)) for row in rows))
    wire = Wire.of(parent)

    page = children.list_children(
        parent, caller=ANN, conversation_id=ROOT, after=None, limit=200, started_by=started_by
    )

    assert (page.rows, page.resume) == ([], rows[children.ROWS_MAX - 1])
    assert wire.operations.count("Query") <= (1 if started_by else 2 * children.ROWS_MAX // 25)
    assert kids(parent, started_by=started_by) == []


def test_children_of_one_millisecond_are_all_listed_by_id(store: Store, parent: Table) -> None:
    created_at = show(parent).conversation.created_at
    made = [conversation(number) for number in (5, 3, 9, 4)]
    for child_key in made:
        start(parent, child_key=child_key)
        own = items.group(store.item(keys.group(child_key))).child_key
        assert own is not None
        store.delete(own)
        store.put(
            items.child_item(keys.child(ROOT, ROOT, ListKey(created_at, child_key)), StartedBy(ROOT, None))
        )

    for limit in (1, 2, 3, 4):
        assert kids(parent, limit=limit) == sorted(made)


def test_children_started_and_deleted_between_pages_make_no_gap_and_no_duplicate(
    store: Store, parent: Table
) -> None:
    made = [conversation(number) for number in range(90, 96)]
    for child_key in made[:4]:
        start(parent, child_key=child_key)

    def page(after: ListKey | None) -> tuple[list[str], ListKey | None]:
        found = children.list_children(parent, caller=ANN, conversation_id=ROOT, after=after, limit=2)
        return [shown.conversation.conversation_id for shown in found.rows], found.resume

    first, place = page(None)
    store.remove_tree(made[1])
    store.remove_tree(made[2])
    start(parent, child_key=made[4])
    start(parent, child_key=made[5])
    second, place = page(place)
    assert (first, second, page(place)) == (made[:2], [made[3], made[4]], ([made[5]], None))


def test_a_page_of_children_reads_a_bounded_number_of_trees(store: Store, parent: Table) -> None:
    at = ids.milliseconds(show(parent).conversation.created_at)
    dead = [
        items.child_item(
            keys.child(ROOT, ROOT, ListKey(ids.timestamp(at + n), conversation(1_000 + n))),
            StartedBy(ROOT, None),
        )
        for n in range(600)
    ]
    store.put(*dead)
    start(parent)
    wire = Wire.of(parent)

    page = children.list_children(parent, caller=ANN, conversation_id=ROOT, after=None, limit=200)

    assert page.resume is not None
    assert len(wire.requests) <= 25
    assert kids(parent) == [CHILD]


# In one step, or visible last


def assert_nobody_sees_it(store: Store, table: Table) -> None:
    """Assert that the child does not exist for anybody."""
    for by in (ANN, BOB, EVE):
        assert CHILD not in listed(table, by)
        assert kids(table, by=by) == []
        with store.refuses(NotFoundError):
            show(table, CHILD, by=by)
    if keys.pointer(CHILD) not in store.contents():
        return
    assert items.group(store.item(keys.group(CHILD))).state is State.CREATING
    assert keys.job("create", CHILD) in store.contents()
    with store.refuses(NotFoundError):
        say(table, CHILD, "x")
    with store.refuses(ConflictError):
        create(table, CHILD, by=Caller("nobody"))


def assert_complete(store: Store, table: Table, expected: dict[str, str] | None = None) -> None:
    """Assert that the child is complete, and that no unfinished work is left."""
    wanted = members(table)
    assert members(table, CHILD) == (expected or wanted)
    assert set(members(table, CHILD)) == set(wanted)
    assert kids(table) == [CHILD]
    assert read(table, CHILD) == ["x"]
    for by in (ANN, BOB, EVE):
        assert CHILD in listed(table, by)
    assert items.group(store.item(keys.group(CHILD))).members == len(wanted)
    assert_settled(store)


@pytest.mark.failure("too-many-for-one-transaction")
@pytest.mark.parametrize(("count", "writes"), [(45, 1), (46, 3), (60, 4), (300, 9)])
def test_a_child_of_many_members_has_them_all(store: Store, parent: Table, count: int, writes: int) -> None:
    """The members do not fit into one transaction. The last transaction makes the child visible."""
    plant_members(store, count)
    wire = Wire.of(parent)
    start(parent, by=BOB)

    assert wire.operations.count("TransactWriteItems") == writes
    assert all(len(r.body.get("TransactItems", [])) <= 100 for r in wire.requests)
    assert_complete(store, parent)


def leave_half_way(store: Store, nth: int = 4, *, by: Caller = BOB, of: str = ROOT) -> None:
    """Kill a process in the middle of making a child with 60 members."""
    process = store.process()
    dies(process, nth, before=False)
    with pytest.raises(Killed):
        start(process, by=by, of=of)
    assert items.group(store.item(keys.group(CHILD))).state is State.CREATING


def test_a_child_that_was_given_up_is_503_until_its_id_is_free(store: Store, parent: Table) -> None:
    """And while a torn read shows its id, and its tree not any more."""
    plant_members(store, 60)
    leave_half_way(store)
    mailbox = Mailbox()
    sweep(store.process(clock=WrongClock(600_000)), mailbox.queue)
    with pytest.raises(UnavailableError):
        start(store.process(), by=BOB)
    process = store.process()

    def clear() -> None:
        for message in mailbox.take():
            message.work(store.process(clock=WrongClock(600_000)), mailbox.queue)

    tear(process, early=lambda key: key == keys.pointer(CHILD), between=clear)

    start(process, by=BOB)

    assert_complete(store, parent)


def test_an_abandoned_creation_is_taken_over_with_the_present_members(store: Store, parent: Table) -> None:
    plant_members(store, 60)
    leave_half_way(store)
    assert_nobody_sees_it(store, store.process())
    for at in (0, 7, 30, 57 - 1):
        remove(parent, f"user {at}")
    update(parent, "user 1", MANAGER)
    share(parent, "dan", WRITER)
    accept(parent, offer(parent, "bob"))

    start(store.process(), by=ANN)

    assert_complete(store, parent)
    assert members(parent, CHILD)["bob"] == "owner"
    assert show(parent, CHILD).owner == "bob"
    for at in (0, 7, 30, 56):
        gone = Caller(f"user {at}")
        assert CHILD not in listed(parent, gone)
        with store.refuses(ForbiddenError):
            show(parent, CHILD, by=gone)


def test_an_abandoned_creation_is_taken_over_for_another_parent(store: Store, parent: Table) -> None:
    plant_members(store, 60)
    leave_half_way(store)
    say(parent, OTHER, "a", by=Caller("nobody"))

    start(store.process(), of=OTHER, by=Caller("nobody"))

    assert members(parent, CHILD, by=Caller("nobody")) == {"nobody": "owner"}
    assert kids(parent, OTHER, by=Caller("nobody")) == [CHILD]
    assert kids(parent) == []
    assert listed(parent, Caller("user 3")) == listed(parent, ANN) == {ROOT, FORK}
    assert_settled(store)


@each_request
def test_a_member_who_is_removed_meanwhile_is_not_in_the_child(
    store: Store, parent: Table, nth: int, count: int
) -> None:
    plant_members(store, count)
    process, other = store.process(), store.process()

    def change() -> None:
        remove(other, "eve")
        if count > 3:
            update(other, "user 5", MANAGER)

    ran = meanwhile(process, nth, change)
    start(process, by=BOB)

    assert ("eve" in members(parent, CHILD)) is not bool(ran)
    if ran:
        assert members(parent, CHILD) == members(parent)
        assert CHILD not in listed(parent, EVE)
    assert_settled(store)


@each_request
def test_a_caller_who_is_no_writer_any_more_cannot_start_a_child(
    store: Store, parent: Table, nth: int, count: int
) -> None:
    plant_members(store, count)
    process = store.process()
    ran = meanwhile(process, nth, lambda: update(store.process(), "bob", READER))
    told: ForkloreError | None = None
    try:
        start(process, by=BOB)
    except ForkloreError as error:
        told = error

    if ran:
        assert type(told) is ForbiddenError
        assert_nobody_sees_it_or_anything(store, parent)
    else:
        assert told is None


def assert_nobody_sees_it_or_anything(store: Store, table: Table) -> None:
    assert kids(table) == []
    assert CHILD not in listed(table, ANN) | listed(table, BOB) | listed(table, EVE)
    with store.refuses(NotFoundError):
        show(table, CHILD)


@pytest.mark.failure("write-during-deletion")
@each_request
def test_a_parent_that_is_deleted_meanwhile_gets_no_child(
    store: Store, parent: Table, nth: int, count: int
) -> None:
    plant_members(store, count)
    process = store.process()
    ran = meanwhile(process, nth, lambda: store.mark_deleted(ROOT))
    told: ForkloreError | None = None
    try:
        start(process, by=BOB)
    except ForkloreError as error:
        told = error

    if ran:
        assert type(told) is NotFoundError
        assert not [key for key in store.contents() if key.sort.startswith("CHILD#")]
        assert listed(parent, ANN) == listed(parent, BOB) == set()
        with store.refuses(NotFoundError):
            show(parent, CHILD)
    else:
        assert told is None


def test_constantly_changing_members_cause_a_503_and_no_child(store: Store, parent: Table) -> None:
    process, other = store.process(), store.process()
    for nth in range(1, 10):
        Wire.of(process).just_before(
            "TransactWriteItems",
            lambda: update(other, "eve", READER),
            nth=nth,
        )

    with pytest.raises(UnavailableError):
        start(process, by=BOB)
    assert_nobody_sees_it_or_anything(store, parent)
    start(other, by=BOB)
    assert kids(parent) == [CHILD]


# Costs


def test_an_unknown_entry_is_refused_after_two_requests(store: Store, parent: Table) -> None:
    process = store.process()
    process.now_ms()
    wire = Wire.of(process)

    with pytest.raises(ValidationError):
        start(process, by=BOB, at=ids.FIRST)

    assert wire.operations == ["BatchGetItem"] * 2


def test_the_creation_of_a_child_changes_only_a_row_and_a_count_of_its_parent(
    store: Store, parent: Table
) -> None:
    before = store.contents()
    start(parent)
    after = store.contents()

    def of_parent(contents: dict[Key, Any]) -> dict[Key, Any]:
        return {k: v for k, v in contents.items() if k.partition == ROOT and not k.sort.startswith("CHILD#")}

    before[keys.group(ROOT)]["children"] = items.number(1)
    assert of_parent(before) == of_parent(after)
    assert len([k for k in after if k.sort.startswith("CHILD#")]) == 1


def test_a_page_of_children_is_cut_by_bytes_as_well_as_by_count(store: Store, parent: Table) -> None:
    for one in range(100, 130):
        child_key = conversation(one)
        start(parent, "x", child_key=child_key)
        metadata = '{"a":"' + "\U0001f421" * 19_000 + '"}'
        store.change(keys.conversation(child_key, child_key), metadata=items.text(metadata))

    sizes: list[int] = []
    place: ListKey | None = None
    while not sizes or place is not None:
        at = place
        found = children.list_children(
            parent,
            caller=ANN,
            conversation_id=ROOT,
            after=at,
            limit=200,
        )
        sizes.append(len(found.rows))
        place = found.resume

    assert sum(sizes) == 30
    assert max(sizes) * 19_000 * 12 <= PAGE_BYTES_MAX < 30 * 19_000 * 12
