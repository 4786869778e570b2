"""Removal of one branch: what goes at once, what stays for others, and what the worker removes."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from forklore_local.fsck.check import check
from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import FIRST, LAST
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller, Channel, StartedBy
from forklore_service.domain.tree import Group, State
from forklore_service.errors import ConflictError, ForbiddenError, NotFoundError, UnavailableError
from forklore_service.storage import items
from forklore_service.storage.table import Table
from forklore_service.usecases.background.sweeper import sweep
from forklore_service.usecases.background.worker import Outcome
from forklore_service.usecases.branches.children import list_children
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from forklore_service.usecases.people import transfers
from forklore_service.usecases.reading.fork_lists import list_forks
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.writing.append import append_entries
from tests.service.usecases.builders import (
    ANN,
    BOB,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    A,
    B,
    append,
    begin,
    conversation,
    create,
    drop,
    fork,
    idempotency_key,
    large,
    log,
    page,
    promote,
    read,
    said,
    say,
    show,
    texts,
    thought,
    write,
)
from tests.support.mailbox import Mailbox
from tests.support.tables import Store
from tests.support.torn import tear
from tools.harness.wire import Request, Wire

ADMIN = Caller("root", bypasses_membership=True)
CHILD, SIBLING, NEPHEW, LATER = (conversation(number) for number in range(11, 15))


def remove(
    table: Table, conversation_id: str, *, by: Caller = ANN, mailbox: Mailbox | None = None, wait_s: int = 0
) -> bool:
    queue = (mailbox or Mailbox()).queue
    return remove_branch(table, queue, caller=by, conversation_id=conversation_id, wait_s=wait_s)


def prune(store: Store) -> None:
    """Let the sweep and the worker do all that is left, and check what is stored."""
    mailbox, table = Mailbox(), store.process()
    for _ in range(50):
        swept = sweep(table, mailbox.queue)
        for message in mailbox.take():
            message.work(table, mailbox.queue)
        if not swept.jobs and not mailbox.messages:
            assert_intact(store)
            return
    raise AssertionError("the jobs do not come to an end")


def assert_intact(store: Store) -> None:
    assert check(store.contents().values(), now_s=store.process().now_s()) == []


def group(store: Store) -> Group:
    return items.group(store.item(keys.group(ROOT)))


def start(table: Table, parent: str, child: str) -> None:
    append_entries(table, caller=ANN, request=Append(child, [said("go")], start=StartedBy(parent, None)))


def forks_of(table: Table, conversation_id: str = ROOT) -> list[str]:
    listed = list_forks(table, caller=ANN, conversation_id=conversation_id, after=None, limit=200)
    return [one.conversation_id for one, _ in listed.conversations]


# What goes at once


def test_a_removed_branch_is_gone_and_the_others_read_as_before(store: Store) -> None:
    table = store.process()
    _, second, _ = say(table, ROOT, "a", "b", "c")
    fork(table, ROOT, FORK, second)
    say(table, FORK, "d")
    fork(table, FORK, TWIG)

    assert remove(table, FORK)

    for process in (table, store.process()):
        for request in (read, show):
            with pytest.raises(NotFoundError):
                request(process, FORK)
        with pytest.raises(NotFoundError):
            say(process, FORK, "x")
        with pytest.raises(ConflictError):
            create(process, FORK)
        assert read(process, ROOT) == ["a", "b", "c"]
        assert read(process, TWIG) == ["a", "d"]
        assert forks_of(process) == [ROOT, TWIG]
    assert_intact(store)
    prune(store)
    assert read(table, TWIG) == ["a", "d"]


def test_a_list_of_the_whole_tree_shows_only_what_a_live_branch_shows(store: Store) -> None:
    """Also before the worker comes; and in pages of one entry, forward and backward."""
    table = store.process()
    say(table, ROOT, "a", "b", "c")
    fork(table, ROOT, FORK)
    _, unshown = say(table, FORK, "shown by the twig", "shown by nobody")
    fork(table, FORK, TWIG, unshown)
    say(table, TWIG, "d")
    remove(table, FORK)
    remove(table, ROOT)
    whole = ["a", "b", "c", "shown by the twig", "d"]

    assert read(table, TWIG, all_forks=True) == whole
    for backward in (False, True):
        pages: list[str] = []
        at = page(table, TWIG, all_forks=True, limit=1, tail=backward)
        while True:
            pages = texts(at.entries) + pages if backward else pages + texts(at.entries)
            resume = at.before if backward else at.after
            if resume is None:
                break
            before, after = (resume, None) if backward else (None, resume)
            at = page(table, TWIG, all_forks=True, limit=1, before=before, after=after)
        assert pages == whole
    prune(store)
    assert read(table, TWIG, all_forks=True) == whole


def test_a_replay_under_the_key_of_a_removed_branch_is_404(table: Table) -> None:
    say(table, ROOT, "a")
    fork(table, ROOT, FORK, idempotency_key=idempotency_key("f"))
    append(table, FORK, "b", idempotency_key=idempotency_key("e"))
    remove(table, FORK)

    with pytest.raises(NotFoundError):
        fork(table, ROOT, FORK, idempotency_key=idempotency_key("f"))
    with pytest.raises(NotFoundError):
        append(table, FORK, "b", idempotency_key=idempotency_key("e"))


def test_a_manager_removes_a_branch_but_not_the_last_one(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    store.add_member(ROOT, "bob", AccessLevel.MANAGER)

    assert remove(table, FORK, by=BOB)
    with store.refuses(ForbiddenError):
        remove(table, ROOT, by=BOB)
    prune(store)


def test_a_manager_removes_no_branch_that_has_started_a_live_tree(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    start(table, FORK, CHILD)
    start(table, ROOT, SIBLING)
    store.add_member(ROOT, "bob", AccessLevel.MANAGER)

    with pytest.raises(ForbiddenError):
        remove(store.process(), FORK, by=BOB)
    assert read(table, CHILD) == ["go"]

    delete_conversation(table, Mailbox().queue, caller=ANN, conversation_id=CHILD)
    assert remove(store.process(), FORK, by=BOB)


def test_an_admin_removes_branches_without_being_a_member(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    fork(table)

    assert remove(table, FORK, by=ADMIN)
    assert remove(table, ROOT, by=ADMIN)
    prune(store)
    assert {key.partition[:4] for key in store.contents()} == {"PTR#"}


# The last branch, the root, the current branch


def test_removing_the_last_branch_is_deleting_the_tree(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a", "b")
    fork(table)
    remove(table, ROOT)
    prune(store)

    assert remove(table, FORK)

    prune(store)
    left = store.contents()
    assert set(left) == {keys.pointer(ROOT), keys.pointer(FORK)}
    assert all("ttl" in item for item in left.values())


def test_a_removed_root_stays_as_far_as_a_fork_shows_it(store: Store) -> None:
    table = store.process()
    _, second, _ = say(table, ROOT, "a", "b", "c")
    fork(table, ROOT, FORK, second)

    assert remove(table, ROOT)

    prune(store)
    assert read(table, FORK) == ["a"]
    assert group(store).current == FORK
    assert len([key for key in store.contents() if key.sort[:1].isdigit() and key.partition == ROOT]) == 1
    assert "ttl" not in store.item(keys.pointer(ROOT))
    with pytest.raises(ConflictError):
        create(table, ROOT)


def test_the_id_of_a_removed_root_rests_as_long_as_its_tree_lives(store: Store) -> None:
    """Nothing of the root is left but its id, which is also that of the tree."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    say(table, FORK, "b")
    fork(table, FORK, TWIG)
    create(table, OTHER)
    remove(table, ROOT)
    prune(store)
    assert "ttl" not in store.item(keys.pointer(ROOT))
    assert read(table, TWIG) == ["a", "b"]

    delete_conversation(table, Mailbox().queue, caller=ANN, conversation_id=TWIG, wait_s=0)
    prune(store)

    assert all("ttl" in store.item(keys.pointer(one)) for one in (ROOT, FORK, TWIG))
    assert [key for key in store.contents() if key.partition == ROOT] == []


@pytest.mark.parametrize("removed", [ROOT, FORK])
def test_the_id_of_a_remnant_rests_as_long_as_others_show_it(store: Store, removed: str) -> None:
    """A fork under the same id in the same tree would mix their entries."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    say(table, FORK, "b")
    fork(table, FORK, TWIG)
    remove(table, removed)
    prune(store)
    assert "ttl" not in store.item(keys.pointer(removed))

    remove(table, TWIG)
    prune(store)

    assert ("ttl" in store.item(keys.pointer(removed))) is (removed == FORK)


def test_the_oldest_live_conversation_becomes_current_in_place_of_the_current_one(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    for fork_id in (FORK, TWIG, OTHER):
        fork(table, ROOT, fork_id)
    assert group(store).current == ROOT

    remove(table, FORK)
    assert group(store).current == ROOT
    remove(table, ROOT)
    assert group(store).current == TWIG
    remove(table, TWIG)
    assert group(store).current == OTHER


# What the worker removes


def own_entries(store: Store, conversation_id: str) -> list[Key]:
    of = f"{conversation_id}#"
    return [
        key
        for key, item in store.contents().items()
        if key.partition == ROOT and key.sort[:1].isdigit() and item["L1"]["S"].startswith(of)
    ]


def test_entries_after_the_last_that_somebody_shows_are_removed(store: Store) -> None:
    table = store.process()
    _, second, third, _ = say(table, ROOT, "a", "b", "c", "d")
    append(table, ROOT, large(600_000))
    fork(table, ROOT, FORK, second)
    fork(table, ROOT, TWIG, third)
    remove(table, ROOT)
    assert len(own_entries(store, ROOT)) == 5

    prune(store)

    assert len(own_entries(store, ROOT)) == 2
    assert not any(key.partition.startswith("BLOB#") for key in store.contents())
    remove(table, TWIG)
    prune(store)
    assert len(own_entries(store, ROOT)) == 1
    assert read(table, FORK) == ["a"]


def test_the_context_that_a_fork_inherits_stays_with_it(store: Store) -> None:
    table = store.process()
    append(table, ROOT, "a", by=PLANNER)
    append(table, ROOT, thought("one"), thought("two"), by=PLANNER)
    [anchor] = say(table, ROOT, "b")
    append(table, ROOT, thought("three"), by=PLANNER)
    fork(table, ROOT, FORK, anchor)
    before = context(table, FORK)
    remove(table, ROOT)

    prune(store)

    assert context(table, FORK) == before == ["one", "two"]
    append(table, FORK, thought("four"), by=PLANNER)
    assert context(table, FORK) == ["one", "two", "four"]
    assert_intact(store)


def test_the_latest_epoch_of_all_forks_is_found_without_reading_the_tree(store: Store) -> None:
    """Neither a removed branch nor an earlier state makes it read more than one entry."""
    table = store.process()
    append(table, ROOT, thought("one", 1), by=PLANNER)
    said_ids = say(table, ROOT, *map(str, range(40)))
    fork(table)
    append(table, FORK, thought("two", 2), by=PLANNER)
    [anchor] = say(table, FORK, "b")
    append(table, FORK, thought("three", 3), by=PLANNER)
    fork(table, FORK, TWIG, anchor)
    remove(table, FORK)
    process, read_entries = store.process(), 0

    def count(_request: Request, answer: dict[str, Any]) -> None:
        nonlocal read_entries
        read_entries += sum("size" in item for item in answer.get("Items", []))

    Wire.of(process).after(count)
    for stop, epoch, most in ((LAST, 2, 1), (anchor, 2, 1), (said_ids[-1], 1, 0), (FIRST, None, 0)):
        read_entries = 0
        assert view_pages.latest_epoch_of_tree(process, ROOT, "planner", stop=stop) == epoch
        assert read_entries <= most, stop


def context(table: Table, conversation_id: str, **what: Any) -> list[str]:
    return read(table, conversation_id, by=PLANNER, channel=Channel.CONTEXT, **what)


def test_a_branch_that_nobody_shows_leaves_only_its_id(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    before = store.contents()
    fork(table, ROOT, FORK)
    append(table, FORK, "b", thought("c"), by=PLANNER)
    remove(table, FORK)

    prune(store)

    changed = {keys.pointer(FORK), keys.group(ROOT)}
    assert set(store.contents()) - set(before) == {keys.pointer(FORK)}
    assert {key for key, item in before.items() if store.item(key) != item} <= changed


def test_a_chain_of_removed_branches_goes_with_the_last_one_that_shows_it(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    chain = [ROOT, *(conversation(100 + number) for number in range(6))]
    for source, fork_id in pairwise(chain):
        fork(table, source, fork_id)
        say(table, fork_id, fork_id[:8])
    fork(table, ROOT, OTHER)
    shown = read(table, chain[-1])
    for one in chain[:-1]:
        remove(table, one)
        prune(store)
        assert read(table, chain[-1]) == shown

    remove(table, chain[-1])
    prune(store)

    assert read(table, OTHER) == ["a"]
    assert len([key for key in store.contents() if key.partition == ROOT and key.sort[:1].isdigit()]) == 1
    rest = [key for key in store.contents() if key.sort.startswith(("GONE#", "PATH#"))]
    assert rest == [keys.remnant(ROOT, ROOT), keys.path(ROOT, OTHER)]


def test_nothing_is_removed_before_the_wait_is_over(store: Store) -> None:
    """A request that has read the branch before its removal still reads its entries."""
    table, mailbox = store.process(), Mailbox()
    say(table, ROOT, "a")
    fork(table)
    say(table, FORK, "b")
    remove(table, FORK, mailbox=mailbox, wait_s=35)
    [message] = mailbox.take()
    assert (message.kind, message.conversation_id, message.delay_s) == ("prune", FORK, 36)

    assert message.work(table, mailbox.queue, wait_s=35) is Outcome.LEFT

    [again] = mailbox.take()
    assert 30 <= again.delay_s <= 36
    assert len(own_entries(store, FORK)) == 1
    assert again.work(table, mailbox.queue) is Outcome.DONE
    assert own_entries(store, FORK) == []


def test_a_removal_that_is_requested_again_while_a_worker_looks_is_not_forgotten(store: Store) -> None:
    """The worker finds a fork that shows the branch. Before it notes so, that fork is pruned."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    say(table, FORK, "b")
    fork(table, FORK, TWIG)
    mailbox = Mailbox()
    remove(table, FORK, mailbox=mailbox)
    remove(table, TWIG, mailbox=mailbox)
    of_fork, of_twig = mailbox.take()
    late, rival = store.process(), store.process()
    waiting: list[Callable[[], object]] = [lambda: of_twig.work(rival, mailbox.queue)]

    def before(request: Request) -> None:
        is_end = any("Delete" in one for one in request.body.get("TransactItems", []))
        if waiting and is_end:
            waiting.pop()()

    Wire.of(late).before(before)
    of_fork.work(late, mailbox.queue)

    assert not waiting
    prune(store)
    assert own_entries(store, FORK) == []


# Children


def test_the_children_of_a_removed_branch_go_and_those_of_others_stay(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    start(table, FORK, CHILD)
    start(table, ROOT, SIBLING)

    assert remove(table, FORK)

    for process in (table, store.process()):
        with pytest.raises(NotFoundError):
            read(process, CHILD)
        assert read(process, SIBLING) == ["go"]
    assert_intact(store)
    prune(store)
    assert group(store).children == 1
    assert not any(key.partition == CHILD for key in store.contents())


def test_a_child_whose_root_was_removed_is_listed_by_its_current_branch(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    start(table, ROOT, CHILD)
    fork(table, CHILD, SIBLING)
    remove(table, CHILD)
    prune(store)

    listed = list_children(table, caller=ANN, conversation_id=ROOT, after=None, limit=20)

    assert [one.conversation.conversation_id for one in listed.rows] == [SIBLING]


@pytest.mark.parametrize("promoted", [SIBLING, NEPHEW])
def test_a_list_of_children_goes_on_after_a_child_whose_root_was_removed(store: Store, promoted: str) -> None:
    """The id that the list has shown is a cursor, whichever branch is the current one by now."""
    table = store.process()
    say(table, ROOT, "a")
    start(table, ROOT, CHILD)
    fork(table, CHILD, SIBLING)
    fork(table, CHILD, NEPHEW)
    start(table, ROOT, LATER)
    remove(table, CHILD)
    promote(table, promoted)

    for process in (table, store.process()):
        listed = list_children(process, caller=ANN, conversation_id=ROOT, after=SIBLING, limit=20)
        assert [one.conversation.conversation_id for one in listed.rows] == [LATER]


def test_the_worker_closes_the_children_that_the_request_did_not_see(store: Store) -> None:
    table, mailbox = store.process(), Mailbox()
    say(table, ROOT, "a")
    fork(table)
    start(table, FORK, CHILD)
    hurried = store.process()
    wire = Wire.of(hurried)
    committed: list[bool] = []

    def end(request: Request) -> None:
        if committed:
            raise UnavailableError("there is no time left for this request")
        committed.extend([True] if request.operation == "TransactWriteItems" else [])

    wire.before(end)
    assert not remove(hurried, FORK, mailbox=mailbox, wait_s=35)

    [message] = mailbox.take()
    assert message.delay_s == 0
    assert_intact(store)
    message.work(store.process(), mailbox.queue, wait_s=35)
    with pytest.raises(NotFoundError):
        read(store.process(), CHILD)
    prune(store)
    assert group(store).children == 0


def test_deleting_the_tree_ends_the_pruning_of_its_branches(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    say(table, FORK, "b")
    fork(table, FORK, TWIG)
    remove(table, FORK)
    delete_conversation(table, Mailbox().queue, caller=ANN, conversation_id=ROOT, wait_s=0)
    assert_intact(store)

    prune(store)

    left = store.contents()
    assert set(left) == {keys.pointer(one) for one in (ROOT, FORK, TWIG)}
    assert all("ttl" in item for item in left.values())


# Beside other requests


def test_an_offer_that_names_a_removed_branch_can_be_accepted(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    store.add_member(ROOT, "bob")
    offer = transfers.request_transfer(table, caller=ANN, conversation_id=FORK, new_owner="bob")
    remove(table, FORK)
    prune(store)

    assert transfers.accept_transfer(table, caller=BOB, transfer_id=offer.transfer_id) is None
    assert group(store).owner == "bob"


def first_write(act: Callable[[], object]) -> Callable[[Request], None]:
    waiting = [act]

    def before(request: Request) -> None:
        if request.operation == "TransactWriteItems" and waiting:
            waiting.pop()()

    return before


@pytest.mark.parametrize("was", [None, A])
def test_an_answer_that_begins_while_its_branch_is_removed_goes_with_it(
    store: Store, was: str | None
) -> None:
    table = store.process()
    say(table, ROOT, "Why?")
    fork(table)
    if was:
        begin(table, was, of=FORK)

    def begin_another() -> None:
        if was:
            drop(table, was, of=FORK)
        begin(table, B, of=FORK)
        write(table, 0, of=FORK, to=B)

    late = store.process()
    Wire.of(late).before(first_write(begin_another))
    assert remove_branch(late, Mailbox().queue, caller=ANN, conversation_id=FORK)
    prune(store)

    assert log(store, B) == ["end"]
    assert_intact(store)


def test_the_last_branch_is_not_the_last_if_it_is_forked_meanwhile(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    late = store.process()
    Wire.of(late).before(first_write(lambda: fork(store.process())))

    assert remove(late, ROOT)

    prune(store)
    assert read(table, FORK) == ["a"]


def test_a_removal_whose_first_attempt_was_written_is_done(store: Store) -> None:
    """DynamoDB makes a repeated transaction harmless for some minutes. After that it is refused."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    late = store.process()
    nonce = late.nonce()
    late.nonce = lambda: nonce  # type: ignore[method-assign]
    earlier = store.process()
    earlier.nonce = late.nonce  # type: ignore[method-assign]
    Wire.of(late).before(first_write(lambda: remove(earlier, FORK)))

    assert remove(late, FORK)

    prune(store)


# Reads that are torn: GROUP is read after another request, and HEAD before it


def removed_amid_the_read(store: Store, conversation_id: str) -> Table:
    """Return a process that sees GROUP as after a removal, and the branch as before it."""
    late = store.process()
    show(late, conversation_id)
    tear(
        late, early=lambda key: key.sort != "GROUP", between=lambda: remove(store.process(), conversation_id)
    )
    return late


@pytest.mark.failure("torn-read")
def test_a_branch_that_was_just_removed_does_not_take_its_tree_along(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    late = removed_amid_the_read(store, FORK)

    with pytest.raises(NotFoundError):
        remove(late, FORK)

    assert read(table, ROOT) == ["a"]
    prune(store)


@pytest.mark.failure("torn-read")
def test_a_branch_is_counted_down_only_once(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    fork(table, ROOT, TWIG)
    late = removed_amid_the_read(store, FORK)

    with pytest.raises(NotFoundError):
        remove(late, FORK)

    assert group(store).conversations == 2
    prune(store)


# A removal of the last branch that stopped


@pytest.mark.failure("killed-between-calls")
def test_a_removal_of_the_last_branch_goes_on_after_its_tombstone(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    first = store.process()

    def stop(request: Request) -> None:
        if request.operation == "Query":
            raise KeyboardInterrupt

    Wire.of(first).before(stop)
    with pytest.raises(KeyboardInterrupt):
        remove(first, ROOT)
    assert group(store).state is State.DELETING

    assert remove(store.process(), ROOT)

    with pytest.raises(NotFoundError):
        say(table, ROOT, "too late")
    with pytest.raises(NotFoundError):
        remove(store.process(), ROOT)
