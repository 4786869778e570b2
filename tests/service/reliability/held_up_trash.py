"""Requests and work about the trash that are delayed, while others act on the same tree."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from forklore_service.domain import keys
from tests.service.reliability.faults import WRITE, Call, Choose, Fault, Rewrite
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Endpoint, Process
from tests.service.reliability.violation import hold
from tests.service.reliability.world import (
    ANN,
    ANSWER,
    BOB,
    CHILD,
    DAYS,
    FORK,
    ROOT,
    ROOT_CALLER,
    World,
    answering,
    built,
    child_trashed,
    empty_trash,
    family,
    fork_trashed,
    half_restored,
    half_root_restored,
    half_root_trashed,
    half_trashed,
    in_days,
    killed_at_write,
    later,
    root_trashed,
    run_deletion,
    run_prune,
    said,
    settle,
    trashed,
)
from tests.support.tables import Store

Act = Callable[[Process], object]
LATER_S = 1


def into_trash(process: Process, of: str = ROOT) -> object:
    return in_days(process).ask("deleteConversation", ANN, conversationId=of)


def remove(process: Process, of: str) -> object:
    return in_days(process).ask("deleteConversation", ANN, conversationId=of, scope="branch")


def restore(process: Process, of: str = ROOT) -> object:
    return process.ask("restoreConversation", ANN, conversationId=of)


def delete_and_clear(process: Process, of: str = ROOT) -> None:
    """Delete a tree for good, and remove its items."""
    assert process.ask("deleteConversation", ANN, conversationId=of).status == 204
    run_deletion(of)(process)


def status(store: Store, of: str) -> int:
    return Process(store).ask("getConversation", ANN, conversationId=of).status


def write_of(group_id: str, words: str, act: Callable[[], object]) -> Choose:
    """Return a choice of faults that runs `act` once, just before a write with these words.

    group_id: the tree whose GROUP or HEAD the write names.
    """
    waiting = [act]

    def choose(call: Call) -> Fault | None:
        if call.operation == WRITE and waiting:
            writes = [str(write) for write in call.body["TransactItems"]]
            if any(words in write and group_id in write for write in writes):
                waiting.pop()()
        return None

    return choose


def held_up(
    of: Callable[[Endpoint], World],
    late: Act,
    at: tuple[str, str],
    meanwhile: Callable[[Store], object],
    is_right: Callable[[Store], bool],
    endpoint: Endpoint,
    rewrite: Rewrite | None = None,
) -> None:
    """Assert that somebody who is held up before a write does no harm.

    at: the tree and the words of the write. meanwhile: what others do. is_right: of the table, once
    all work is done.
    """
    with built(of, endpoint).copy(endpoint) as store:
        waits = write_of(*at, lambda: meanwhile(store))
        late(Process(store, waits, clock=later(LATER_S), rewrite=rewrite))
        assert_intact(store)
        settle(store)
        assert_intact(store)
        hold(is_right(store), at)


def _restore_and_begin_again(store: Store) -> None:
    restore(Process(store))
    killed_at_write(store, 1, "deleteConversation", ANN, days=DAYS, conversationId=ROOT)


def _restore_and_delete_again(store: Store) -> None:
    restore(Process(store))
    into_trash(Process(store))


def _begin_restoring(store: Store) -> None:
    killed_at_write(store, 1, "restoreConversation", ANN, conversationId=ROOT)


def _child_comes_back(store: Store) -> bool:
    restore(Process(store))
    return (status(store, ROOT), status(store, CHILD)) == (200, 200)


def _child_stays(store: Store) -> bool:
    restore(Process(store))
    return (status(store, ROOT), status(store, CHILD)) == (200, 404)


def _is_gone(store: Store, of: str = ROOT) -> bool:
    return status(store, of) == 404


def _delete_a_child_again(store: Store) -> None:
    """Put a child into the trash with its parent, and before it is shut delete it for good."""
    killed_at_write(store, 1, "deleteConversation", ANN, days=DAYS, conversationId=ROOT)
    assert Process(store).ask("deleteConversation", ANN, conversationId=CHILD).status == 204


def _hand_over(store: Store) -> None:
    process = Process(store)
    offer = process.ask("requestTransfer", ANN, conversationId=ROOT, newOwnerUserId=BOB.user_id)
    assert process.ask("acceptTransfer", BOB, transferId=offer.id).status == 204


def restore_and_show(store: Store, of: str = ROOT) -> Any:
    restore(Process(store))
    return Process(store).ask("getConversation", ANN, conversationId=of).body


def finish_beside_the_trash(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that an answer which was begun in a branch in the trash is not finished elsewhere."""
    with built(answering, endpoint).copy(endpoint) as store:
        remove(Process(store), FORK)
        late = Process(store, rewrite=rewrite)
        finished = late.ask("appendEntry", BOB, conversationId=ROOT, answerId=ANSWER, **said("late"))
        hold(finished.status == 404, "an answer that was finished")


def let_into_a_deleted_child(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that nobody becomes a member of a child after its deletion is acknowledged."""
    with built(family, endpoint).copy(endpoint) as store:

        def delete() -> None:
            assert Process(store).ask("deleteConversation", ANN, conversationId=CHILD).status == 204

        late = Process(store, write_of(CHILD, "memberChange", delete), rewrite=rewrite)
        given = {"conversationId": ROOT, "userId": "eve", "accessLevel": "reader", "children": "include"}
        late.ask("shareConversation", ANN, **given)
        hold(keys.member(CHILD, "eve") not in store.contents(), "a member of a deleted tree")


OF_TRASH: Mapping[str, Callable[[Endpoint, Rewrite | None], None]] = {
    "restore what is deleted for good meanwhile": partial(
        held_up,
        trashed,
        restore,
        (ROOT, ":restoring"),
        lambda store: delete_and_clear(Process(store)),
        _is_gone,
    ),
    "end the trash of what was restored": partial(
        held_up,
        trashed,
        empty_trash,
        (ROOT, ":deleting"),
        lambda store: restore(Process(store)),
        lambda store: status(store, ROOT) == 200,
    ),
    "end a restoring of what was deleted again": partial(
        held_up,
        half_restored,
        run_deletion(ROOT),
        (ROOT, "restoredAt"),
        _restore_and_delete_again,
        _child_comes_back,
    ),
    "delete into the trash what is deleted for good": partial(
        held_up,
        family,
        lambda process: in_days(process).ask("adminDeleteConversation", ROOT_CALLER, conversationId=ROOT),
        (ROOT, ":trashed"),
        lambda store: delete_and_clear(Process(store)),
        _is_gone,
    ),
    "delete what has a child that is gone": partial(
        held_up,
        family,
        lambda process: process.ask("deleteConversation", ANN, conversationId=ROOT),
        (CHILD, ":deleting"),
        lambda store: delete_and_clear(Process(store), CHILD),
        _is_gone,
    ),
    "put a child into the trash that was deleted before": partial(
        held_up,
        family,
        into_trash,
        (CHILD, "cascaded"),
        lambda store: into_trash(Process(store), CHILD),
        _child_stays,
    ),
    "put a child into the trash that is deleted for good meanwhile": partial(
        held_up,
        half_trashed,
        run_deletion(ROOT),
        (CHILD, "cascaded"),
        _delete_a_child_again,
        _child_stays,
    ),
    "delete into the trash what has another owner": partial(
        held_up,
        family,
        into_trash,
        (ROOT, ":trashed"),
        _hand_over,
        lambda store: status(store, ROOT) == 200,
    ),
    "change what is in the trash": partial(
        held_up,
        family,
        lambda process: process.ask("updateConversation", ANN, conversationId=ROOT, title="late"),
        (ROOT, "changedAt"),
        lambda store: into_trash(Process(store)),
        lambda store: restore_and_show(store)["title"] == "first",
    ),
    "begin the next answer in the trash": partial(
        held_up,
        answering,
        lambda process: process.ask("beginAnswer", BOB, conversationId=FORK, takeOver=True),
        (ROOT, "answerBy"),
        lambda store: into_trash(Process(store)),
        lambda store: restore_and_show(store, FORK)["answering"]["answerId"] == ANSWER,
    ),
    "put a child into the trash of a later deletion": partial(
        held_up,
        half_trashed,
        run_deletion(ROOT),
        (CHILD, "cascaded"),
        _restore_and_delete_again,
        _child_comes_back,
    ),
    "shut what is being restored": partial(
        held_up,
        half_trashed,
        run_deletion(ROOT),
        (ROOT, "SET #shut"),
        _begin_restoring,
        lambda store: (status(store, ROOT), status(store, CHILD)) == (200, 200),
    ),
    "shut what was restored and deleted again": partial(
        held_up,
        half_trashed,
        run_deletion(ROOT),
        (ROOT, "SET #shut"),
        _restore_and_begin_again,
        lambda store: _is_gone(store, CHILD),
    ),
    "restore a child whose parent is deleted": partial(
        held_up,
        child_trashed,
        lambda process: restore(process, CHILD),
        (CHILD, ":restoring"),
        lambda store: into_trash(Process(store)),
        lambda store: _is_gone(store, CHILD),
    ),
    "restore a child whose parent begins to go into the trash": partial(
        held_up,
        child_trashed,
        lambda process: restore(process, CHILD),
        (CHILD, ":restoring"),
        lambda store: killed_at_write(store, 1, "deleteConversation", ANN, days=DAYS, conversationId=ROOT),
        _child_stays,
    ),
    "restore a child whose branch is removed": partial(
        held_up,
        child_trashed,
        lambda process: restore(process, CHILD),
        (CHILD, ":restoring"),
        lambda store: remove(Process(store), ROOT),
        lambda store: _is_gone(store, CHILD),
    ),
    "empty a branch that was restored": partial(
        held_up,
        fork_trashed,
        empty_trash,
        (ROOT, "trashedBranches"),
        lambda store: restore(Process(store), FORK),
        lambda store: status(store, FORK) == 200,
    ),
    "put a child into the trash whose branch was restored": partial(
        held_up,
        half_root_trashed,
        run_prune(ROOT, ROOT),
        (CHILD, "cascaded"),
        lambda store: restore(Process(store)),
        lambda store: status(store, CHILD) == 200,
    ),
    "bring back a child whose tree is deleted": partial(
        held_up,
        half_root_restored,
        run_prune(ROOT, ROOT),
        (CHILD, ":restoring"),
        lambda store: into_trash(Process(store), FORK),
        lambda store: _is_gone(store, CHILD),
    ),
    "bring back a child whose branch is removed": partial(
        held_up,
        half_root_restored,
        run_prune(ROOT, ROOT),
        (CHILD, ":restoring"),
        lambda store: remove(Process(store), ROOT),
        lambda store: _is_gone(store, CHILD),
    ),
    "put a child into the trash with its tree that is there with a branch": partial(
        held_up,
        root_trashed,
        lambda process: into_trash(process, FORK),
        (CHILD, "cascaded"),
        lambda _store: None,
        lambda store: (restore(Process(store), FORK), _is_gone(store, CHILD))[1],
    ),
    "finish an answer beside its branch in the trash": finish_beside_the_trash,
    "let a user into a child that is deleted": let_into_a_deleted_child,
}
