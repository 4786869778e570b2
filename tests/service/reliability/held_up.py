"""Requests that are delayed for long: orders of calls that the search does not reach."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

from forklore_service.domain import keys
from forklore_service.domain.answer_logs import KEPT_SECONDS
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import MOVE_MS, State
from forklore_service.storage import items
from forklore_service.storage.actions.group import CONVERSATIONS_MAX
from forklore_service.storage.connection import Item
from forklore_service.usecases.background.worker import Outcome
from forklore_service.usecases.people import links, spreading
from forklore_service.usecases.people.erasing import forget_digests
from tests.service.reliability.faults import WRITE, Call, Choose, Fault, Rewrite
from tests.service.reliability.held_up_attachments import OF_ATTACHMENTS
from tests.service.reliability.held_up_trash import OF_TRASH
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.schedules import follow
from tests.service.reliability.service import Endpoint, Process
from tests.service.reliability.violation import hold
from tests.service.reliability.world import (
    ABANDONED_SECONDS,
    ANN,
    ANSWER,
    BOB,
    CHILD,
    CODER,
    CROWD,
    CUT,
    CUT_FORK,
    CUT_TWIG,
    DEAD,
    FORK,
    GIVEN,
    HALF,
    HALF_COPY,
    LAST_OF_CROWD,
    LONG,
    MIA,
    NEW,
    NOT_YET_SILENT_SECONDS,
    OTHER,
    OWN,
    PASSED,
    PASSED_FORK,
    PLANNER,
    RITA,
    ROOT,
    ROOT_CALLER,
    UNTITLED,
    UNUSED_SECONDS,
    WORDS,
    World,
    answering,
    begin,
    built,
    crowded,
    dead,
    dead_family,
    delete_unused,
    embedded_own,
    family,
    give_up_and_clear,
    half_copied,
    handed_over,
    in_days,
    killed_at_write,
    later,
    leaving,
    leaving_answering,
    left,
    lengthy,
    linked,
    nearly_erased,
    offered,
    recall,
    removed_both,
    removed_first,
    run_deletion,
    run_erasures,
    run_prune,
    said,
    settle,
    silent,
    thought,
    twig_of_trashed,
    twig_removed,
    untitled,
    with_index,
)
from tests.support.mailbox import Mailbox, Message
from tests.support.tables import Store
from tests.support.torn import tear
from tools.harness.wire import Request, Wire

GO_ON: Mapping[str, Any] = {"conversationId": HALF, **said("half"), "startedByConversationId": CROWD}
LONG_S = 300
FOREVER_S = 1_000_000
"""A wait that has not ended, however long ago a world was built."""
OPENS = 3
"""Writes of a caller who removes a member and continues a child, before the child is opened."""


def first_write(act: Callable[[], object]) -> Choose:
    """Return a choice of faults that runs `act` once, just before the first write."""
    waiting = [act]

    def choose(call: Call) -> Fault | None:
        if call.operation == WRITE and waiting:
            waiting.pop()()
        return None

    return choose


def remove_a_former_owner(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that a removed member cannot append, even if a process has cached them as the owner.

    Bob, the owner, removes Ann. While his request is delayed, he transfers the tree to her and gets
    it back, but the conversations still name her as the owner. A process that has cached this must
    not append for her after the removal.
    """
    with built(handed_over, endpoint).copy(endpoint) as store:
        of_ann = Process(store, rewrite=rewrite)

        def hand_over_and_back() -> None:
            between = Process(store, rewrite=rewrite)
            offer = {"conversationId": PASSED, "newOwnerUserId": "ann"}
            transfer = between.ask("requestTransfer", BOB, **offer).id
            assert between.ask("acceptTransfer", ANN, transferId=transfer).status == 204
            assert of_ann.ask("getConversation", ANN, conversationId=PASSED_FORK).status == 200
            offer = {"conversationId": PASSED, "newOwnerUserId": "bob"}
            transfer = between.ask("requestTransfer", ANN, **offer).id
            killed_at_write(store, 1, "acceptTransfer", BOB, rewrite=rewrite, transferId=transfer)

        remover = Process(store, first_write(hand_over_and_back), rewrite=rewrite)
        removed = remover.ask("removeMembership", BOB, conversationId=PASSED, userId="ann")
        appended = of_ann.ask("appendEntry", ANN, conversationId=PASSED_FORK, **said("too late"))

        hold((removed.status, appended.status) == (200, 403), removed, appended)
        settle(store)
        assert_intact(store, settled=True)


def go_on_with_a_child(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that a child gets its parent's members, although another process copies older ones.

    The first process is about to copy the last members. Then one of these is removed, and a second
    process continues the child. Just before the second one opens it, the first one writes.
    """
    with built(crowded, endpoint).copy(endpoint) as store:

        @contextmanager
        def callers() -> Iterator[Mapping[str, Callable[[Choose], None]]]:
            one, other = (Process(store, in_order=True, rewrite=rewrite) for _ in range(2))

            def go_on(choose: Choose) -> None:
                one.faults.choose = choose
                one.ask("appendEntry", ANN, **GO_ON)

            def revoke_and_go_on(choose: Choose) -> None:
                other.faults.choose = choose
                gone = {"conversationId": CROWD, "userId": LAST_OF_CROWD}
                assert other.ask("removeMembership", ANN, **gone).status == 200
                assert other.ask("appendEntry", ANN, **GO_ON).status == 201

            yield {"one": go_on, "other": revoke_and_go_on}

        # one: claims. other: removes, claims, copies.
        follow(callers, [("one", 1), ("other", OPENS), ("one", 2), ("other", None), ("one", None)])

        assert_intact(store)


def go_on_with_a_child_about_to_be_given_up(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that a child is not given up if a process continues it after the sweep has read it."""
    with built(crowded, endpoint).copy(endpoint) as store:
        sweeping = Process(
            store,
            first_write(lambda: begin(store, GO_ON, steps=1)),
            clock=later(ABANDONED_SECONDS),
            rewrite=rewrite,
        )
        give_up_and_clear(HALF)(sweeping)
        left = store.contents().get(keys.group(HALF))
        hold(left is not None and items.group(left).state is State.CREATING, left)
        settle(store, in_seconds=ABANDONED_SECONDS)
        assert_intact(store, settled=True)


def offer_what_is_deleted(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that nothing is written to a tree after its deletion is acknowledged."""
    with built(family, endpoint).copy(endpoint) as store:
        left: dict[Key, Item] = {}

        def delete() -> None:
            assert Process(store).ask("deleteConversation", ANN, conversationId=ROOT).status == 204
            left.update(store.contents())

        offering = Process(store, first_write(delete), rewrite=rewrite)
        offer = {"conversationId": ROOT, "newOwnerUserId": "bob"}
        answer = offering.ask("requestTransfer", ANN, **offer)

        hold(answer.status == 404 and store.contents() == left, answer)


def take_over_what_was_begun_anew(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that a child has a row in each member's list, whichever process creates it.

    A process is about to take over an unfinished creation. Before it writes, the creation is given
    up and cleared up, and the child is started again.
    """
    with built(crowded, endpoint).copy(endpoint) as store:

        def give_up_and_begin() -> None:
            give_up_and_clear(HALF)(Process(store, clock=later(ABANDONED_SECONDS)))
            begin(store, GO_ON, steps=3)

        late = Process(store, first_write(give_up_and_begin), rewrite=rewrite)
        assert late.ask("appendEntry", ANN, **GO_ON).status == 201
        assert_intact(store)


def clear_up_what_lives_again(endpoint: Endpoint, rewrite: Rewrite | None = None, *, erased: int = 0) -> None:
    """Assert that no worker changes a live child, although the same request created it twice.

    The child is given up while a request continues it. One worker is delayed. Another worker clears
    the child up, and the request, which still runs, creates it again. erased: how many writes the
    delayed worker has made before.
    """
    with built(crowded, endpoint).copy(endpoint) as store:

        @contextmanager
        def callers() -> Iterator[Mapping[str, Callable[[Choose], None]]]:
            one = Process(store, in_order=True, rewrite=rewrite)
            late, quick = (
                Process(store, in_order=True, rewrite=rewrite, clock=later(ABANDONED_SECONDS))
                for _ in range(2)
            )

            def go_on(choose: Choose) -> None:
                one.faults.choose = choose
                assert one.ask("appendEntry", ANN, **GO_ON).status == 201

            def give_up(choose: Choose) -> None:
                quick.faults.choose = choose
                give_up_and_clear(HALF)(quick)

            def clear_up(choose: Choose) -> None:
                late.faults.choose = choose
                run_deletion(HALF)(late)

            yield {"one": go_on, "quick": give_up, "late": clear_up}

        # one: claims. quick: the tombstone.
        steps = [("one", 1), ("quick", 1), ("late", erased), ("quick", None), ("one", None), ("late", None)]
        follow(callers, steps)

        assert_intact(store)


COPY_ON: Mapping[str, Any] = {"conversationId": LONG, "id": HALF_COPY}
COPY_TREE_ON: Mapping[str, Any] = {"conversationId": FORK, "id": HALF_COPY}


def go_on_with_a_copy(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that a copy has each entry once, although two processes continue it.

    One is about to write the last entries. The other takes the copy over, and has read what is
    there. Then the one writes, before the other writes and ends.
    """
    # Both claim. one: the last entries.
    steps = [("one", 1), ("other", 1), ("one", 2), ("other", None), ("one", None)]
    _two_go_on(lengthy, endpoint, rewrite, ("copyConversation", RITA, COPY_ON), steps)


def go_on_with_a_copy_of_a_tree(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that a copy of a tree is whole, although two processes continue it.

    One has claimed it. The other takes it over, and has written all but the end. Then the one
    clears what is there, before the other ends.
    """
    steps = [("one", 1), ("other", 5), ("one", 3), ("other", None), ("one", None)]
    _two_go_on(half_copied, endpoint, rewrite, ("copyTree", RITA, COPY_TREE_ON), steps)


def _two_go_on(
    world: Callable[[Endpoint], World],
    endpoint: Endpoint,
    rewrite: Rewrite | None,
    request: tuple[str, Caller, Mapping[str, Any]],
    steps: Sequence[tuple[str, int | None]],
) -> None:
    operation, caller, given = request
    with built(world, endpoint).copy(endpoint) as store:

        @contextmanager
        def callers() -> Iterator[Mapping[str, Callable[[Choose], None]]]:
            both = {name: Process(store, in_order=True, rewrite=rewrite) for name in ("one", "other")}

            def go_on(name: str, choose: Choose) -> None:
                both[name].faults.choose = choose
                assert both[name].ask(operation, caller, **given).status in (201, 409)

            yield {name: partial(go_on, name) for name in both}

        follow(callers, steps)

        assert_intact(store)


def give_a_child_up(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that nothing is left of a child that was given up while a process continued it.

    The process is about to copy the last members; the worker takes the tombstone, the rows of
    users and the members.
    """
    _give_up_what_goes_on(crowded, endpoint, rewrite, HALF, ("appendEntry", ANN, GO_ON))


def give_a_copy_up(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that nothing is left of a copy that was given up while a process continued it.

    The process is about to write the last entries; the worker takes the tombstone, and all entries
    in two transactions.
    """
    _give_up_what_goes_on(lengthy, endpoint, rewrite, HALF_COPY, ("copyConversation", RITA, COPY_ON))


def give_a_copy_of_a_tree_up(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that nothing is left of a copy of a tree that was given up while a process went on.

    The process has cleared it, and is about to write where the branches are; the worker takes the
    tombstone.
    """
    request = "copyTree", RITA, COPY_TREE_ON
    _give_up_what_goes_on(half_copied, endpoint, rewrite, HALF_COPY, request, before=3, worker=1)


def _give_up_what_goes_on(
    world: Callable[[Endpoint], World],
    endpoint: Endpoint,
    rewrite: Rewrite | None,
    half: str,
    request: tuple[str, Caller, Mapping[str, Any]],
    *,
    before: int = 1,
    worker: int = 3,
) -> None:
    """Let a process go on with what is half made, and the sweep and the worker clear it up.

    Just before the worker deletes its GROUP, the process writes. before, worker: how many writes
    each has made then.
    """
    operation, caller, given = request
    writes = worker
    with built(world, endpoint).copy(endpoint) as store:

        @contextmanager
        def callers() -> Iterator[Mapping[str, Callable[[Choose], None]]]:
            one = Process(store, in_order=True, rewrite=rewrite)
            worker = Process(store, in_order=True, rewrite=rewrite, clock=later(ABANDONED_SECONDS))

            def go_on(choose: Choose) -> None:
                one.faults.choose = choose
                assert one.ask(operation, caller, **given).status in (201, 503)

            def give_up(choose: Choose) -> None:
                worker.faults.choose = choose
                give_up_and_clear(half)(worker)

            yield {"one": go_on, "worker": give_up}

        # one: claims, at least.
        steps = [("one", before), ("worker", writes), ("one", before + 1), ("worker", None), ("one", None)]
        follow(callers, steps)

        settle(store, in_seconds=ABANDONED_SECONDS)
        assert_intact(store, settled=True)


def act_late(
    name: str,
    request: Mapping[str, Any],
    endpoint: Endpoint,
    rewrite: Rewrite | None = None,
    *,
    by: Caller = BOB,
) -> None:
    """Assert that a reader cannot do it, although a stale read shows a higher access level.

    A read in the middle of a transaction can show a part of its writes. DynamoDB Local never does
    this, so the test changes the answer.
    """
    with built(family, endpoint).copy(endpoint) as store:
        place = keys.member(ROOT, by.user_id)
        earlier = store.item(place)
        member = {"conversationId": ROOT, "userId": by.user_id}
        assert Process(store).ask("updateMembership", ANN, **member, accessLevel="reader").status == 200
        other = member | {"userId": (MIA if by is BOB else BOB).user_id}  # GROUP notes the last change
        assert Process(store).ask("updateMembership", ANN, **other, accessLevel="reader").status == 200
        left = store.contents()
        starting = Process(store, rewrite=rewrite)

        def show_late(request: Request, answer: dict[str, Any]) -> None:
            found = {
                "Query": lambda: answer["Items"],
                "BatchGetItem": lambda: answer["Responses"][store.name],
            }
            for item in found.get(request.operation, list)():
                if items.key(item) == place:
                    item.update(earlier)

        Wire.of(starting.table).after(show_late)
        answer = starting.ask(name, by, **request)

        hold(answer.status == 403 and store.contents() == left, answer)


def sync_on_a_context_that_shows_late(
    client: Caller, endpoint: Endpoint, rewrite: Rewrite | None = None
) -> None:
    """Assert that a sync is decided again if the context that it has read is stale.

    A read in the middle of a transaction can show the new HEAD with the old context.
    """
    with built(family, endpoint).copy(endpoint) as store:
        place = keys.context(ROOT, ROOT, client.client_id or "")
        earlier = store.contents().get(place)
        noted = {"conversationId": ROOT, **thought("rival")}
        rival = Process(store).ask("appendEntry", client, **noted).id
        syncing, is_late = Process(store, rewrite=rewrite), [True]

        def show_late(request: Request, answer: dict[str, Any]) -> None:
            found = {
                "Query": lambda: answer["Items"],
                "BatchGetItem": lambda: answer["Responses"][store.name],
            }.get(request.operation, list)()
            if is_late and request.operation in ("Query", "BatchGetItem"):
                hidden = (place, keys.entry(ROOT, EntryId(rival)))
                shown = [item for item in found if items.key(item) not in hidden]
                if earlier and len(shown) < len(found) and request.operation == "BatchGetItem":
                    shown.append(earlier)
                found[:] = shown
            if request.operation == "TransactWriteItems":
                is_late.clear()

        wire = Wire.of(syncing.table)
        wire.before(lambda request: is_late.clear() if request.operation == "TransactWriteItems" else None)
        wire.after(show_late)
        answer = syncing.ask(
            "syncContext",
            client,
            conversationId=ROOT,
            contentType="note",
            content=["a", "b", "rival", "mine"],
        )

        hold(answer.status == 200, answer)
        assert_intact(store)
        listed = {"conversationId": ROOT, "channel": "context"}
        shown = Process(store).ask("listEntries", client, **listed).body["data"]
        held = [element for entry in shown for element in entry["content"]]
        hold(held == ["a", "b", "rival", "mine"], held)


def append_on_an_older_digest(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that a process that knows the new HEAD and the old context stores the right digest."""
    with built(family, endpoint).copy(endpoint) as store:
        process = Process(store, rewrite=rewrite)
        for writer, caller, body in (
            (process, PLANNER, thought("c")),
            (Process(store), PLANNER, thought("d")),
            (process, ANN, said("the refusal of this shows the new HEAD")),
            (process, PLANNER, thought("e")),
        ):
            hold(writer.ask("appendEntry", caller, conversationId=ROOT, **body).status == 201)
        assert_intact(store)


def forget_digests_of_a_tree_that_is_gone(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that no context comes back if the end of an erasure meets a deletion."""
    with built(dead_family, endpoint).copy(endpoint) as store:
        ending = Process(store, first_write(lambda: run_deletion(ROOT)(Process(store))), rewrite=rewrite)
        forget_digests(ending.table, ROOT)
        hold(not any(key.partition == ROOT for key in store.contents()))


def delete_a_child_whose_parent_is_gone(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that no item of a tree comes back if one of its children is deleted after it."""
    with built(dead_family, endpoint).copy(endpoint) as store:
        worker = Process(store, rewrite=rewrite)
        run_deletion(ROOT)(worker)
        hold(keys.group(ROOT) not in store.contents() and keys.group(CHILD) in store.contents())
        run_deletion(CHILD)(worker)
        assert_intact(store)


def take_one_lease(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that only one of two workers that have both found a job free works on it."""
    with built(dead, endpoint).copy(endpoint) as store:
        mailbox, message = Mailbox(), Message(DEAD, 0)

        def work(process: Process) -> Outcome:
            return message.work(process.table, mailbox.queue, lease_s=LONG_S, wait_s=FOREVER_S)

        other = Process(store, rewrite=rewrite)
        one = Process(store, first_write(lambda: hold(work(other) is Outcome.LEFT)), rewrite=rewrite)
        outcome = work(one)

        hold(outcome is Outcome.DROPPED and len(mailbox.messages) == 1, outcome, mailbox.messages)


def erase_beside(
    act: Callable[[Process], object],
    is_so: Callable[[Process, Store], bool],
    endpoint: Endpoint,
    rewrite: Rewrite | None = None,
    *,
    of: Callable[[Endpoint], World] = left,
) -> None:
    """Assert that an erasure is whole, whatever is done just before the first write of a worker.

    act: what is done. is_so: what must be so at the end.
    """
    with built(of, endpoint).copy(endpoint) as store:
        run_erasures(Process(store, first_write(lambda: act(Process(store))), rewrite=rewrite))
        assert_intact(store)
        settle(store)
        assert_intact(store, settled=True)
        hold(is_so(Process(store), store))


def shelve_beside_an_erasure(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that no tree comes on a shelf whose name is gone.

    Bob makes a tree when a worker has already read the list of his trees. A recall there has read
    the name of his shelf. Then the worker deletes what it has read, and that name.
    """

    def work_on() -> None:
        process = Process(store)
        assert process.ask("deleteConversation", BOB, conversationId=OWN).status == 204
        process.table.delete([keys.shelf("bob")])

    with built(embedded_own, endpoint).copy(endpoint) as store:
        assert Process(store).ask("appendEntry", BOB, conversationId=NEW, **said("new")).status == 201
        process = Process(store, first_write(work_on), rewrite=rewrite)
        hold(with_index(recall(BOB, NEW)).run(process, World(), None).status == 200)
        assert_intact(store)


def _title(process: Process) -> None:
    answer = process.ask("updateConversation", ANN, conversationId=ROOT, title="chosen")
    assert answer.status == 200


def _append(process: Process) -> None:
    assert process.ask("appendEntry", ANN, conversationId=ROOT, **said("later")).status == 201


def _fork(process: Process) -> None:
    assert process.ask("forkConversation", ANN, conversationId=ROOT, id=NEW).status == 201


def _fork_and_remove_a_branch(process: Process) -> None:
    _fork(process)
    removed = process.ask("deleteConversation", ANN, conversationId=OTHER, scope="branch")
    assert removed.status == 204


def _share(process: Process) -> None:
    given = {"conversationId": ROOT, "userId": "mia", "accessLevel": "reader"}
    assert process.ask("shareConversation", ANN, **given).status == 201


def _mia_came_last(_process: Process, store: Store) -> bool:
    change = items.group(store.item(keys.group(ROOT))).member_change
    return change is not None and change.user_id == "mia"


def _end_and_come_back(process: Process) -> None:
    """End the erasure, and let the user become a member again."""
    for _ in range(2):
        run_erasures(process)
    assert _shown(process)["state"] == "done"
    back = {"conversationId": ROOT, "userId": "bob", "accessLevel": "writer"}
    assert process.ask("shareConversation", ANN, **back).status == 201


def _shown(process: Process) -> Any:
    [key] = (key for key in process.table.scan(segment=0, segments=1, start=None)[0] if "pseudonym" in key)
    erasure_id = items.key(key).partition.partition("#")[2]
    return process.ask("adminGetErasure", ROOT_CALLER, erasureId=erasure_id).body


def _of_root(name: str, process: Process) -> Any:
    return process.ask("getConversation", ANN, conversationId=ROOT).body.get(name)


def _has_no_words(_process: Process, store: Store) -> bool:
    return not any(WORDS in str(item) for item in store.contents().values())


def retain_what_is_used(
    act: Callable[[Process], object], endpoint: Endpoint, rewrite: Rewrite | None = None
) -> None:
    """Assert that a tree stays if somebody uses it just before its tombstone.

    act: how it is used.
    """
    with built(untitled, endpoint).copy(endpoint) as store:
        at = later(UNUSED_SECONDS)
        use = first_write(lambda: act(Process(store, clock=later(UNUSED_SECONDS))))
        delete_unused(Process(store, use, clock=at, rewrite=rewrite))
        assert_intact(store)
        group = items.group(store.item(keys.group(UNTITLED)))
        hold(group.is_live, group)


def _use(name: str, **given: Any) -> Callable[[Process], object]:
    def do(process: Process) -> None:
        assert process.ask(name, ANN, **{"conversationId": UNTITLED, **given}).status < 300

    return do


def change_who_was_let_in_again(
    name: str, endpoint: Endpoint, rewrite: Rewrite | None = None, **given: Any
) -> None:
    """Assert that a change of a member spares a membership that was given in a child meanwhile."""
    with built(family, endpoint).copy(endpoint) as store:

        def let_in_again() -> None:
            other, member = Process(store), {"conversationId": CHILD, "userId": "bob"}
            assert other.ask("removeMembership", ANN, **member, children="keep").status == 200
            assert other.ask("shareConversation", ANN, **member, accessLevel="writer").status == 201

        changing = Process(store, _at_write(2, let_in_again), rewrite=rewrite)
        assert changing.ask(name, ANN, conversationId=ROOT, userId="bob", **given).status == 200
        settle(store)
        hold(_level_in(CHILD, "bob", store) == "writer")
        assert_intact(store, settled=True)


def change_in_a_child_of_later(
    name: str, endpoint: Endpoint, rewrite: Rewrite | None = None, **given: Any
) -> None:
    """Assert that a change of a member spares a child that was started after it had ended.

    A process has read that the change spreads, and is about to read the children. Another
    one ends it, lets the member in again, and starts a child.
    """
    with built(family, endpoint).copy(endpoint) as store:
        change = {"conversationId": ROOT, "userId": "bob", **given}

        def end_and_start() -> None:
            other, member = Process(store), {"conversationId": ROOT, "userId": "bob"}
            assert other.ask(name, ANN, **change).status == 200
            settle(store)
            how = "shareConversation" if name == "removeMembership" else "updateMembership"
            assert other.ask(how, ANN, **member, accessLevel="manager").status < 300
            started = {**said("new"), "startedByConversationId": ROOT}
            assert other.ask("appendEntry", ANN, conversationId=NEW, **started).status == 201

        changing = Process(store, _at_read_of_children(end_and_start), rewrite=rewrite)
        assert changing.ask(name, ANN, **change).status < 300
        settle(store)
        hold(_level_in(NEW, "bob", store) == "manager")
        assert_intact(store, settled=True)


def append_while_another_moves_the_rows(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that an append that is held up does not move a row back that a later one has moved."""
    with built(family, endpoint).copy(endpoint) as store:
        moved: set[str] = set()

        def rows() -> set[str]:
            named = (item for key, item in store.contents().items() if key.partition.startswith("USER#"))
            return {item["L1"]["S"] for item in named if "L1" in item}

        def choose(call: Call) -> Fault | None:
            if call.operation == "UpdateItem" and not moved:
                moved.add("begun")
                other = Process(store, clock=later(4 * MOVE_MS // 1000))
                assert other.ask("appendEntry", ANN, conversationId=ROOT, **said("later")).status == 201
                moved.update(rows())
            return None

        process = Process(store, choose, clock=later(2 * MOVE_MS // 1000), in_order=True, rewrite=rewrite)
        assert process.ask("appendEntry", BOB, conversationId=ROOT, **said("held up")).status == 201
        hold(rows() == moved - {"begun"}, rows(), moved)


def include_who_was_removed(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that a sharing that was held up lets nobody into a child who was removed meanwhile."""
    with built(family, endpoint).copy(endpoint) as store:
        given = {"conversationId": ROOT, "userId": "eve"}

        def end_and_remove() -> None:
            settle(store)
            assert Process(store).ask("removeMembership", ANN, **given).status == 200

        sharing = Process(store, _at_read_of_children(end_and_remove), rewrite=rewrite)
        given_all = {**given, "accessLevel": "writer", "children": "include"}
        assert sharing.ask("shareConversation", ANN, **given_all).status == 201
        settle(store)
        hold([_level_in(tree, "eve", store) for tree in (ROOT, CHILD)] == [None, None])
        assert_intact(store, settled=True)


def end_what_another_has_ended(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that the end of a removal does not end the next one, whose process was killed."""
    _remove_one_more(3, endpoint, rewrite)


def remove_one_more(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that a removal waits for an earlier one whose process was killed."""
    _remove_one_more(1, endpoint, rewrite)


def _remove_one_more(number: int, endpoint: Endpoint, rewrite: Rewrite | None) -> None:
    """Remove two members at once. number: the write of the first removal before the second one."""
    with built(family, endpoint).copy(endpoint) as store:

        def remove_another() -> None:
            if number > 1:
                spreading.spread(Process(store).table, ROOT)
            killed_at_write(store, 1, "removeMembership", ANN, conversationId=ROOT, userId="rita")

        removing = Process(store, _at_write(number, remove_another), rewrite=rewrite)
        assert removing.ask("removeMembership", ANN, conversationId=ROOT, userId="bob").status == 200
        settle(store)
        hold([_level_in(CHILD, user, store) for user in ("bob", "rita")] == [None, None])
        assert_intact(store, settled=True)


def hand_on_beside_a_removal(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that an acceptance does not forget a removal whose process was killed."""
    world = built(offered, endpoint)
    with world.copy(endpoint) as store:

        def remove() -> None:
            started = {**said("new"), "startedByConversationId": GIVEN}
            assert Process(store).ask("appendEntry", ANN, conversationId=NEW, **started).status == 201
            killed_at_write(store, 1, "removeMembership", ANN, conversationId=GIVEN, userId="mia")

        accepting = Process(store, _at_write(1, remove), rewrite=rewrite)
        assert accepting.ask("acceptTransfer", BOB, transferId=world.made["transfer"]).status == 204
        hold(_level_in(NEW, "mia", store) is None)
        settle(store)
        assert_intact(store, settled=True)


def _level_in(group_id: str, user_id: str, store: Store) -> str | None:
    item = store.contents().get(keys.member(group_id, user_id))
    return None if item is None else str(items.member(item).level)


def _at_write(number: int, act: Callable[[], object]) -> Choose:
    """Return a choice of faults that runs `act` once, just before the write of this number."""
    writes = itertools.count(1)

    def choose(call: Call) -> Fault | None:
        if call.operation == WRITE and next(writes) == number:
            act()
        return None

    return choose


def _at_read_of_children(act: Callable[[], object]) -> Choose:
    """Return a choice of faults that runs `act` once, before the first Query after a write."""
    waiting, writes = [act], list[Call]()

    def choose(call: Call) -> Fault | None:
        if call.operation == WRITE:
            writes.append(call)
        if call.operation == "Query" and writes and waiting:
            waiting.pop()()
        return None

    return choose


def end_an_answer_whose_time_is_over(
    name: str, endpoint: Endpoint, rewrite: Rewrite | None = None, **given: Any
) -> None:
    """Assert that the late end of an answer leaves the next one, which was begun after its time."""
    with built(answering, endpoint).copy(endpoint) as store:
        next_one = Process(store, clock=later(NOT_YET_SILENT_SECONDS + KEPT_SECONDS + 1))

        def begin_the_next() -> None:
            assert next_one.ask("beginAnswer", ANN, conversationId=FORK, id=NEW).status == 201

        ending = Process(store, first_write(begin_the_next), rewrite=rewrite)
        answer = ending.ask(name, BOB, **{"conversationId": FORK} | given)

        hold(answer.status in (404, 503), answer)  # its clock stands before the end of the time
        named = items.head(store.item(keys.head(ROOT, FORK))).answer
        hold(named is not None and named.answer_id == NEW, named)


def erase_before_the_next_answer(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that an erasure lets HEAD name the answer that is begun once the user's has ended."""
    with built(leaving_answering, endpoint).copy(endpoint) as store:
        waiting = [partial(Process(store).ask, "beginAnswer", ANN, conversationId=ROOT, id=NEW)]

        def choose(call: Call) -> Fault | None:
            if call.operation == WRITE and "#answerBy = :user" in str(call.body) and waiting:
                begun = waiting.pop()()
                assert begun.status == 201, begun
            return None

        run_erasures(Process(store, choose, rewrite=rewrite))
        assert not waiting
        assert_intact(store)


def fork_without_room(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that one of two simultaneous forks is refused if there is room for only one.

    The forks that fill the tree exist only in its counter.
    """
    with built(family, endpoint).copy(endpoint) as store:
        store.change(keys.group(ROOT), conversations=items.number(CONVERSATIONS_MAX - 1))

        def take_the_last_place() -> None:
            faster = Process(store, rewrite=rewrite).ask("forkConversation", ANN, conversationId=ROOT)
            assert faster.status == 201

        forking = Process(store, first_write(take_the_last_place), rewrite=rewrite)
        answer = forking.ask("forkConversation", ANN, conversationId=ROOT, id=NEW)

        hold((answer.status, answer.body.get("code")) == (409, "fork_limit"), answer)
        hold(items.group(store.item(keys.group(ROOT))).conversations == CONVERSATIONS_MAX)


def prune_beside(
    world: Callable[[Endpoint], World],
    pruned: str,
    act: Callable[[Process], object],
    endpoint: Endpoint,
    rewrite: Rewrite | None = None,
) -> None:
    """Assert that no work on removed branches is lost or invented by what happens beside a pruning.

    act: is done just before the last write of the worker that prunes a branch of CUT.
    """
    with built(world, endpoint).copy(endpoint) as store:
        pruning = Process(store, first_write(lambda: act(Process(store))), rewrite=rewrite)
        run_prune(CUT, pruned)(pruning)
        assert_intact(store)
        settle(store)
        assert_intact(store, settled=True)


def remove_twig_and_prune(process: Process) -> None:
    """Remove the branch that shows CUT_FORK, and prune it."""
    assert _remove(process, CUT_TWIG) == 204
    run_prune(CUT, CUT_TWIG)(process)


def remove_fork_and_prune(process: Process) -> None:
    """Remove the branch that CUT_TWIG left, and prune it as far as CUT_TWIG lets it."""
    assert _remove(process, CUT_FORK) == 204
    run_prune(CUT, CUT_FORK)(process)


def empty_fork_and_prune(process: Process) -> None:
    """Take the branch that CUT_TWIG left out of the trash, and prune it as far as that lets it."""
    assert _remove(process, CUT_FORK) == 204
    run_prune(CUT, CUT_FORK)(process)


def delete_and_clear(process: Process) -> None:
    """Delete the tree completely."""
    assert process.ask("deleteConversation", ANN, conversationId=CUT).status == 204
    run_deletion(CUT)(process)


def _remove(process: Process, conversation_id: str) -> int:
    return process.ask("deleteConversation", ANN, conversationId=conversation_id, scope="branch").status


def remove_the_current_branch_late(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that the next current branch is live, although a stale read shows a removed one.

    A read in the middle of a removal can show the branch in the list of the tree. DynamoDB Local
    never does this, so the test changes the answer.
    """
    with built(family, endpoint).copy(endpoint) as store:
        owner = Process(store)
        promoted = owner.ask("forkConversation", ANN, conversationId=FORK, id=NEW, promote=True)
        assert promoted.status == 201
        late = [next(item for key, item in store.contents().items() if _is_row_of(key, ROOT))]
        removed = owner.ask("deleteConversation", ANN, conversationId=ROOT, scope="branch")
        assert removed.status == 204
        removing = Process(store, rewrite=rewrite)

        def show_late(request: Request, answer: dict[str, Any]) -> None:
            rows = answer["Items"] if request.operation == "Query" else []
            if late and any(_is_row_of(items.key(item), FORK) for item in rows):
                rows.insert(0, late.pop())

        Wire.of(removing.table).after(show_late)
        answer = removing.ask("deleteConversation", ANN, conversationId=NEW, scope="branch")

        current = items.group(store.item(keys.group(ROOT))).current
        hold(answer.status == 204 and not late, answer)
        hold(keys.head(ROOT, current) in store.contents(), current)


def _is_row_of(key: Key, conversation_id: str) -> bool:
    """Tell whether the key is that of a conversation's row in the list of the tree."""
    return key.sort.startswith("TREE#") and key.sort.endswith(conversation_id)


def remove_where_an_answer_begins(
    of: Callable[[Endpoint], World], endpoint: Endpoint, rewrite: Rewrite | None = None
) -> None:
    """Assert that the log of an answer that begins just before its branch is removed goes, too."""
    with built(of, endpoint).copy(endpoint) as store:

        def begin_another() -> None:
            other = Process(store)
            if of is answering:
                ended = other.ask("deleteAnswer", BOB, conversationId=FORK, answerId=ANSWER)
                assert ended.status == 204, ended
            begun = other.ask("beginAnswer", BOB, conversationId=FORK, id=NEW)
            assert begun.status == 201, begun

        removing = Process(store, first_write(begin_another), rewrite=rewrite)
        answer = removing.ask("deleteConversation", ANN, conversationId=FORK, scope="branch")

        hold(answer.status == 204, answer)
        run_prune(ROOT, FORK)(Process(store))
        hold(keys.part(ROOT, NEW, 0) not in store.contents(), "the log is still there")
        assert_intact(store)


def close_what_is_erased(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that a closing that comes after the worker leaves nothing of the tree."""
    with built(answering, endpoint).copy(endpoint) as store:
        waiting = [partial(run_deletion(ROOT), Process(store))]

        def choose(call: Call) -> Fault | None:
            if call.operation == WRITE and "SET #answer = :answer" in str(call.body) and waiting:
                waiting.pop()()
            return None

        Process(store, choose, rewrite=rewrite).ask("deleteConversation", ANN, conversationId=FORK)

        assert not waiting
        found = [key for key in store.contents() if key.partition == ROOT]
        hold(found == [], found)


def remove_what_was_just_removed(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that a branch is removed only once, although a torn read shows it as it was before.

    GROUP is read after another removal, and HEAD before it.
    """
    with built(family, endpoint).copy(endpoint) as store:
        assert Process(store).ask("forkConversation", ANN, conversationId=ROOT, id=NEW).status == 201
        branch = {"conversationId": FORK, "scope": "branch"}
        late = Process(store, rewrite=rewrite)
        assert late.ask("getConversation", ANN, conversationId=FORK).status == 200
        tear(
            late.table,
            early=lambda key: key != keys.group(ROOT),
            between=lambda: Process(store).ask("deleteConversation", ANN, **branch),
        )

        answer = late.ask("deleteConversation", ANN, **branch)

        hold(answer.status == 404, answer)
        assert_intact(store)


def remove_from_what_has_a_tombstone(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that no branch is removed from a tree that has its tombstone.

    The deletion closes as many HEADs as GROUP counts, and no event of a branch follows TreeDeleted.
    """
    with built(family, endpoint).copy(endpoint) as store:
        left: dict[Key, Item] = {}

        def begin_deletion() -> None:
            killed_at_write(store, 1, "deleteConversation", ANN, conversationId=ROOT)
            left.update(store.contents())

        removing = Process(store, first_write(begin_deletion), rewrite=rewrite)
        answer = removing.ask("deleteConversation", MIA, conversationId=FORK, scope="branch")

        hold(answer.status == 404 and store.contents() == left, answer)


def make_the_last_link(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """The tree has two links, and another is made after they were counted."""
    given: dict[str, Any] = {"conversationId": GIVEN, "allForks": True}
    most = mock.patch.object(links, "LINKS_MAX", 3)
    with built(linked, endpoint).copy(endpoint) as store, most:

        def make_another() -> None:
            assert Process(store).ask("createLink", MIA, **given).status == 201

        answer = Process(store, first_write(make_another), rewrite=rewrite).ask("createLink", ANN, **given)

        hold(answer.status == 409, answer)


HELD_UP: Mapping[str, Callable[[Endpoint, Rewrite | None], None]] = {
    **OF_ATTACHMENTS,
    **OF_TRASH,
    "make the last link": make_the_last_link,
    "remove a former owner": remove_a_former_owner,
    "remove who was let in again": partial(change_who_was_let_in_again, "removeMembership"),
    "lower who was let in again": partial(
        change_who_was_let_in_again, "updateMembership", accessLevel="reader"
    ),
    "remove from a child of later": partial(change_in_a_child_of_later, "removeMembership"),
    "lower in a child of later": partial(
        change_in_a_child_of_later, "updateMembership", accessLevel="reader"
    ),
    "include who was removed": include_who_was_removed,
    "append while another moves the rows": append_while_another_moves_the_rows,
    "end what another has ended": end_what_another_has_ended,
    "remove one more": remove_one_more,
    "hand on beside a removal": hand_on_beside_a_removal,
    "two requests continue a child": go_on_with_a_child,
    "offer a deleted tree": offer_what_is_deleted,
    "sync on a stale context": partial(sync_on_a_context_that_shows_late, PLANNER),
    "sync for the first time on a stale context": partial(sync_on_a_context_that_shows_late, CODER),
    "take over a creation that was started again": take_over_what_was_begun_anew,
    "clear up a child that lives again": clear_up_what_lives_again,
    "delete a child that lives again": partial(clear_up_what_lives_again, erased=2),
    "continue a child that is about to be given up": go_on_with_a_child_about_to_be_given_up,
    "start a child as a former writer who is now a reader": partial(
        act_late,
        "appendEntry",
        {"conversationId": NEW, **said("too late"), "startedByConversationId": ROOT},
    ),
    "fork as a former writer who is now a reader": partial(
        act_late, "forkConversation", {"conversationId": ROOT, "id": NEW}
    ),
    "fork in a tree without room": fork_without_room,
    "finish an answer whose time is over": partial(
        end_an_answer_whose_time_is_over, "appendEntry", answerId=ANSWER, **said("too late")
    ),
    "drop an answer whose time is over": partial(
        end_an_answer_whose_time_is_over, "deleteAnswer", answerId=ANSWER
    ),
    "give a child up while another request continues it": give_a_child_up,
    "two requests continue a copy": go_on_with_a_copy,
    "two requests continue a copy of a tree": go_on_with_a_copy_of_a_tree,
    "give a copy of a tree up while another request continues it": give_a_copy_of_a_tree_up,
    "give a copy up while another request continues it": give_a_copy_up,
    "remove the current branch while a removed one still shows": remove_the_current_branch_late,
    "two take one lease": take_one_lease,
    "erase beside a new title": partial(
        erase_beside, _title, lambda process, _store: _of_root("title", process) == "chosen"
    ),
    "erase beside an append": partial(
        erase_beside, _append, lambda process, _store: _of_root("lastMessagePreview", process) == "later"
    ),
    "erase beside a fork": partial(erase_beside, _fork, _has_no_words),
    "erase beside a fork and a removal": partial(erase_beside, _fork_and_remove_a_branch, _has_no_words),
    "erase beside a new member": partial(erase_beside, _share, _mia_came_last, of=silent),
    "erase before the next answer": erase_before_the_next_answer,
    "shelve a tree beside an erasure": shelve_beside_an_erasure,
    "two workers erase": partial(
        erase_beside, run_erasures, lambda process, _store: _shown(process)["entries"] == 1
    ),
    "erase who has come back": partial(
        erase_beside,
        _end_and_come_back,
        lambda process, _store: process.ask("getConversation", BOB, conversationId=ROOT).status == 200,
        of=leaving,
    ),
    "retain what is appended to": partial(retain_what_is_used, _use("appendEntry", **said("new"))),
    "retain what is changed": partial(retain_what_is_used, _use("updateConversation", title="new")),
    "retain what is forked": partial(retain_what_is_used, _use("forkConversation", id=NEW)),
    "retain what is restored": partial(
        retain_what_is_used,
        lambda process: [
            in_days(process).ask("deleteConversation", ANN, conversationId=UNTITLED),
            process.ask("restoreConversation", ANN, conversationId=UNTITLED),
        ],
    ),
    "retain what is promoted": partial(retain_what_is_used, _use("promoteConversation")),
    "retain what has a child": partial(
        retain_what_is_used,
        _use("appendEntry", **said("task"), conversationId=NEW, startedByConversationId=UNTITLED),
    ),
    "two workers end an erasure": partial(
        erase_beside,
        run_erasures,
        lambda process, _store: _shown(process)["state"] == "done",
        of=nearly_erased,
    ),
    "append on an older digest": append_on_an_older_digest,
    "forget digests of a tree that is gone": forget_digests_of_a_tree_that_is_gone,
    "delete a child whose parent is gone": delete_a_child_whose_parent_is_gone,
    "remove what was just removed": remove_what_was_just_removed,
    "remove where an answer begins": partial(remove_where_an_answer_begins, family),
    "remove where another answer begins": partial(remove_where_an_answer_begins, answering),
    "close what is erased": close_what_is_erased,
    "remove from what has a tombstone": remove_from_what_has_a_tombstone,
    "remove a branch as a former manager who is now a reader": partial(
        act_late, "deleteConversation", {"conversationId": FORK, "scope": "branch"}, by=MIA
    ),
    "prune a branch whose fork is pruned meanwhile": partial(
        prune_beside, removed_first, CUT_FORK, remove_twig_and_prune
    ),
    "prune the fork of a branch that is removed meanwhile": partial(
        prune_beside, twig_removed, CUT_TWIG, remove_fork_and_prune
    ),
    "prune the fork of a branch that leaves the trash meanwhile": partial(
        prune_beside, twig_of_trashed, CUT_TWIG, empty_fork_and_prune
    ),
    "prune in a tree that is deleted meanwhile": partial(
        prune_beside, removed_both, CUT_TWIG, delete_and_clear
    ),
}
