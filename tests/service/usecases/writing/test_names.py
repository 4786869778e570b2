import itertools
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller, Entry, StartedBy
from forklore_service.domain.names import NameMove, NameOwner, NameRef
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    NameMovedError,
    NotFoundError,
    PayloadTooLargeError,
)
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion import tree_deletion
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from forklore_service.usecases.shared.requests import Append, Fork
from forklore_service.usecases.writing import append_by_name, names
from forklore_service.usecases.writing.append import append_entries
from forklore_service.usecases.writing.names import ShownName
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BEFORE,
    BLANK,
    BOB,
    CODER,
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
    idempotency_key,
    large,
    page,
    read,
    said,
    say,
    show,
    texts,
    thought,
)
from tests.support.mailbox import Mailbox
from tests.support.tables import Store, WrongClock
from tools.harness.wire import Wire

TRIP = "trip"


def point(
    table: Table,
    conversation_id: str = ROOT,
    name: str = TRIP,
    *,
    by: Caller = ANN,
    expect: int | None = None,
    data: str | None = None,
    key: IdempotencyKey | None = None,
) -> ShownName:
    """Make or move a name."""
    move = NameMove(NameRef.of(by, name), expect, data)
    return names.set_name(table, caller=by, conversation_id=conversation_id, move=move, idempotency_key=key)


def look(table: Table, name: str = TRIP, *, by: Caller = ANN) -> ShownName:
    return names.get_name(table, caller=by, ref=NameRef.of(by, name))


def target(table: Table, name: str = TRIP, *, by: Caller = ANN) -> str:
    return look(table, name, by=by).name.conversation_id


def drop(table: Table, name: str = TRIP, *, by: Caller = ANN, expect: int | None = None) -> None:
    names.delete_name(table, ref=NameRef.of(by, name), expect_revision=expect)


def listed(table: Table, prefix: str = "", *, by: Caller = ANN, limit: int = 50) -> list[str]:
    """Return all names, page by page."""
    found: list[str] = []
    after: NameRef | None = None
    while True:
        page = names.list_names(
            table, caller=by, owner=NameOwner.of(by), prefix=prefix, after=after, limit=limit
        )
        assert len(page.rows) == limit or page.resume is None
        found += [shown.name.ref.name for shown in page.rows]
        after = page.resume
        if after is None:
            return found


def tell(
    table: Table, *drafts: Any, name: str = TRIP, by: Caller = ANN, data: str | None = None, **what: Any
) -> list[Entry]:
    """Append by a name."""
    request = Append("", [said(draft) if isinstance(draft, str) else draft for draft in drafts], **what)
    move = NameMove(NameRef.of(by, name), 0, data)
    return append_by_name.append_by_name(table, caller=by, move=move, request=request).entries


def delete(table: Table, conversation_id: str = ROOT) -> None:
    tree_deletion.delete_conversation(table, Mailbox().queue, caller=ANN, conversation_id=conversation_id)


def move_to(name: str = TRIP, *, by: Caller = ANN, expect: int | None = None) -> NameMove:
    return NameMove(NameRef.of(by, name), expect)


# Make, move, delete


def test_a_name_points_to_a_conversation(table: Table) -> None:
    create(table)

    made = point(table, data='{"a": 1.0}')

    assert 1 <= made.name.revision <= 2**52
    assert made.name.conversation_id == ROOT
    assert made.name.data == '{"a": 1.0}'
    assert made.name.created_at == made.name.updated_at
    assert not made.is_deleted
    assert look(table) == made


def test_an_append_sets_the_time_of_its_own_clock_and_a_move_is_later_than_what_it_moves(
    store: Store, table: Table
) -> None:
    create(table)
    first = point(table)
    slow = store.process(clock=WrongClock(-60_000))

    moved = point(slow)
    tell(table, "a")
    between = look(table).name.updated_at
    tell(slow, "b")

    assert first.name.updated_at < moved.name.updated_at
    assert look(table).name.updated_at < first.name.updated_at <= between


def test_a_move_counts_and_keeps_the_data_that_it_does_not_replace(table: Table) -> None:
    create(table)
    create(table, OTHER)
    first = point(table, data="{}")

    second = point(table, OTHER)
    third = point(table, OTHER, data='{"b":2}')

    assert (second.name.revision, second.name.data) == (first.name.revision + 1, "{}")
    assert (third.name.revision, third.name.data) == (first.name.revision + 2, '{"b":2}')
    assert second.name.created_at == third.name.created_at == first.name.created_at
    assert third.name.updated_at >= second.name.updated_at >= first.name.updated_at
    assert look(table) == third


def test_a_name_of_another_revision_than_expected_says_where_it_points(table: Table) -> None:
    create(table)
    create(table, OTHER)

    with pytest.raises(NameMovedError) as absent:
        point(table, expect=1)
    made = point(table, expect=0).name.revision
    with pytest.raises(NameMovedError) as not_new:
        point(table, OTHER, expect=0)
    point(table, OTHER, expect=made)
    with pytest.raises(NameMovedError) as stale:
        point(table, expect=made)
    with pytest.raises(NameMovedError):
        drop(table, expect=made)

    assert absent.value.details["revision"] == 0
    assert "conversationId" not in absent.value.details
    assert (not_new.value.details["revision"], not_new.value.details["conversationId"]) == (made, ROOT)
    assert (stale.value.details["revision"], stale.value.details["conversationId"]) == (made + 1, OTHER)
    assert stale.value.details["reason"] == "name_moved"
    assert target(table) == OTHER
    drop(table, expect=made + 1)


def test_a_deleted_name_is_free_at_once(table: Table) -> None:
    create(table)
    point(table)
    point(table)

    drop(table)

    for gone in (look, drop):
        with pytest.raises(NotFoundError):
            gone(table)
    assert not point(table, expect=0).is_deleted


@pytest.mark.parametrize("change", [point, drop])
def test_who_knows_a_deleted_name_cannot_change_the_one_that_is_made_anew(
    table: Table, change: Callable[..., object]
) -> None:
    create(table)
    create(table, OTHER)
    known = point(table).name.revision
    drop(table)
    made = point(table, OTHER)

    with pytest.raises(NameMovedError):
        change(table, expect=known)

    assert look(table) == made


def test_each_way_to_make_a_name_begins_at_another_revision(table: Table) -> None:
    create(table)
    revisions = set()
    for number in range(3):
        revisions.add(point(table).name.revision)
        drop(table)
        tell(table, "a")
        revisions.add(look(table).name.revision)
        drop(table)
        fork(table, ROOT, str(UUID(int=number)), name=move_to(expect=0))
        revisions.add(look(table).name.revision)
        drop(table)

    assert len(revisions) == 9


def test_names_of_other_users_and_clients_do_not_meet(table: Table) -> None:
    callers = [ANN, PLANNER, CODER, BOB, Caller("ann", "plan"), Caller("ann", "#"), Caller("ann#", "planner")]
    for number, caller in enumerate(callers, 1):
        create(table, conversation(number), by=caller)
        point(table, conversation(number), by=caller, expect=0)

    for number, caller in enumerate(callers, 1):
        assert look(table, by=caller).name.conversation_id == conversation(number)
        assert listed(table, by=caller) == [TRIP]


def test_only_a_member_points_a_name_to_a_conversation(table: Table, store: Store) -> None:
    create(table)
    store.add_member(ROOT, "bob", AccessLevel.READER)

    point(table, by=BOB)

    with pytest.raises(ForbiddenError):
        point(table, by=EVE)
    with pytest.raises(NotFoundError):
        point(table, OTHER)
    delete(table)
    with pytest.raises(NotFoundError):
        point(table)


def test_a_name_whose_conversation_cannot_be_seen_stays_and_is_deleted(table: Table, store: Store) -> None:
    create(table)
    create(table, OTHER, by=BOB)
    store.add_member(OTHER, "ann")
    point(table)
    point(table, OTHER, "shared")

    delete(table)
    store.remove_member(OTHER, "ann")

    assert look(table).is_deleted
    assert look(table, "shared").is_deleted
    page = names.list_names(table, caller=ANN, owner=NameOwner.of(ANN), prefix="", after=None, limit=50)
    assert [shown.is_deleted for shown in page.rows] == [True, True]
    create(table, TWIG)
    assert not point(table, TWIG).is_deleted


def test_a_list_of_names_asks_for_no_pointer_of_a_known_conversation(store: Store) -> None:
    table = store.process()
    create(table)
    fork(table)
    point(table)
    point(table, FORK, "fork")

    def asked(of: Table) -> list[str]:
        wire = Wire.of(of)
        assert listed(of) == ["fork", TRIP]
        reads = [one.body["RequestItems"] for one in wire.requests if one.operation == "BatchGetItem"]
        return [key["SK"]["S"] for read in reads for table in read.values() for key in table["Keys"]]

    assert asked(store.process()).count("PTR") == 2
    assert asked(table).count("PTR") == 0


def test_a_list_of_names_tells_that_another_process_removed_a_known_branch(store: Store) -> None:
    table = store.process()
    create(table)
    fork(table)
    point(table, FORK)

    remove_branch(store.process(), Mailbox().queue, caller=ANN, conversation_id=FORK)

    page = names.list_names(table, caller=ANN, owner=NameOwner.of(ANN), prefix="", after=None, limit=50)
    assert [shown.is_deleted for shown in page.rows] == [True]


def test_names_are_listed_in_the_order_of_their_bytes(table: Table) -> None:
    create(table)
    wanted = [
        "a",
        "a b",
        "a#b",
        "a$",
        "a%",
        "a%23",
        "a&",
        "aa",
        "b",
        "é",
        "z~",
        "~",
        "zz",
        "ü",
        "🦀",
        "\ufffd",
        "A",
    ]
    for name in wanted:
        point(table, name=name)

    in_order = sorted(wanted, key=str.encode)
    for limit in (1, 2, 50):
        assert listed(table, limit=limit) == in_order
        assert listed(table, "a", limit=limit) == [name for name in in_order if name.startswith("a")]
    assert listed(table, "a%") == ["a%", "a%23"]
    assert listed(table, "z~") == ["z~"]
    assert listed(table, "nothing") == []


def test_all_names_of_a_user_are_listed_client_by_client(table: Table) -> None:
    create(table)
    for caller, name in itertools.product((ANN, PLANNER, CODER), ("one", "two")):
        point(table, name=name, by=caller)
    create(table, OTHER, by=BOB)
    point(table, OTHER, by=BOB)
    auditor = Caller("rita", bypasses_membership=True)

    found: list[tuple[str | None, str]] = []
    after: NameRef | None = None
    while True:
        page = names.list_names_of_user(table, caller=auditor, user_id="ann", after=after, limit=4)
        found += [(shown.name.ref.owner.client_id, shown.name.ref.name) for shown in page.rows]
        after = page.resume
        if after is None:
            break

    assert found[:2] == [(None, "one"), (None, "two")]
    assert sorted(found[2:]) == [(client, name) for client in ("coder", "planner") for name in ("one", "two")]


# Append by a name


def test_the_first_append_by_a_name_makes_conversation_and_name(table: Table) -> None:
    first, second = tell(table, "a", "b", data='{"x":1}')

    shown = look(table)
    assert shown.name.conversation_id == first.conversation_id == second.conversation_id
    assert shown.name.data == '{"x":1}'
    assert show(table, first.conversation_id).conversation.described.title == "a"
    tell(table, "c")
    assert read(table, first.conversation_id) == ["a", "b", "c"]
    assert look(table).name.revision == shown.name.revision


def test_an_append_by_a_name_touches_it(table: Table) -> None:
    tell(table, "a", data='{"x":1}')
    before = look(table).name

    tell(table, "b")
    kept = look(table).name
    tell(table, "c", data='{"x":2}')

    assert kept == before._replace(updated_at=kept.updated_at)
    assert kept.updated_at > before.updated_at
    assert look(table).name.data == '{"x":2}'


@pytest.mark.failure("name-moves")
def test_an_append_follows_a_name_that_another_process_has_moved(table: Table, store: Store) -> None:
    [first] = tell(table, "a")
    other = store.process()
    create(other, OTHER)
    point(other, OTHER)

    [second] = tell(table, "b")

    assert second.conversation_id == OTHER
    assert read(table, first.conversation_id) == ["a"]
    drop(other)
    [third] = tell(table, "c")
    assert third.conversation_id not in (first.conversation_id, OTHER)
    assert target(table) == third.conversation_id


@pytest.mark.parametrize("error", ["if-match", "deleted", "forbidden", "key"])
def test_an_error_of_the_conversation_that_a_name_has_left_is_not_the_answer(
    table: Table, store: Store, error: str
) -> None:
    [first] = tell(table, said("a", key="k"))
    other = store.process()
    create(other, OTHER, by=BOB)
    store.add_member(OTHER, "ann")
    [there] = append(other, OTHER, "there", by=BOB)
    point(other, OTHER)
    match error:
        case "deleted":
            delete(other, first.conversation_id)
        case "forbidden":
            store.remove_member(first.conversation_id, "ann")

    match = there.entry_id if error == "if-match" else None
    [second] = tell(table, said("b", key="k"), if_match=match)

    assert second.conversation_id == OTHER


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_new_conversation_takes_a_name_from_one_that_is_deleted(
    table: Table, store: Store, is_removed: bool
) -> None:
    [first] = tell(table, "a", data='{"n":1}')
    left = look(table).name
    delete(table, first.conversation_id)
    if is_removed:
        store.remove_tree(first.conversation_id, ttl_s=1)

    [second] = tell(table, "b")
    [third] = tell(store.process(), "c")

    assert second.conversation_id == third.conversation_id != first.conversation_id
    assert read(table, second.conversation_id) == ["b", "c"]
    taken = look(table)
    assert not taken.is_deleted
    assert (taken.name.revision, taken.name.data) == (left.revision + 1, '{"n":1}')
    assert taken.name.created_at == left.created_at


@pytest.mark.parametrize("origin", ["fork", "start"])
def test_a_fork_or_a_child_takes_a_name_from_a_conversation_that_is_deleted(
    table: Table, origin: str
) -> None:
    [a] = say(table, ROOT, "a")
    [first] = tell(table, "b")
    delete(table, first.conversation_id)

    lineage: dict[str, Any] = {"fork": Fork(ROOT, a, AFTER), "start": StartedBy(ROOT, None)}
    [made] = tell(table, "c", **{origin: lineage[origin]})

    assert target(table) == made.conversation_id
    assert read(table, made.conversation_id) == (["a", "c"] if origin == "fork" else ["c"])


@pytest.mark.parametrize("knows", [True, False], ids=["the same process", "another"])
def test_what_one_may_not_see_any_more_is_deleted_for_a_look_up_and_for_an_append(
    table: Table, store: Store, knows: bool
) -> None:
    create(table, by=BOB)
    store.add_member(ROOT, "ann")
    point(table)
    store.remove_member(ROOT, "ann")
    process = table if knows else store.process()

    assert look(process).is_deleted
    [first] = tell(process, "a")
    tell(process, "b")

    assert not look(process).is_deleted
    assert read(table, first.conversation_id) == ["a", "b"]
    assert read(table, ROOT, by=BOB) == []


def test_a_reader_of_a_named_conversation_does_not_begin_another(table: Table, store: Store) -> None:
    create(table, by=BOB)
    store.add_member(ROOT, "ann", AccessLevel.READER)
    point(table)

    for process in (table, store.process()):
        with pytest.raises(ForbiddenError):
            tell(process, "a")


def test_an_append_that_is_repeated_after_its_conversation_was_deleted_is_not_found(table: Table) -> None:
    [first] = tell(table, "a", idempotency_key=idempotency_key())
    delete(table, first.conversation_id)

    with pytest.raises(NotFoundError):
        tell(table, "a", idempotency_key=idempotency_key())
    assert look(table).is_deleted


def test_an_append_by_a_name_can_make_a_fork_or_a_child(table: Table) -> None:
    a, b = say(table, ROOT, "a", "b")

    [forked] = tell(table, "c", name="fork", fork=Fork(ROOT, b, BEFORE))
    [child] = tell(table, "task", name="child", start=StartedBy(ROOT, a))
    [more] = tell(table, "d", name="fork", fork=Fork(ROOT, b, BEFORE))

    assert read(table, forked.conversation_id) == ["a", "c", "d"]
    assert more.conversation_id == forked.conversation_id
    assert show(table, child.conversation_id).conversation.started_by is not None
    assert target(table, "child") == child.conversation_id
    with pytest.raises(ConflictError):
        tell(table, "e", name="fork", fork=Fork(ROOT, a, BEFORE))


def test_a_key_of_the_conversation_that_a_name_has_left_does_not_count(table: Table, store: Store) -> None:
    [first] = tell(table, "a")
    left = first.conversation_id
    key = idempotency_key()
    append(table, left, "b", idempotency_key=by_id(key, left))
    point(store.process(), create(store.process(), OTHER).conversation.conversation_id)

    tell(table, "b", idempotency_key=key)

    assert read(table, left) == ["a", "b"]
    assert read(table, OTHER) == ["b"]


def by_id(key: IdempotencyKey, conversation_id: str) -> IdempotencyKey:
    """Return the key of the same append by the conversation's id."""
    assert key.of_conversation is not None
    return key._replace(key=key.of_conversation(conversation_id), of_conversation=None)


def test_agents_append_context_by_a_name(table: Table) -> None:
    [first] = tell(table, thought("a"), by=PLANNER)
    tell(table, thought("b"), by=PLANNER)

    assert texts(page(table, first.conversation_id, by=PLANNER).entries) == ["a", "b"]
    with pytest.raises(ForbiddenError):
        tell(table, thought("c"), by=ANN)


def test_what_is_too_large_makes_no_name(table: Table) -> None:
    with pytest.raises(PayloadTooLargeError):
        tell(table, *[large(1_400_000) for _ in range(4)])
    with pytest.raises(NotFoundError):
        look(table)


# Forks that move a name


def test_a_fork_moves_a_name(table: Table) -> None:
    create(table)
    _, b = say(table, ROOT, "a", "b")
    first = point(table, data="{}").name.revision

    fork(table, ROOT, FORK, b, name=move_to(expect=first))
    tell(table, "c")

    assert read(table, FORK) == ["a", "c"]
    moved = look(table).name
    assert (moved.conversation_id, moved.revision, moved.data) == (FORK, first + 1, "{}")
    fork(table, FORK, TWIG, name=move_to("new", expect=0))
    assert target(table, "new") == TWIG


def test_a_fork_with_a_name_that_has_moved_is_not_made(table: Table) -> None:
    create(table)
    [a] = say(table, ROOT, "a")
    first = point(table).name.revision

    for expect in (0, first + 1):
        with pytest.raises(NameMovedError) as moved:
            fork(table, ROOT, FORK, a, name=move_to(expect=expect))
        assert moved.value.details["revision"] == first
    with pytest.raises(NotFoundError):
        show(table, FORK)


def test_an_append_that_forks_moves_a_name(table: Table) -> None:
    _, b = say(table, ROOT, "a", "b")
    first = point(table).name.revision

    def edit(to: str, position: Any, at: Any, expect: int) -> list[Entry]:
        request = Append(
            to,
            [said("c")],
            fork=Fork(ROOT, at, position),
            name=move_to(expect=expect),
        )
        return append_entries(table, caller=ANN, request=request)

    edit(FORK, BEFORE, b, first)
    assert read(table, target(table)) == ["a", "c"]
    with pytest.raises(NameMovedError):
        edit(TWIG, AFTER, None, first)
    edit(TWIG, AFTER, None, first + 1)
    assert read(table, target(table)) == ["a", "b", "c"]
    edit(OTHER, BLANK, None, first + 2)
    assert read(table, target(table)) == ["c"]
    edit(FORK, BEFORE, b, first)  # the fork exists, so this is a plain append
    assert read(table, FORK) == ["a", "c", "c"]
    assert target(table) == OTHER


@pytest.mark.parametrize("takes_name", [True, False])
def test_a_fork_that_follows_the_last_entry_does_not_give_up_in_a_busy_conversation(
    table: Table, store: Store, monkeypatch: pytest.MonkeyPatch, takes_name: bool
) -> None:
    """A writer is faster twenty times. With If-Match it appends context."""
    [message] = tell(table, "a", by=PLANNER)
    root = target(table, by=PLANNER)
    other, commit, left = store.process(), Table.try_commit, 20

    def append_first(self: Table, parts: Any) -> Any:
        nonlocal left
        if self is table and left:
            left -= 1
            append(other, root, "b" if takes_name else thought("b"), by=PLANNER)
        return commit(self, parts)

    monkeypatch.setattr(Table, "try_commit", append_first)
    what = {"name": move_to(by=PLANNER)} if takes_name else {"if_match": message.entry_id}
    fork(table, root, FORK, by=PLANNER, **what)

    assert left == 0
    assert len(page(table, FORK, by=PLANNER).entries) == 21


def test_data_of_a_name_that_stay_are_those_that_are_answered(table: Table, store: Store) -> None:
    tell(table, "a", data='{"x":1}')
    create(table, OTHER)
    other = store.process()
    done: list[Any] = []
    commit = Table.try_commit

    def appended_first(self: Table, parts: Any) -> Any:
        if self is table and not done:
            done.append(tell(other, "b", data='{"x":2}'))
        return commit(self, parts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "try_commit", appended_first)
        moved = point(table, OTHER)

    assert moved.name.data == '{"x":2}' == look(table).name.data
