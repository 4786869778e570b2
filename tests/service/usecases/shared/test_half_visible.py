"""Reads in the middle of a transaction: a Query may show some of its items and not yet the others.

Source: read-committed isolation of Query and BatchGetItem (DynamoDB developer guide, transactions).
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import pytest

from forklore_local.fsck.check import check
from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import State
from forklore_service.errors import ForbiddenError, NotFoundError, UnavailableError
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.table import LOOKS_MAX, Table
from forklore_service.usecases.deletion import branch_removal, tree_deletion
from forklore_service.usecases.people import transfers
from forklore_service.usecases.shared.drafts import Draft
from tests.service.usecases.branches.test_children import CHILD, start
from tests.service.usecases.builders import (
    ANN,
    BOB,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    append,
    fork,
    read,
    said,
    say,
)
from tests.service.usecases.members import (
    MANAGER,
    READER,
    WRITER,
    accept,
    members,
    offer,
    remove,
    share,
    update,
)
from tests.service.usecases.writing.test_context import known, note, sync
from tests.support.mailbox import Mailbox, run_deletion, run_prune
from tests.support.tables import Store
from tools.harness.wire import Request, Wire

ALWAYS = 1_000


def sees_late(table: Table, hidden: Callable[[Item], Item | None], *, times: int) -> Wire:
    """Let the first Queries that would show an item show an earlier state of it.

    hidden: returns what the Query shows in place of an item: the item itself, an earlier state, or
        None to leave it out.
    times: how many Queries this changes.
    """
    wire, done = Wire.of(table), 0

    def change(request: Request, answer: dict[str, Any]) -> None:
        nonlocal done
        if request.operation != "Query" or done == times:
            return
        shown = [hidden(item) for item in answer["Items"]]
        if shown != answer["Items"]:
            done += 1
            answer["Items"][:] = [item for item in shown if item is not None]

    wire.after(change)
    return wire


def without(key: Key) -> Callable[[Item], Item | None]:
    return lambda item: None if items.key(item) == key else item


@pytest.fixture
def shared(store: Store) -> Table:
    """A tree of Ann with a fork. Bob is a writer."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    share(table, "bob")
    return table


def owners(store: Store) -> set[str]:
    return {items.head(i).owner for k, i in store.contents().items() if k.sort.startswith("HEAD#")}


@pytest.mark.failure("half-visible-transaction")
def test_a_transfer_rewrites_a_head_that_was_shown_late(store: Store, shared: Table) -> None:
    transfer = offer(shared)
    warm = store.process()
    say(warm, FORK, "of ann")
    process = store.process()
    sees_late(process, without(keys.head(ROOT, FORK)), times=2)

    accept(process, transfer)
    remove(store.process(), "ann", by=BOB)

    assert owners(store) == {"bob"}
    with store.refuses(ForbiddenError):
        say(warm, FORK, "too late")


@pytest.mark.failure("half-visible-transaction")
def test_a_rewriting_that_never_sees_a_head_stays_a_job(store: Store, shared: Table) -> None:
    transfer = offer(shared)
    process = store.process()
    wire = sees_late(process, without(keys.head(ROOT, FORK)), times=ALWAYS)

    accept(process, transfer)

    assert wire.operations.count("Query") == LOOKS_MAX + 1  # for the links, too
    assert keys.job("transfer", ROOT) in store.contents()
    transfers.finish_rewriting(store.process(), ROOT)
    assert owners(store) == {"bob"}


@pytest.mark.failure("half-visible-transaction")
def test_a_deletion_closes_a_fork_that_was_shown_late(store: Store, shared: Table) -> None:
    warm = store.process()
    say(warm, FORK, "b")
    process = store.process()
    sees_late(process, without(keys.head(ROOT, FORK)), times=2)

    assert tree_deletion.delete_conversation(process, Mailbox().queue, caller=ANN, conversation_id=ROOT)

    with store.refuses(NotFoundError):
        say(warm, FORK, "too late")


@pytest.mark.failure("half-visible-transaction")
def test_a_deletion_that_never_sees_a_fork_is_not_204(store: Store, shared: Table) -> None:
    process = store.process()
    sees_late(process, without(keys.head(ROOT, FORK)), times=ALWAYS)

    assert not tree_deletion.delete_conversation(process, Mailbox().queue, caller=ANN, conversation_id=ROOT)


def kid_of(store: Store, child: str) -> Key:
    child_key = items.group(store.item(keys.group(child))).child_key
    assert child_key is not None
    return child_key


@pytest.mark.failure("half-visible-transaction")
def test_a_deletion_closes_a_child_that_was_shown_late(store: Store, shared: Table) -> None:
    """After the 204 nobody can write to a direct child."""
    start(shared, "a task")
    warm = store.process()
    say(warm, CHILD, "b")
    process = store.process()
    sees_late(process, without(kid_of(store, CHILD)), times=2)

    assert tree_deletion.delete_conversation(process, Mailbox().queue, caller=ANN, conversation_id=ROOT)

    with store.refuses(NotFoundError):
        say(warm, CHILD, "too late")


@pytest.mark.failure("half-visible-transaction")
def test_a_deletion_that_never_sees_a_child_is_not_204(store: Store, shared: Table) -> None:
    start(shared, "a task")
    process, mailbox = store.process(), Mailbox()
    wire = sees_late(process, without(kid_of(store, CHILD)), times=ALWAYS)

    assert not tree_deletion.delete_conversation(process, mailbox.queue, caller=ANN, conversation_id=ROOT)

    # Another thread reads the HEADs, and may be late.
    of_children = [one for one in wire.requests if one.operation == "Query" and "CHILD#" in str(one.body)]
    assert len(of_children) == LOOKS_MAX
    assert [message.group_id for message in mailbox.messages] == [ROOT]


@pytest.mark.failure("half-visible-transaction")
@pytest.mark.parametrize("is_there", [True, False], ids=["with its parent", "without"])
def test_a_deleted_child_stops_counting_after_its_child_item_is_deleted(
    store: Store, shared: Table, is_there: bool
) -> None:
    start(shared, "a task")
    assert items.group(store.item(keys.group(ROOT))).children == 1
    mailbox = Mailbox()
    assert tree_deletion.delete_conversation(shared, mailbox.queue, caller=ANN, conversation_id=CHILD)
    if not is_there:
        store.process().delete([keys.group(ROOT)])
    child_key, worker, seen = kid_of(store, CHILD), store.process(), list[tuple[bool, bool]]()

    def note(_request: Request, _answer: dict[str, Any]) -> None:
        parent = store.contents().get(keys.group(ROOT))
        seen.append((child_key in store.contents(), parent is not None and items.group(parent).children == 1))

    Wire.of(worker).after(note)
    assert run_deletion(worker, mailbox.queue, CHILD, wait_s=0)

    if is_there:
        assert list(dict.fromkeys(seen)) == [(True, True), (False, True), (False, False)]
        assert items.group(store.item(keys.group(ROOT))).children == 0
    assert (keys.group(ROOT) in store.contents()) == is_there
    assert keys.group(CHILD) not in store.contents()
    assert keys.job("delete", CHILD) not in store.contents()


@pytest.mark.failure("half-visible-transaction")
def test_a_parent_can_be_deleted_while_a_child_is_at_the_end_of_its_deletion(
    store: Store, shared: Table
) -> None:
    """The child's CHILD item is deleted, but the child counts until its GROUP is deleted."""
    start(shared, "a task")
    mailbox = Mailbox()
    assert tree_deletion.delete_conversation(shared, mailbox.queue, caller=ANN, conversation_id=CHILD)
    parent_deletion, begins, ends = store.process(), Lock(), list[bool]()

    def end(_request: Request) -> None:
        if keys.group(ROOT) in store.contents():
            dying = items.group(store.item(keys.group(ROOT))).state is State.DELETING
            with begins:  # the other threads wait: else one may give up before the child is gone
                if dying and not ends:
                    ends.append(run_deletion(store.process(), mailbox.queue, CHILD, wait_s=0))

    store.process().delete([kid_of(store, CHILD)])
    wire = Wire.of(parent_deletion)
    wire.before(lambda request: end(request) if wire.operations.count("Query") >= 3 else None)

    assert tree_deletion.delete_conversation(parent_deletion, mailbox.queue, caller=ANN, conversation_id=ROOT)
    assert ends == [True]


@pytest.mark.failure("half-visible-transaction")
@pytest.mark.parametrize("by", [ANN, BOB], ids=["by the one before", "by the new one"])
def test_a_child_has_the_owner_of_the_parent_although_the_members_were_shown_late(
    store: Store, shared: Table, by: Caller
) -> None:
    earlier = {
        keys.member(ROOT, user_id): store.item(keys.member(ROOT, user_id)) for user_id in ("ann", "bob")
    }
    accept(shared, offer(shared))
    process = store.process()
    sees_late(process, lambda item: earlier.get(items.key(item), item), times=2)

    start(process, "x", by=by)

    assert members(store.process(), CHILD) == {"ann": "manager", "bob": "owner"}
    assert items.group(store.item(keys.group(CHILD))).owner == "bob"


@pytest.mark.failure("half-visible-transaction")
def test_a_removed_member_whose_membership_is_still_shown_starts_no_child(
    store: Store, shared: Table
) -> None:
    earlier = store.item(keys.member(ROOT, "bob"))
    remove(shared, "bob")
    process = store.process()
    wire = Wire.of(process)

    def change(request: Request, answer: dict[str, Any]) -> None:
        if request.operation == "Query":
            answer["Items"].append(earlier)
        elif request.operation == "BatchGetItem":
            answer["Responses"]["forklore"].append(earlier)

    wire.after(change)

    with store.unchanged(), pytest.raises(UnavailableError):
        start(process, "x", by=BOB)


@pytest.mark.failure("half-visible-transaction")
@pytest.mark.parametrize("then", [("a", "mine"), ("a",), ("a", "rival"), ("a", "rival", "more")])
def test_a_sync_does_not_decide_on_a_half_visible_sync(
    store: Store, table: Table, then: tuple[str, ...]
) -> None:
    sync(table, "a")
    rival = note(store.process(), ROOT, "rival", by=PLANNER)
    process = store.process()
    sees_late(process, without(keys.entry(ROOT, rival)), times=2)

    sync(process, *then)

    assert known(store.process()) == list(then)


@pytest.mark.failure("half-visible-transaction")
def test_a_first_sync_does_not_take_an_entry_without_its_head_for_inherited(
    store: Store, table: Table
) -> None:
    say(table, ROOT, "hello")
    process = store.process()
    wire, missed = Wire.of(process), list[int]()

    def miss(request: Request, answer: dict[str, Any]) -> None:
        if request.operation == "BatchGetItem" and not missed:
            missed.append(request.number)
            answer["Responses"]["forklore"][:] = [
                item for item in answer["Responses"]["forklore"] if not item["SK"]["S"].startswith("CTX#")
            ]

    note(store.process(), ROOT, "rival", by=PLANNER)
    wire.after(miss)

    sync(process, "rival", "mine")

    assert known(store.process()) == ["rival", "mine"]


@pytest.mark.failure("half-visible-transaction")
@pytest.mark.parametrize("user_id", ["~", "~bob", "~~", "$", "#", "MEM#"])
def test_a_member_of_any_name_is_listed_copied_and_deleted(store: Store, table: Table, user_id: str) -> None:
    append(table, OTHER, "of somebody else", by=Caller(user_id))
    before = store.contents()
    append(table, ROOT, "a")
    share(table, user_id)
    start(table, "x", by=Caller(user_id))
    assert members(table) == {"ann": "owner", user_id: "writer"} == members(table, CHILD)

    mailbox = Mailbox()
    assert tree_deletion.delete_conversation(table, mailbox.queue, caller=ANN, conversation_id=ROOT)
    for tree in (ROOT, CHILD):
        assert run_deletion(table, mailbox.queue, tree, wait_s=0)

    left = {key: item for key, item in store.contents().items() if "retired" not in item}
    assert left == before
    assert read(store.process(), OTHER, by=Caller(user_id)) == ["of somebody else"]


@pytest.mark.failure("half-visible-transaction")
def test_an_owner_of_any_name_starts_a_child(table: Table) -> None:
    owner = Caller("~bob")
    append(table, ROOT, "a", by=owner)

    start(table, "x", by=owner)

    assert members(table, CHILD, by=owner) == {"~bob": "owner"}


def test_a_branch_is_not_pruned_too_far_while_its_fork_is_being_removed(store: Store) -> None:
    """The removal of a fork moves its record. A Query in the middle of it may see no record."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table, ROOT, FORK)
    say(table, FORK, "f1", "f2")
    fork(table, FORK, TWIG)
    say(table, TWIG, "g")
    fork(table, TWIG, OTHER)
    say(table, OTHER, "own")
    for removed in (FORK, TWIG):
        assert branch_removal.remove_branch(
            table, Mailbox().queue, caller=ANN, conversation_id=removed, wait_s=0
        )

    worker = store.process()
    hidden = [1]

    def hide(request: Request, answer: dict[str, Any]) -> None:
        of_records = [
            item for item in answer.get("Items", []) if f"{FORK}#F#" in item.get("L1", {}).get("S", "")
        ]
        if of_records and hidden:
            hidden.pop()
            answer["Items"].clear()

    Wire.of(worker).after(hide)
    run_prune(worker, Mailbox().queue, ROOT, FORK, wait_s=0)

    assert not hidden
    assert read(store.process(), OTHER) == ["a", "f1", "f2", "g", "own"]


@pytest.mark.failure("half-visible-transaction", "torn-read")
def test_a_child_does_not_copy_a_level_that_was_taken_away(store: Store, shared: Table) -> None:
    """GROUP shows the change already, and the membership not yet."""
    share(shared, "eve", WRITER)
    place = keys.member(ROOT, "eve")
    earlier = store.item(place)
    update(shared, "eve", READER)
    process = store.process()
    sees_late(process, lambda item: earlier if items.key(item) == place else item, times=1)

    start(process, by=BOB)

    assert members(store.process(), CHILD)["eve"] == "reader"


def test_a_level_from_before_a_transfer_is_no_change_that_is_seen_late(store: Store, shared: Table) -> None:
    """Bob is a writer, then the owner, then a manager, as he was before he was a writer."""
    update(shared, "bob", MANAGER)
    update(shared, "bob", WRITER)
    accept(shared, offer(shared))
    accept(shared, offer(shared, "ann", by=BOB))

    start(store.process())

    assert members(store.process(), CHILD)["bob"] == "manager"


@pytest.mark.failure("half-visible-transaction", "removal-race")
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_branch_is_pruned_although_its_fork_is_shown_when_that_is_pruned(store: Store, times: int) -> None:
    """The end of a pruning deletes a record. A Query in the middle of that may still see it."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table, ROOT, FORK)
    say(table, FORK, "f1", "f2")
    fork(table, FORK, TWIG)
    say(table, TWIG, "g")
    for removed in (FORK, TWIG):
        assert branch_removal.remove_branch(
            table, Mailbox().queue, caller=ANN, conversation_id=removed, wait_s=0
        )
    record = store.item(keys.remnant(ROOT, TWIG))
    assert run_prune(table, Mailbox().queue, ROOT, TWIG, wait_s=0)

    worker, late = store.process(), [record] * times

    def show_late(request: Request, answer: dict[str, Any]) -> None:
        if late and f"{FORK}#F#" in str(request.body.get("ExpressionAttributeValues")):
            answer["Items"][:] = [late.pop()]

    Wire.of(worker).after(show_late)
    while not run_prune(worker, Mailbox().queue, ROOT, FORK, wait_s=0):
        pass

    assert check(store.contents().values(), now_s=worker.now_s()) == []
    assert [key for key in store.contents() if key.partition == ROOT and key.sort.startswith("GONE#")] == []


@pytest.mark.failure("torn-read", "removal-race")
@pytest.mark.parametrize("drafts", [(), (said("c"),)], ids=["fork", "append to a new fork"])
def test_no_fork_is_made_of_a_branch_whose_head_is_still_shown(store: Store, drafts: Sequence[Draft]) -> None:
    """The branch is removed and pruned. A read then shows GROUP as it is, but the branch late."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table, ROOT, FORK)
    [own] = say(table, FORK, "b")
    process = store.process()
    late = store.contents()
    branch_removal.remove_branch(table, Mailbox().queue, caller=ANN, conversation_id=FORK, wait_s=0)
    assert run_prune(table, Mailbox().queue, ROOT, FORK, wait_s=0)
    before = store.contents()
    wire, reads = Wire.of(process), 0

    def show_late(request: Request, answer: dict[str, Any]) -> None:
        nonlocal reads
        if request.operation == "BatchGetItem" and reads < 2:
            reads += 1
            [(name, asked)] = request.body["RequestItems"].items()
            wanted = {items.key(key) for key in asked["Keys"]} - {keys.group(ROOT)}
            shown = [item for item in answer["Responses"][name] if items.key(item) not in wanted]
            answer["Responses"][name] = [*shown, *(late[key] for key in wanted if key in late)]

    wire.after(show_late)
    with pytest.raises(NotFoundError):
        fork(process, FORK, TWIG, own, drafts=drafts)

    assert "TransactWriteItems" in wire.operations
    assert store.contents() == before
