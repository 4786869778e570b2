"""Deletion as a whole: what remains of a tree, what is refused, and that other trees stay."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from forklore_local.fsck.check import check
from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.model import Caller, Conversation, JobKind, StartedBy
from forklore_service.domain.tree import Group, Member, State
from forklore_service.errors import ConflictError, NotFoundError, UnavailableError
from forklore_service.storage import items
from forklore_service.storage.cache import CachedConversation
from forklore_service.storage.clock import system_ms
from forklore_service.storage.connection import Item
from forklore_service.storage.table import Table
from forklore_service.usecases.background.sweeper import sweep
from forklore_service.usecases.background.worker import RETRY_SECONDS
from forklore_service.usecases.deletion import cascade
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from forklore_service.usecases.people import transfers
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
    begin,
    conversation,
    create,
    fork,
    idempotency_key,
    log,
    read,
    said,
    say,
    show,
    thought,
    write,
)
from tests.support.mailbox import Mailbox, Message, run_deletion
from tests.support.tables import DAY_S, Store, fresh_store
from tools.harness.wire import Request, Wire

CHILD, SIBLING, GRANDCHILD, GREAT = (conversation(number) for number in range(11, 15))
CHILDS_FORK = conversation(15)
UNBORN = conversation(16)
TREES = {ROOT, CHILD, SIBLING, GRANDCHILD, GREAT}
"""The tree that is deleted, and all trees that were started from it."""
DOOMED = {ROOT: ROOT, FORK: ROOT, TWIG: ROOT, CHILDS_FORK: CHILD} | {tree: tree for tree in TREES}
"""Every conversation that is deleted with it, and its tree."""
ADMIN = Caller("root", bypasses_membership=True)


def job(kind: str, group_id: str, *, at: str = "2026-03-01T09:15:00.000Z") -> Item:
    return items.job_item(kind, group_id, created_at=at)


def start(table: Table, parent: str, child: str, *, by: Caller = ANN) -> None:
    request = Append(child, [said("go")], start=StartedBy(parent, None))
    append_entries(table, caller=by, request=request)


def plant(store: Store) -> None:
    """Fill the table: a tree with every kind of item, three levels of children, and other trees."""
    table = store.process()
    _, anchor = say(table, ROOT, "a", "b")
    append(table, ROOT, thought("c"), by=PLANNER)
    append(table, ROOT, said(random.Random(1).randbytes(60_000).hex()))  # It does not fit into its ENTRY.
    fork(table, ROOT, FORK, anchor)
    fork(table, FORK, TWIG)
    append(table, TWIG, "d", idempotency_key=idempotency_key())
    for user in ("bob", "eve"):
        store.add_member(ROOT, user)
    start(table, ROOT, CHILD, by=BOB)
    start(table, TWIG, SIBLING)
    fork(table, CHILD, CHILDS_FORK)
    start(table, CHILDS_FORK, GRANDCHILD)
    start(table, GRANDCHILD, GREAT)
    offer = transfers.request_transfer(table, caller=ANN, conversation_id=CHILD, new_owner="bob")
    transfers.accept_transfer(table, caller=BOB, transfer_id=offer.transfer_id)
    transfers.request_transfer(table, caller=ANN, conversation_id=ROOT, new_owner="eve")
    say(table, OTHER, "x", "y")
    store.add_member(OTHER, "bob")
    transfers.request_transfer(table, caller=ANN, conversation_id=OTHER, new_owner="bob")
    create(table, conversation(21), by=BOB)
    start(table, OTHER, conversation(22))


@dataclass
class World:
    """The planted table. It can be restored."""

    store: Store
    before: dict[Key, Item] = field(init=False)

    def __post_init__(self) -> None:
        plant(self.store)
        self.before = self.store.contents()
        self._saved = self.store.saved()

    def set_back(self) -> "World":
        self.store.set_back(self._saved)
        return self


@pytest.fixture(scope="module")
def planted() -> Iterator[World]:
    with fresh_store("deletion") as store:
        yield World(store)


@pytest.fixture
def world(planted: World) -> World:
    """The planted table, restored."""
    return planted.set_back()


def belongs(key: Key, item: Item) -> bool:
    """Tell whether an item belongs to the deleted tree or to a tree started from it."""
    return (
        key.partition in TREES
        or (key.partition.startswith("BLOB#") and key.partition.split("#")[1] in TREES)
        or (key.partition == "JOB" and key.sort.split("#")[1] in TREES)
        or (key.partition.startswith("PTR#") and item.get("group", {}).get("S") in TREES)
        or (key.partition.startswith("USER#") and key.sort.split("#")[-1] in TREES)
        or (key.partition.startswith(("XFER#", "USER#")) and item.get("group", {}).get("S") in TREES)
    )


def remains(before: dict[Key, Item]) -> dict[Key, Item]:
    """Return what must remain: the items of other trees, and a retired pointer for each id."""
    left = {key: item for key, item in before.items() if not belongs(key, item)}
    return left | {keys.pointer(one): items.retired_item(one, ttl_s=0) for one in DOOMED}


def left(store: Store) -> dict[Key, Item]:
    """Return every item. A retired id must expire in 30 days; its `ttl` is returned as 0."""
    now_s, found = store.process().now_s(), store.contents()
    for item in found.values():
        if "retired" in item:
            assert abs(int(item["ttl"]["N"]) - now_s - 30 * DAY_S) < 60
            item["ttl"] = items.number(0)
    return found


def drain(store: Store, mailbox: Mailbox) -> None:
    """Deliver messages to workers until none is left, as if the wait were over."""
    for _ in range(100):
        messages = mailbox.take()
        if not messages:
            return
        for message in messages:
            message.work(store.process(), mailbox.queue)
    raise AssertionError("the messages never end")


def delete(
    store: Store, conversation_id: str = ROOT, *, by: Caller = ANN, mailbox: Mailbox | None = None
) -> bool:
    queue = (mailbox or Mailbox()).queue
    return delete_conversation(store.process(), queue, caller=by, conversation_id=conversation_id)


# The end of a deletion


@pytest.mark.parametrize("named", [ROOT, FORK, TWIG])
def test_only_retired_pointers_remain_for_any_named_conversation_of_the_tree(
    world: World, named: str
) -> None:
    mailbox = Mailbox()

    assert delete(world.store, named, mailbox=mailbox)
    drain(world.store, mailbox)

    assert left(world.store) == remains(world.before)


@pytest.mark.parametrize("gone", ["the tree", "a branch", "a branch, and its tree just after"])
def test_an_answer_that_is_being_written_goes_with_its_conversation_but_for_its_end(
    store: Store, gone: str
) -> None:
    """The end keeps out a part that is on its way, and says nothing of who wrote what."""
    table, mailbox = store.process(), Mailbox()
    say(table, ROOT, "Why?")
    fork(table)
    begin(table, of=FORK)
    for after in range(3):
        write(table, after, of=FORK)

    def delete_it() -> None:
        other = store.process()
        if gone != "the tree":
            remove_branch(other, mailbox.queue, caller=ANN, conversation_id=FORK)
        if gone != "a branch":
            delete(store, FORK if gone == "the tree" else ROOT, mailbox=mailbox)
        drain(store, mailbox)

    Wire.of(table).just_before("PutItem", delete_it)
    with pytest.raises(NotFoundError):
        write(table, 3, of=FORK)

    [end] = [item for key, item in store.contents().items() if keys.is_part(key)]
    assert sorted(end) == ["PK", "SK", "conversation", "createdAt", "kind", "size", "ttl"]
    assert end["kind"]["S"] == "end"
    assert check(store.contents().values(), now_s=table.now_s()) == []


def test_a_deletion_closes_a_tree_whatever_its_answer_is_and_the_worker_removes_the_log(store: Store) -> None:
    """The request does not touch the log, which may be long, or be throttled."""
    table, mailbox = store.process(), Mailbox()
    say(table, ROOT, "Why?")
    begin(table)
    write(table, 0)
    deleting = store.process()

    def throttle(request: Request) -> None:
        if "ANSWER#" in str(request.body):
            raise UnavailableError("throttled")

    Wire.of(deleting).before(throttle)
    assert delete_conversation(deleting, mailbox.queue, caller=ANN, conversation_id=ROOT)
    with pytest.raises(NotFoundError):
        append(table, ROOT, "too late")
    assert log(store) == ["begin", "data"]

    drain(store, mailbox)
    assert log(store) == ["end"]
    assert check(store.contents().values(), now_s=table.now_s()) == []


def test_a_fork_whose_record_is_lost_is_closed_though_an_answer_is_being_written(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "Why?")
    fork(table)
    say(table, FORK, "And why?")
    begin(table, of=FORK)
    store.delete(keys.conversation(ROOT, FORK))

    assert delete_conversation(store.process(), Mailbox().queue, caller=ANN, conversation_id=ROOT)
    for one in (ROOT, FORK):
        with pytest.raises(NotFoundError):
            append(table, one, "too late")


@pytest.mark.failure("unreliable-messages")
def test_without_messages_the_sweep_completes_the_deletion(world: World) -> None:
    delete(world.store, mailbox=Mailbox(is_down=True))

    for _ in range(4):  # One round for each level.
        mailbox = Mailbox()
        sweep(world.store.process(), mailbox.queue)
        for message in mailbox.take():
            run_deletion(world.store.process(), Mailbox(is_down=True).queue, message.group_id, wait_s=0)

    assert left(world.store) == remains(world.before)


def test_the_messages_are_delayed_by_the_wait_but_for_children_that_have_children(world: World) -> None:
    mailbox = Mailbox()
    queue = mailbox.queue

    delete_conversation(world.store.process(), queue, caller=ANN, conversation_id=ROOT, wait_s=7)

    assert mailbox.messages == [Message(CHILD, 0), Message(SIBLING, 8), Message(ROOT, 8)]


def test_a_started_tree_is_deleted_alone_and_leaves_the_list_of_its_parents_children(world: World) -> None:
    mailbox = Mailbox()
    assert delete(world.store, SIBLING, by=ANN, mailbox=mailbox)
    drain(world.store, mailbox)

    child = world.before[keys.group(SIBLING)]
    gone = {keys.pointer(SIBLING): items.retired_item(SIBLING, ttl_s=0)}
    child_key = Key(child["parent"]["S"], child["childKey"]["S"])
    of_sibling = {key for key in world.before if key.partition == SIBLING or key.sort.endswith(f"#{SIBLING}")}
    assert child_key in of_sibling
    counted = world.before[keys.group(ROOT)] | {"children": items.number(1)}
    expected = {k: v for k, v in world.before.items() if k not in of_sibling}
    assert world.before[keys.group(ROOT)]["children"] == items.number(2)
    assert left(world.store) == expected | gone | {keys.group(ROOT): counted}


# Refused requests


def shut(store: Store, conversation_id: str, *, by: Caller = ANN) -> None:
    """Assert that nobody can read the conversation or write to it, by any request."""

    def remove(table: Table) -> bool:
        return delete_conversation(table, Mailbox().queue, caller=by, conversation_id=conversation_id)

    asks: list[Callable[[Table], object]] = [
        lambda table: show(table, conversation_id, by=by),
        lambda table: read(table, conversation_id, by=by),
        lambda table: append(table, conversation_id, "late", by=by),
        lambda table: fork(table, conversation_id, conversation(30), by=by),
        lambda table: append(table, conversation(30), "late", fork=(conversation_id, None), by=by),
        lambda table: start(table, conversation_id, conversation(30), by=by),
        remove,
    ]
    with store.unchanged():
        for ask in asks:
            with pytest.raises(NotFoundError):
                ask(store.process())
        with pytest.raises(ConflictError):
            create(store.process(), conversation_id, by=EVE)


def test_after_the_204_nobody_sees_the_tree_and_its_direct_children(world: World) -> None:
    delete(world.store)

    for conversation_id in (ROOT, FORK, TWIG, CHILD, CHILDS_FORK, SIBLING):
        shut(world.store, conversation_id)
        shut(world.store, conversation_id, by=ADMIN)


def knows(store: Store, conversation_id: str, group_id: str, owner: str) -> Table:
    """Return a process with the conversation in its cache. It appends with HEAD alone."""
    table = store.process()
    head = items.head(store.item(keys.head(group_id, conversation_id)))
    found = items.conversation(store.item(keys.conversation(group_id, conversation_id)))
    table.cache.put(
        conversation_id,
        CachedConversation.of(found, head._replace(owner=owner), tree_created_at=found.created_at),
    )
    return table


@pytest.mark.parametrize("conversation_id", [ROOT, FORK, TWIG, CHILD, CHILDS_FORK, SIBLING])
def test_after_the_204_no_process_appends_with_its_cache(world: World, conversation_id: str) -> None:
    group_id = DOOMED[conversation_id]
    owner = items.group(world.store.item(keys.group(group_id))).owner
    before = knows(world.store, conversation_id, group_id, owner)
    append(before, conversation_id, "in time", by=Caller(owner))
    assert delete(world.store)

    with world.store.refuses(NotFoundError):
        append(before, conversation_id, "late", by=Caller(owner))


def test_a_worker_closes_the_grandchildren_and_announces_them_at_once(world: World) -> None:
    delete(world.store)
    mailbox = Mailbox()
    warm = knows(world.store, GRANDCHILD, GRANDCHILD, "bob")

    run_deletion(world.store.process(), mailbox.queue, CHILD)

    shut(world.store, GRANDCHILD)
    with world.store.refuses(NotFoundError):
        append(warm, GRANDCHILD, "late", by=BOB)
    assert [mailbox.messages[0], mailbox.messages[1].group_id] == [Message(GRANDCHILD, 0), CHILD]
    assert read(world.store.process(), GREAT) == ["go"]


@pytest.mark.failure("reused-id")
def test_the_ids_are_retired_for_30_days_and_then_free(world: World) -> None:
    mailbox = Mailbox()
    delete(world.store, mailbox=mailbox)
    drain(world.store, mailbox)
    for conversation_id in DOOMED:
        shut(world.store, conversation_id)

    now_s = world.store.process().now_s()
    for conversation_id in DOOMED:
        world.store.change(keys.pointer(conversation_id), ttl=items.number(now_s - 1))
    say(world.store.process(), ROOT, "anew", by=EVE)
    create(world.store.process(), FORK, by=BOB)

    assert read(world.store.process(), ROOT, by=EVE) == ["anew"]
    assert show(world.store.process(), FORK, by=BOB).owner == "bob"


def test_a_tree_that_is_marked_deleted_leaves_the_list_of_all_trees(world: World) -> None:
    delete(world.store)

    for group_id in (ROOT, CHILD, SIBLING):
        assert {"G1", "G1S"} & world.store.item(keys.group(group_id)).keys() == set()
        assert items.group(world.store.item(keys.group(group_id))).state is State.DELETING


def test_an_entry_appended_before_the_closing_is_deleted_with_the_tree(world: World) -> None:
    table, mailbox = world.store.process(), Mailbox()
    warm = knows(world.store, ROOT, ROOT, "ann")
    Wire.of(table).just_before(
        "TransactWriteItems", lambda: append(warm, ROOT, "just in time"), nth=len(["tombstone", "closing"])
    )

    assert delete_conversation(table, mailbox.queue, caller=ANN, conversation_id=ROOT)
    drain(world.store, mailbox)

    assert left(world.store) == remains(world.before)


# A wide tree


def plant_forks(store: Store, count: int) -> None:
    """Plant forks of the root, as items."""
    at = items.group(store.item(keys.group(ROOT))).created_at
    head = store.item(keys.head(ROOT, ROOT))
    for number in range(count):
        one = Conversation(conversation(1000 + number), ROOT, at)
        store.put(
            items.conversation_item(one),
            items.tree_item(one),
            items.pointer_item(one, "n"),
            head | items.key_of(keys.head(ROOT, one.conversation_id)),
        )


@pytest.mark.failure("too-many-for-one-transaction", "no-time-left")
def test_a_tree_too_wide_for_the_request_is_202_and_a_worker_continues(world: World) -> None:
    """No transaction contains all conversations."""
    plant_forks(world.store, 90)
    table, mailbox = world.store.process(), Mailbox()
    wire = Wire.of(table)
    end_time_after(wire, 5)

    assert not delete_conversation(table, mailbox.queue, caller=ANN, conversation_id=ROOT)
    assert mailbox.messages[-1] == Message(ROOT, 0)
    with world.store.refuses(NotFoundError):
        show(world.store.process())
    drain(world.store, mailbox)

    gone = {keys.pointer(conversation(1000 + number)) for number in range(90)}
    expected = remains(world.before) | {key: items.retired_item(key.partition[4:], ttl_s=0) for key in gone}
    assert left(world.store) == expected


def end_time_after(wire: Wire, requests: int) -> None:
    """Let a process have no time left after this many requests."""

    def refuse(request: Request) -> None:
        if request.number > requests:
            raise UnavailableError("there is no time left for this request")

    wire.before(refuse)


@pytest.mark.failure("too-many-for-one-transaction")
def test_a_repeated_delete_continues_until_every_head_is_closed(world: World) -> None:
    """A large deletion continues where it stopped."""
    plant_forks(world.store, 90)
    answers = []
    for requests in range(3, 12):
        table = world.store.process()
        end_time_after(Wire.of(table), requests)
        try:
            answers.append(delete_conversation(table, Mailbox().queue, caller=ANN, conversation_id=TWIG))
        except NotFoundError:
            break
    heads = [key for key in world.store.contents() if key.partition == ROOT and key.sort.startswith("HEAD#")]

    assert (answers[0], answers[-1], heads) == (False, True, [])


@pytest.mark.parametrize("by", [BOB, EVE, Caller("stranger")])
def test_only_the_owner_can_continue_the_closing(world: World, by: Caller) -> None:
    table = world.store.process()
    end_time_after(Wire.of(table), 2)
    assert not delete_conversation(table, Mailbox().queue, caller=ANN, conversation_id=ROOT)

    with world.store.refuses(NotFoundError):
        delete(world.store, by=by)
    assert delete(world.store)


@pytest.mark.parametrize(("forks", "children", "rounds"), [(0, 0, 4), (15, 0, 4), (60, 0, 5), (2, 8, 9)])
def test_the_number_of_rounds_until_the_204(store: Store, forks: int, children: int, rounds: int) -> None:
    """At most 5 without children. Children are found, marked deleted, read and closed."""
    process = store.process()
    say(process, ROOT, "a")
    plant_forks(store, forks)
    for number in range(children):
        start(process, ROOT, conversation(700 + number))
    table = store.process()
    table.now_ms()
    wire = Wire.of(table)
    delete_conversation(table, Mailbox().queue, caller=ANN, conversation_id=ROOT)

    assert wire.rounds <= rounds, wire.operations
    assert not [key for key in store.contents() if key.sort.startswith("HEAD#")]


# Duplicate, late and wrong messages


@pytest.mark.failure("unreliable-messages")
def test_a_late_message_of_a_finished_deletion_does_nothing(world: World) -> None:
    mailbox = Mailbox()
    delete(world.store, mailbox=mailbox)
    drain(world.store, mailbox)

    with world.store.unchanged():
        for group_id in TREES:
            assert run_deletion(world.store.process(), mailbox.queue, group_id)
    assert mailbox.messages == []


@pytest.mark.failure("unreliable-messages")
def test_a_late_message_does_nothing_to_a_new_tree_with_the_same_id(world: World) -> None:
    mailbox = Mailbox()
    delete(world.store, mailbox=mailbox)
    drain(world.store, mailbox)
    world.store.change(keys.pointer(ROOT), ttl=items.number(1))
    say(world.store.process(), ROOT, "anew")

    with world.store.unchanged():
        assert run_deletion(world.store.process(), mailbox.queue, ROOT, wait_s=0)


@pytest.mark.failure("late-cleanup")
@pytest.mark.parametrize("group_id", [ROOT, OTHER, CHILD, FORK, conversation(99)])
def test_a_worker_never_touches_a_tree_that_is_not_marked_deleted(world: World, group_id: str) -> None:
    """Each delete of the worker has the condition that the tree is marked deleted."""
    with world.store.unchanged():
        assert run_deletion(world.store.process(), Mailbox().queue, group_id, wait_s=0)


def test_a_worker_never_touches_a_tree_that_is_being_created(world: World) -> None:
    world.store.change(keys.group(OTHER), state=items.text(State.CREATING))

    with world.store.unchanged():
        assert run_deletion(world.store.process(), Mailbox().queue, OTHER, wait_s=0)


def test_a_job_without_a_tree_is_dropped(world: World) -> None:
    world.store.put(job("delete", conversation(99)))

    assert run_deletion(world.store.process(), Mailbox().queue, conversation(99))
    assert world.store.contents() == world.before


def test_nothing_is_removed_before_the_wait_is_over(world: World) -> None:
    delete(world.store)
    mailbox = Mailbox()
    closed = world.store.contents()

    assert not run_deletion(world.store.process(), mailbox.queue, SIBLING, wait_s=35)

    assert world.store.contents() == closed
    [message] = mailbox.messages
    assert message.group_id == SIBLING
    assert 30 <= message.delay_s <= 35


@pytest.mark.failure("no-time-left")
def test_a_worker_without_time_sends_the_next_message_at_once(world: World) -> None:
    delete(world.store)
    mailbox = Mailbox()

    with world.store.unchanged():
        table = world.store.process(seconds=0)
        assert not run_deletion(table, mailbox.queue, ROOT, wait_s=0)
    assert mailbox.messages == [Message(ROOT, 0)]


def test_a_worker_that_dynamodb_refuses_sends_a_delayed_message(world: World) -> None:
    delete(world.store)
    table, mailbox = world.store.process(), Mailbox()
    end_time_after(Wire.of(table), 6)

    assert not run_deletion(table, mailbox.queue, ROOT, wait_s=0)
    assert mailbox.messages == [Message(ROOT, RETRY_SECONDS)]
    drain(world.store, mailbox)
    assert keys.group(ROOT) not in world.store.contents()


def test_an_item_of_an_unknown_kind_is_deleted_with_its_tree(world: World) -> None:
    mailbox = Mailbox()
    for sort in ("NEW#x", "zz", "GROUP#2", "A"):
        world.store.put(items.key_of(Key(ROOT, sort)))
    delete(world.store, mailbox=mailbox)
    drain(world.store, mailbox)

    assert left(world.store) == remains(world.before)


def test_more_entries_than_one_batch_are_removed_blobs_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cascade, "ERASED_AT_ONCE", 3)
    table = world.store.process()
    for number in range(4):
        say(table, ROOT, "small", random.Random(number).randbytes(40_000 + 400_000 * (number == 0)).hex())
    delete(world.store)
    mailbox = Mailbox()
    erased: list[str] = []
    worker = world.store.process()

    def look(request: Request) -> None:
        if request.operation == "BatchWriteItem":
            wanted = request.body["RequestItems"][world.store.name]
            gone = [items.key(one["DeleteRequest"]["Key"]) for one in wanted]
            erased.extend(key.partition if key.partition != ROOT else key.sort for key in gone)

    Wire.of(worker).before(look)
    assert run_deletion(worker, mailbox.queue, ROOT, wait_s=0)
    for _ in range(3):
        sweep(world.store.process(), mailbox.queue)
        drain(world.store, mailbox)

    assert left(world.store) == remains(world.before)
    of_blobs = [name for name in erased if name.startswith("BLOB#")]
    assert len(of_blobs) > 3
    for name in of_blobs:
        [of_entry] = [sort for sort in erased if sort.endswith(name[-36:]) and sort[0].isdigit()]
        assert erased.index(name) < erased.index(of_entry)


# The sweep


def plant_unborn(store: Store, *, seconds_ago: int, group_id: str = UNBORN) -> None:
    """Plant a child that is being created."""
    table = store.process()
    made = ids.timestamp(table.now_ms() - seconds_ago * 1000)
    never_live = Conversation(group_id, group_id, made)
    child_key = keys.child(OTHER, OTHER, ListKey(made, group_id))
    group = Group(group_id, "ann", made, State.CREATING, child_key=child_key, nonce="n")
    store.put(items.group_item(group), items.pointer_item(never_live, "n"), job("create", group_id))
    for user in ("ann", "bob"):
        member = Member(user, AccessLevel.WRITER, made)
        store.put(
            items.member_item(group_id, member),
            items.user_tree_item(group_id, user, member.level, created_at=made, is_child=True),
        )


@pytest.mark.failure("killed-between-calls")
def test_an_abandoned_creation_is_swept_and_its_id_is_free(world: World) -> None:
    """Nobody sees what a killed creation left, and the sweep removes it."""
    plant_unborn(world.store, seconds_ago=301)
    mailbox = Mailbox()

    sweep(world.store.process(), mailbox.queue)
    assert mailbox.messages == [Message(UNBORN, 0)]
    drain(world.store, mailbox)

    assert world.store.contents() == world.before
    start(world.store.process(), OTHER, UNBORN)


def test_a_creation_in_progress_is_left_alone(world: World) -> None:
    plant_unborn(world.store, seconds_ago=290)

    with world.store.unchanged():
        sweep(world.store.process(), Mailbox().queue)


@pytest.mark.parametrize("state", [State.LIVE, State.DELETING])
def test_the_job_of_a_creation_that_ended_is_dropped(world: World, state: State) -> None:
    plant_unborn(world.store, seconds_ago=301)
    world.store.change(keys.group(UNBORN), state=items.text(state))
    before = world.store.contents()

    sweep(world.store.process(), Mailbox().queue)

    del before[keys.job("create", UNBORN)]
    assert world.store.contents() == before


def test_the_job_of_a_creation_without_a_tree_is_dropped(world: World) -> None:
    world.store.put(job("create", UNBORN))

    sweep(world.store.process(), Mailbox().queue)

    assert world.store.contents() == world.before


@pytest.mark.failure("late-cleanup")
def test_a_creation_that_is_taken_over_while_it_is_swept_goes_on(world: World) -> None:
    """The sweep deletes no tree that became live between its read and its delete."""
    plant_unborn(world.store, seconds_ago=301)
    table = world.store.process()
    Wire.of(table).just_before(
        "TransactWriteItems", lambda: world.store.change(keys.group(UNBORN), nonce=items.text("m"))
    )
    before = world.store.contents()

    sweep(table, Mailbox().queue)

    assert world.store.contents() == before | {
        keys.group(UNBORN): before[keys.group(UNBORN)] | {"nonce": items.text("m")}
    }


@pytest.mark.failure("late-cleanup")
def test_a_slow_worker_of_a_swept_creation_does_not_touch_a_new_tree_with_its_id(planted: World) -> None:
    """The tree is removed and made again before the slow worker's nth request, for every n."""
    k = 1
    while True:
        store = planted.set_back().store
        plant_unborn(store, seconds_ago=301)
        sweep(store.process(), Mailbox().queue)
        table = store.process()
        anew: list[dict[Key, Item]] = []

        def again(
            request: Request, k: int = k, store: Store = store, anew: list[dict[Key, Item]] = anew
        ) -> None:
            if request.number == k and not anew:
                run_deletion(store.process(), Mailbox().queue, UNBORN, wait_s=0)
                start(store.process(), OTHER, UNBORN)
                anew.append(store.contents())

        Wire.of(table).before(again)
        assert run_deletion(table, Mailbox().queue, UNBORN, wait_s=0)
        if not anew:
            break
        assert store.contents() == anew[0], k
        k += 1
    assert k > 4


def test_jobs_of_an_unknown_kind_are_left_alone(world: World) -> None:
    world.store.put(job("unheard", OTHER))
    mailbox = Mailbox()

    with world.store.unchanged():
        sweep(world.store.process(), mailbox.queue)

    assert mailbox.messages == []


BAD_JOBS = {
    "its time is none": [items.key_of(keys.job("delete", conversation(1))) | {"createdAt": items.text("x")}],
    "its time is no text": [items.key_of(keys.job("delete", conversation(1))) | {"createdAt": {"N": "1.5"}}],
    "its lease is none": [job("delete", conversation(1)) | {"leasedUntil": items.text("tomorrow")}],
    "its tree says nothing": [job("create", UNBORN), items.key_of(keys.group(UNBORN))],
    "its tree is of no known state": [
        job("create", UNBORN),
        items.key_of(keys.group(UNBORN)) | {"state": items.text("asleep")},
    ],
}


@pytest.mark.parametrize("bad", BAD_JOBS)
def test_a_malformed_job_is_logged_and_stops_no_other_job(world: World, bad: str) -> None:
    """The jobs before it, after it and of other kinds are done."""
    given_up = conversation(17)
    plant_unborn(world.store, seconds_ago=301, group_id=given_up)
    world.store.put(job("delete", conversation(80)), job("transfer", OTHER), *BAD_JOBS[bad])
    mailbox, errors = Mailbox(), list[Exception]()

    found = sweep(world.store.process(), mailbox.queue, report=errors.append)

    assert {Message(conversation(80), 0), Message(OTHER, 0, kind="transfer")} <= set(mailbox.messages)
    assert Message(given_up, 0) in mailbox.messages
    assert (found.jobs, found.failed, len(errors)) == (4, 1, 1)


def test_a_job_without_time_left_is_no_failure(world: World) -> None:
    plant_unborn(world.store, seconds_ago=301)
    table = world.store.process()
    table.now_ms()
    end_time_after(Wire.of(table), len(JobKind))

    assert sweep(table, Mailbox().queue).failed == 0


def test_a_sweep_returns_the_number_of_open_jobs_and_the_age_of_the_oldest(world: World) -> None:
    def swept() -> tuple[int, float]:
        found = sweep(world.store.process(), Mailbox().queue)
        return found.jobs, round(found.oldest_s, -2)

    def ago(seconds: int) -> str:
        return ids.timestamp(system_ms() - seconds * 1000)

    assert swept() == (0, 0)

    world.store.put(items.key_of(keys.job("delete", conversation(90))))  # It names no time.
    assert swept() == (1, 0)

    world.store.put(job("transfer", OTHER, at=ago(900)), job("unheard", OTHER, at=ago(9000)))
    assert swept() == (2, 900)

    world.store.put(job("create", conversation(91), at=ago(2500)), job("delete", OTHER, at=ago(300)))
    assert swept() == (4, 2500)


def test_a_job_of_a_clock_that_is_ahead_has_age_zero(world: World) -> None:
    world.store.put(job("transfer", OTHER, at=ids.timestamp(system_ms() + 600_000)))

    assert sweep(world.store.process(), Mailbox().queue).oldest_s == 0


def test_jobs_are_announced_in_batches_of_10(world: World) -> None:
    trees = [conversation(500 + number) for number in range(23)]
    world.store.put(*(job("delete", tree) for tree in trees))
    mailbox = Mailbox()

    sweep(world.store.process(), mailbox.queue)

    assert sorted(one.group_id for one in mailbox.messages) == trees
    assert mailbox.batches == [10, 10, 3]
