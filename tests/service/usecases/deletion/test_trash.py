"""The trash: what goes there, what comes back, and what passes over the wait."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from forklore_local.fsck.check import check
from forklore_service.domain import keys
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import Group, State
from forklore_service.errors import ConflictError, ForbiddenError, NotFoundError
from forklore_service.storage.table import Table
from forklore_service.usecases.background.sweeper import sweep
from forklore_service.usecases.deletion import trash, tree_trash
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.deletion.retention import delete_unused
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from forklore_service.usecases.reading import conversation_lists, trash_list
from tests.service.usecases.builders import (
    ANN,
    BOB,
    EVE,
    FORK,
    OTHER,
    ROOT,
    append,
    conversation,
    create,
    fork,
    read,
    say,
    show,
)
from tests.service.usecases.deletion.test_tree_deletion import (
    ADMIN,
    CHILD,
    GRANDCHILD,
    SIBLING,
    TREES,
    plant,
    start,
)
from tests.service.usecases.members import Killed, dies, pending, remove
from tests.support.mailbox import Mailbox
from tests.support.tables import DAY_S, Store, WrongClock

DAYS = 30


def later(store: Store, days: float) -> Table:
    """Return the table as a process sees it after some days."""
    return store.process(clock=WrongClock(int(days * DAY_S * 1000)))


def delete(store: Store, of: str = ROOT, *, by: Caller = ANN, mailbox: Mailbox | None = None) -> bool:
    queue = (mailbox or Mailbox()).queue
    return delete_conversation(store.process(), queue, caller=by, conversation_id=of, days=DAYS, wait_s=0)


def delete_for_good(
    store: Store, of: str = ROOT, *, by: Caller = ANN, mailbox: Mailbox | None = None
) -> None:
    queue = (mailbox or Mailbox()).queue
    delete_conversation(store.process(), queue, caller=by, conversation_id=of, days=0, wait_s=0)


def restore(store: Store, of: str = ROOT, *, by: Caller = ANN) -> str:
    shown = trash.restore_conversation(store.process(), Mailbox().queue, caller=by, conversation_id=of)
    return shown.conversation.conversation_id


def restoring(of: str, by: Caller) -> Callable[[Table], object]:
    """Return what lets a process restore a tree."""
    return lambda process: trash.restore_conversation(process, Mailbox().queue, caller=by, conversation_id=of)


def killed_anywhere(store: Store, act: Callable[[Table], object]) -> Iterator[None]:
    """Yield after a process was killed after its first call and each that changed the table.

    A kill before a call leaves what a kill after the one before it leaves.
    """
    saved, left = store.saved(), None
    for nth in range(1, 100):
        store.set_back(saved)
        process = store.process()
        dies(process, nth, before=False)
        try:
            act(process)
        except Killed:
            if left != (left := store.contents()):
                yield
        else:
            assert nth > 10
            return


def listed(store: Store, user: str = "ann", limit: int = 100) -> list[str]:
    found, after = [], None
    while True:
        page = trash_list.list_trash(store.process(), user_id=user, after=after, limit=limit)
        found += [one.conversation_id for one in page.rows]
        if (after := page.resume) is None:
            return found


def group(store: Store, of: str) -> Group:
    found = store.process().get([keys.group(of)]).group(of)
    assert found is not None
    return found


def without_restored(contents: dict[Any, Any]) -> dict[Any, Any]:
    return {
        key: {name: value for name, value in item.items() if name != "restoredAt"}
        for key, item in contents.items()
    }


def settle(store: Store, mailbox: Mailbox, table: Table | None = None) -> None:
    """Do what was announced. What waits is announced a few times only."""
    for _ in range(20):
        for message in mailbox.take():
            message.work(table or store.process(), mailbox.queue)


def assert_sound(store: Store) -> None:
    assert check(store.contents().values(), now_s=store.process().now_s()) == []


def test_a_whole_family_comes_back_as_it_was(store: Store) -> None:
    plant(store)
    before = store.contents()

    assert delete(store)
    assert_sound(store)
    assert listed(store) == [ROOT]
    for of in (ROOT, FORK, CHILD, GRANDCHILD):
        with pytest.raises(NotFoundError):
            show(store.process(), of)
    assert restore(store, FORK) == FORK

    assert without_restored(store.contents()) == before
    assert listed(store) == []
    assert_sound(store)
    append(store.process(), ROOT, "goes on")


@pytest.mark.parametrize("of", [ROOT, FORK, CHILD, GRANDCHILD])
def test_nothing_can_be_appended_by_a_process_that_knows_the_conversation(store: Store, of: str) -> None:
    plant(store)
    process, by = store.process(), BOB if of == CHILD else ANN
    append(process, of, "known", by=by)

    delete(store)
    before = store.contents()

    with pytest.raises(NotFoundError):
        append(process, of, "late", by=by)
    assert store.contents() == before


def test_members_and_lists_see_nothing_of_it_and_everything_after_it(store: Store) -> None:
    plant(store)
    request = conversation_lists.ListRequest(limit=50)

    def seen(by: Caller) -> list[str]:
        page = conversation_lists.list_conversations(store.process(), caller=by, request=request)
        return [one.conversation.conversation_id for one in page.rows]

    before = {by: seen(by) for by in (ANN, BOB, EVE)}
    offers = pending(store.process(), by=EVE)
    assert offers

    delete(store)
    assert OTHER in seen(ANN)
    assert pending(store.process(), by=EVE) == []
    assert FORK not in seen(ANN)
    assert seen(EVE) == []
    assert listed(store, "eve") == listed(store, "bob") == []

    restore(store)
    assert {by: seen(by) for by in (ANN, BOB, EVE)} == before
    assert pending(store.process(), by=EVE) == offers


@pytest.mark.parametrize("by", [BOB, EVE])
def test_only_its_owner_or_an_admin_restores_it_or_deletes_it_for_good(store: Store, by: Caller) -> None:
    plant(store)
    delete(store)

    with pytest.raises(NotFoundError):
        restore(store, by=by)
    with pytest.raises(NotFoundError):
        delete_for_good(store, by=by)
    restore(store, by=ADMIN)
    with pytest.raises(ForbiddenError):
        restore(store, by=by)
    assert restore(store) == ROOT, "what is live is answered as it is"


def test_a_deletion_that_is_repeated_changes_nothing(store: Store) -> None:
    plant(store)
    delete(store)
    before = store.contents()

    with pytest.raises(NotFoundError):
        delete(store)

    assert store.contents() == before


def test_a_child_that_was_deleted_before_is_not_restored_with_its_parent(store: Store) -> None:
    plant(store)
    delete(store, SIBLING)
    delete(store)
    assert listed(store) == [SIBLING, ROOT] or listed(store) == [ROOT, SIBLING]

    with pytest.raises(ConflictError) as refused:
        restore(store, SIBLING)
    assert refused.value.details["reason"] == "parent_deleted"
    restore(store)
    show(store.process(), GRANDCHILD)
    with pytest.raises(NotFoundError):
        show(store.process(), SIBLING)
    restore(store, SIBLING)
    show(store.process(), SIBLING)
    assert_sound(store)


def test_a_child_that_went_with_its_parent_is_not_restored_alone(store: Store) -> None:
    plant(store)
    delete(store)

    with pytest.raises(NotFoundError):
        restore(store, GRANDCHILD)
    with pytest.raises(NotFoundError):
        delete_for_good(store, GRANDCHILD)


@pytest.mark.parametrize("how", ["for good", "in time"])
def test_the_end_of_the_trash_is_the_deletion_as_without_it(store: Store, how: str) -> None:
    plant(store)
    delete(store, SIBLING)
    mailbox = Mailbox()
    delete(store, mailbox=mailbox)
    assert mailbox.messages == []
    if how == "for good":
        delete_for_good(store, mailbox=mailbox)
        table = store.process()
    else:
        emptied = trash.empty_trash
        raised: list[Exception] = []
        assert emptied(later(store, DAYS - 0.01), mailbox.queue, days=DAYS, report=raised.append) == 0
        table = later(store, DAYS + 0.01)
        assert emptied(table, mailbox.queue, days=DAYS, report=raised.append) == 2
        assert raised == []
    with pytest.raises(NotFoundError):
        restore(store)
    with pytest.raises(ConflictError) as refused:
        create(table, ROOT)
    assert refused.value.details["reason"] == "deleted_recently"

    settle(store, mailbox, table)

    trees = {key.partition for key, item in store.contents().items() if "conversations" in item}
    assert trees == {OTHER, conversation(21), conversation(22)}
    assert check(store.contents().values(), now_s=table.now_s()) == []


def test_the_last_branch_takes_the_tree_into_the_trash(store: Store) -> None:
    say(store.process(), ROOT, "a")
    remove_branch(store.process(), Mailbox().queue, caller=ANN, conversation_id=ROOT, days=DAYS)

    assert listed(store) == [ROOT]
    restore(store)
    assert read(store.process(), ROOT) == ["a"]


@pytest.mark.failure("restore-race")
def test_a_restoring_of_a_child_that_is_killed_anywhere_goes_on_after_that_of_its_parent(
    store: Store,
) -> None:
    """The parent is deleted and restored before a worker goes on with the child."""
    plant(store)
    whole = store.contents()
    delete(store, CHILD, by=BOB)
    for _ in killed_anywhere(store, restoring(CHILD, BOB)):
        was_begun = group(store, CHILD).state is not State.TRASHED
        delete(store)
        assert_sound(store)
        restore(store)
        assert_sound(store)
        if not was_begun:
            restore(store, CHILD, by=BOB)
        assert without_restored(store.contents()) == whole


def test_a_list_of_the_trash_has_pages(store: Store) -> None:
    chats = [conversation(number) for number in range(50, 57)]
    for chat in chats:
        create(store.process(), chat)
    for chat in chats[::2]:
        delete(store, chat)

    assert sorted(listed(store, limit=1)) == sorted(listed(store)) == chats[::2]


def test_what_was_restored_begins_its_retention_anew(store: Store) -> None:
    say(store.process(), ROOT, "old")
    delete(store)
    trash.restore_conversation(later(store, 20), Mailbox().queue, caller=ANN, conversation_id=ROOT)

    assert delete_unused(later(store, 49), Mailbox().queue, days=DAYS).deleted == 0
    assert delete_unused(later(store, 51), Mailbox().queue, days=DAYS).deleted == 1


def test_a_wide_tree_is_shut_and_opened_in_several_transactions(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_trash, "HEADS_AT_ONCE", 3)
    say(store.process(), ROOT, "a")
    for number in range(60, 70):
        fork(store.process(), ROOT, conversation(number))
    before = store.contents()

    delete(store, conversation(63))
    assert_sound(store)
    restore(store)

    assert without_restored(store.contents()) == before


def test_a_member_who_leaves_while_a_child_is_in_the_trash_is_not_in_it_when_it_comes_back(
    store: Store,
) -> None:
    plant(store)
    start(store.process(), ROOT, conversation(90))
    delete(store, conversation(90))

    remove(store.process(), "eve")
    restore(store, conversation(90))

    with pytest.raises(ForbiddenError):
        show(store.process(), conversation(90), by=EVE)
    assert_sound(store)


def sweep_all(store: Store, table: Table | None = None) -> None:
    """Do what the sweep announces."""
    mailbox = Mailbox()
    sweep(table or store.process(), mailbox.queue)
    settle(store, mailbox, table)


@pytest.mark.failure("restore-race")
@pytest.mark.parametrize("then", ["sweep", "repeat", "restore", "empty"])
def test_a_deletion_that_is_killed_anywhere_is_whole_once_it_is_swept(store: Store, then: str) -> None:
    """Nothing of the family is half in the trash, and all of it comes back or goes."""
    plant(store)
    whole = store.contents()

    def deleting(process: Table) -> object:
        queue = Mailbox().queue
        return delete_conversation(process, queue, caller=ANN, conversation_id=ROOT, days=DAYS, wait_s=0)

    for _ in killed_anywhere(store, deleting):
        was_begun = group(store, ROOT).trashed_at is not None
        assert_sound(store)
        if then == "repeat":
            with contextlib.suppress(NotFoundError):
                delete(store)
        elif then == "restore" and was_begun:
            restore(store)
            assert without_restored(store.contents()) == whole
        elif then == "empty" and was_begun:
            delete_for_good(store)
        sweep_all(store)
        assert_sound(store)
        if then == "empty" and was_begun:
            sweep_all(store, later(store, 1))
            assert keys.group(ROOT) not in store.contents()
            assert keys.group(GRANDCHILD) not in store.contents()
        elif was_begun or then == "repeat":
            if then != "restore":
                assert not any(group(store, of).is_live for of in TREES)
                restore(store)
            assert without_restored(store.contents()) == whole


@pytest.mark.failure("restore-race")
@pytest.mark.parametrize("then", ["sweep", "repeat", "delete", "empty"])
def test_a_restoring_that_is_killed_anywhere_is_ended_by_the_next(store: Store, then: str) -> None:
    plant(store)
    whole = store.contents()
    delete(store)
    for _ in killed_anywhere(store, restoring(ROOT, ANN)):
        was_begun = group(store, ROOT).state is not State.TRASHED
        assert_sound(store)
        if then == "repeat":
            restore(store)
        elif then == "delete":
            with contextlib.suppress(NotFoundError):
                delete(store)
        elif then == "empty":
            trash.empty_trash(later(store, 31), Mailbox().queue, days=DAYS, report=fail)
        sweep_all(store)
        assert_sound(store)
        if then == "empty" and not was_begun:
            sweep_all(store, later(store, 32))
            assert keys.group(ROOT) not in store.contents()
            continue
        if not group(store, ROOT).is_live:
            restore(store)
        assert without_restored(store.contents()) == whole


def fail(error: Exception) -> None:
    raise error
