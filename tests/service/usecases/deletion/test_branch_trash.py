"""Branches in the trash: what others show stays, and all of them comes back or goes."""

import contextlib
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller, JobKind
from forklore_service.errors import ConflictError, ForbiddenError, NotFoundError
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.usecases.background.worker import JobMessage, go_on
from forklore_service.usecases.deletion import trash
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.people.erasing import advance_erasure
from forklore_service.usecases.people.erasure_requests import erase_user
from tests.service.usecases.builders import (
    ANN,
    BOB,
    EVE,
    FORK,
    ROOT,
    TWIG,
    append,
    conversation,
    create,
    fork,
    promote,
    read,
    say,
    show,
)
from tests.service.usecases.deletion import test_trash
from tests.service.usecases.deletion.test_trash import (
    DAYS,
    assert_sound,
    fail,
    group,
    killed_anywhere,
    later,
    listed,
    restore,
    restoring,
    sweep_all,
)
from tests.service.usecases.deletion.test_tree_deletion import (
    CHILD,
    CHILDS_FORK,
    GRANDCHILD,
    SIBLING,
    plant,
    start,
)
from tests.service.usecases.members import accept, offer, update
from tests.support.mailbox import Mailbox
from tests.support.tables import Store

CHANGED = {"version", "usedAt", "current", "restoredAt", "trashedBranches"}
"""What a removal and a restoring leave changed in GROUP."""


def removing(of: str, by: Caller = ANN, days: int = DAYS) -> Any:
    """Return what lets a process remove a branch."""
    queue = Mailbox().queue
    return lambda process: remove_branch(process, queue, caller=by, conversation_id=of, days=days, wait_s=0)


def remove(store: Store, of: str = FORK, *, by: Caller = ANN, days: int = DAYS) -> bool:
    return bool(removing(of, by, days)(store.process()))


def whole(store: Store) -> dict[Key, Item]:
    """Return all items, but for rows of lists, without what a restored branch leaves changed."""
    found = {key: item for key, item in store.contents().items() if not key.partition.startswith("USER#")}
    return {
        key: {name: value for name, value in item.items() if name not in left_out(key)}
        for key, item in found.items()
    }


def left_out(key: Key) -> set[str]:
    return CHANGED if key.sort == "GROUP" else {"nonce"} if key.partition.startswith("PTR#") else set()


def is_trashed(store: Store, of: str) -> bool:
    remnant = store.process().get([keys.remnant(ROOT, of)]).remnant(ROOT, of)
    return remnant is not None and remnant.in_trash


@pytest.mark.parametrize("of", [ROOT, FORK, TWIG])
def test_a_branch_comes_back_as_it_was_with_what_it_has_started(store: Store, of: str) -> None:
    plant(store)
    before = whole(store)
    shown = {one: read(store.process(), one) for one in (ROOT, FORK, TWIG)}
    started = {ROOT: (CHILD, GRANDCHILD), FORK: (), TWIG: (SIBLING,)}[of]

    assert remove(store, of)
    assert_sound(store)
    assert listed(store) == [of]
    for gone in (of, *started):
        with pytest.raises(NotFoundError):
            show(store.process(), gone)
    for other in {ROOT, FORK, TWIG} - {of}:
        assert read(store.process(), other) == shown[other]
    assert restore(store, of) == of

    assert whole(store) == before
    assert listed(store) == []
    assert_sound(store)
    assert {one: read(store.process(), one) for one in (ROOT, FORK, TWIG)} == shown
    append(store.process(), of, "goes on")
    assert read(store.process(), of)[-1] == "goes on"


def test_nothing_is_lost_that_was_appended_before_and_after_it(store: Store) -> None:
    say(store.process(), ROOT, "a")
    fork(store.process(), ROOT, FORK)
    process = store.process()
    append(process, FORK, "b")
    remove(store)

    with pytest.raises(NotFoundError):
        append(process, FORK, "late")
    restore(store, FORK)
    append(process, FORK, "c")
    fork(store.process(), FORK, TWIG)

    assert read(store.process(), FORK) == read(store.process(), TWIG) == ["a", "b", "c"]
    assert_sound(store)


def test_it_shows_what_it_showed_although_that_branch_is_gone_for_good(store: Store) -> None:
    say(store.process(), ROOT, "a")
    fork(store.process(), ROOT, FORK)
    append(store.process(), FORK, "b")
    fork(store.process(), FORK, TWIG)
    append(store.process(), FORK, "of nobody else")
    append(store.process(), TWIG, "c")
    remove(store, TWIG)
    remove(store, FORK, days=0)
    sweep_all(store)

    restore(store, TWIG)
    assert read(store.process(), TWIG) == ["a", "b", "c"]
    assert_sound(store)
    remove(store, TWIG)
    remove(store, TWIG, days=0)
    sweep_all(store)

    assert not any(key.sort.startswith("GONE") for key in store.contents())
    assert_sound(store)


@pytest.mark.failure("removal-race")
def test_its_entries_stay_when_the_last_that_showed_them_is_pruned(store: Store) -> None:
    say(store.process(), ROOT, "a")
    fork(store.process(), ROOT, FORK)
    append(store.process(), FORK, "b")
    fork(store.process(), FORK, TWIG)
    append(store.process(), FORK, "c")
    remove(store)
    remove(store, TWIG, days=0)
    sweep_all(store, later(store, 1))
    sweep_all(store, later(store, 1))

    assert_sound(store)
    restore(store, FORK)
    assert read(store.process(), FORK) == ["a", "b", "c"]
    assert_sound(store)


def test_a_restoring_waits_for_no_worker_of_an_earlier_removal(store: Store) -> None:
    """A late message of the removal does nothing to the branch, and none of its end to the next."""
    plant(store)
    before = whole(store)
    late = JobMessage(ROOT, JobKind.PRUNE, conversation_id=FORK)
    for _ in range(2):
        remove(store)
        go_on(later(store, 1), Mailbox().queue, late, wait_s=0)
        restore(store, FORK)
        go_on(later(store, 1), Mailbox().queue, late, wait_s=0)

    assert whole(store) == before
    assert_sound(store)


@pytest.mark.parametrize("how", ["for good", "in time"])
def test_the_end_of_its_time_is_the_removal_as_without_a_trash(store: Store, how: str) -> None:
    plant(store)
    saved = store.saved()
    remove(store, TWIG, days=0)
    sweep_all(store, later(store, 1))
    expected = {*whole(store)}
    store.set_back(saved)

    remove(store, TWIG)
    if how == "for good":
        assert remove(store, TWIG, days=0)
    else:
        queue = Mailbox().queue
        assert trash.empty_trash(later(store, DAYS - 0.01), queue, days=DAYS, report=fail) == 0
        assert trash.empty_trash(later(store, DAYS + 0.01), queue, days=DAYS, report=fail) == 1
    with pytest.raises(NotFoundError):
        restore(store, TWIG)
    with pytest.raises(NotFoundError):
        remove(store, TWIG, days=0)
    assert_sound(store)
    sweep_all(store, later(store, 1))

    assert {*whole(store)} == expected
    assert group(store, ROOT).trashed_branches == 0


def test_the_current_branch_is_it_again_unless_another_was_promoted(store: Store) -> None:
    say(store.process(), ROOT, "a")
    for one in (FORK, TWIG):
        fork(store.process(), ROOT, one)
    promote(store.process(), FORK)
    remove(store)
    assert group(store, ROOT).current == ROOT
    remove(store, ROOT)
    assert group(store, ROOT).current == TWIG

    restore(store, ROOT)
    restore(store, FORK)
    assert group(store, ROOT).current == FORK
    remove(store)
    promote(store.process(), ROOT)
    restore(store, FORK)
    assert group(store, ROOT).current == ROOT
    assert_sound(store)


def test_whoever_may_remove_it_restores_it_or_deletes_it_for_good(store: Store) -> None:
    plant(store)
    remove(store, FORK)
    for act in (restoring(FORK, EVE), removing(FORK, EVE, days=0)):
        with pytest.raises(NotFoundError):
            act(store.process())
    update(store.process(), "eve", AccessLevel.MANAGER)

    assert restore(store, FORK, by=EVE) == FORK
    assert restore(store, FORK, by=EVE) == FORK, "what is live is answered as it is"
    with pytest.raises(ForbiddenError):
        restore(store, FORK, by=BOB)
    remove(store, TWIG)
    with pytest.raises(NotFoundError):
        restore(store, TWIG, by=EVE)
    assert listed(store, "eve") == []
    assert restore(store, TWIG) == TWIG


def test_its_tree_comes_back_before_it(store: Store) -> None:
    plant(store)
    before = whole(store)
    remove(store, TWIG)
    test_trash.delete(store)
    assert_sound(store)
    assert listed(store) == [ROOT]

    with pytest.raises(ConflictError) as refused:
        restore(store, TWIG)
    assert refused.value.details["reason"] == "parent_deleted"
    restore(store)
    assert_sound(store)
    for gone in (TWIG, SIBLING):
        with pytest.raises(NotFoundError):
            show(store.process(), gone)
    restore(store, TWIG)

    assert whole(store) == before


@pytest.mark.parametrize("is_kept", [True, False])
def test_its_tree_takes_it_along_for_good(store: Store, is_kept: bool) -> None:
    plant(store)
    remove(store, TWIG)
    if is_kept:
        test_trash.delete(store)
        trash.empty_trash(later(store, DAYS + 1), Mailbox().queue, days=DAYS, report=fail)
    else:
        test_trash.delete_for_good(store)
    sweep_all(store, later(store, DAYS + 2))
    sweep_all(store, later(store, DAYS + 2))

    assert not any(key.partition in (ROOT, SIBLING, CHILD) for key in store.contents())
    assert not [key for key in store.contents() if key.partition == "JOB"]


def test_a_child_that_was_deleted_before_stays_where_it_is(store: Store) -> None:
    plant(store)
    test_trash.delete(store, SIBLING)
    remove(store, TWIG)
    assert sorted(listed(store)) == sorted([SIBLING, TWIG])

    with pytest.raises(ConflictError) as refused:
        restore(store, SIBLING)
    assert refused.value.details["reason"] == "parent_deleted"
    restore(store, TWIG)
    with pytest.raises(NotFoundError):
        show(store.process(), SIBLING)
    restore(store, SIBLING)
    show(store.process(), SIBLING)
    assert_sound(store)


def test_an_erasure_takes_its_words_there(store: Store) -> None:
    say(store.process(), ROOT, "a")
    store.add_member(ROOT, "eve", AccessLevel.WRITER)
    fork(store.process(), ROOT, FORK)
    append(store.process(), FORK, "the words of eve", by=EVE)
    assert show(store.process(), FORK).head.preview is not None
    remove(store)

    begun = erase_user(store.process(), Mailbox().queue, caller=Caller("root"), user_id="eve")
    for _ in range(5):
        advance_erasure(later(store, 1), Mailbox().queue, begun.erasure_id, 0)
    restore(store, FORK)

    assert "'eve'" not in str(store.contents())
    assert "words" not in str(show(store.process(), FORK))
    assert_sound(store)


def test_it_comes_back_to_the_owner_of_that_time(store: Store) -> None:
    say(store.process(), ROOT, "a")
    store.add_member(ROOT, "bob")
    fork(store.process(), ROOT, FORK)
    process = store.process()
    append(process, FORK, "b")
    remove(store)
    accept(store.process(), offer(store.process()))
    assert_sound(store)

    assert listed(store) == []
    assert listed(store, "bob") == [FORK]
    restore(store, FORK, by=BOB)
    assert_sound(store)
    store.item(keys.head(ROOT, FORK))
    append(store.process(), FORK, "c", by=BOB)
    assert items.head(store.item(keys.head(ROOT, FORK))).owner == "bob"


def test_a_list_of_the_trash_has_pages_of_branches(store: Store) -> None:
    chats = [conversation(number) for number in range(50, 54)]
    branches = []
    for number, chat in enumerate(chats):
        create(store.process(), chat)
        for at in range(3):
            branches.append(conversation(100 + 10 * number + at))
            fork(store.process(), chat, branches[-1])
            remove(store, branches[-1])
    test_trash.delete(store, chats[0])

    expected = sorted([chats[0], *branches[3:]])
    for limit in (1, 2, 3, 100):
        assert sorted(listed(store, limit=limit)) == expected
    assert_sound(store)


def undone(store: Store, of: str) -> None:
    """Restore a branch, and let workers do what is left."""
    if is_trashed(store, of):
        restore(store, of)
    sweep_all(store)
    assert_sound(store)


@pytest.mark.failure("restore-race")
@pytest.mark.parametrize("of", [TWIG, ROOT])
@pytest.mark.parametrize("then", ["sweep", "restore", "empty", "tree", "restore tree"])
def test_a_removal_that_is_killed_anywhere_is_whole_once_it_is_swept(
    store: Store, of: str, then: str
) -> None:
    plant(store)
    before = whole(store)
    family = {TWIG: [SIBLING], ROOT: [CHILD, CHILDS_FORK, GRANDCHILD]}[of]
    for _ in killed_anywhere(store, removing(of)):
        was_begun = is_trashed(store, of)
        assert_sound(store)
        if then == "restore":
            undone(store, of)
        elif then == "empty" and was_begun:
            remove(store, of, days=0)
            assert_sound(store)
            sweep_all(store, later(store, 1))
            sweep_all(store, later(store, 1))
            assert_sound(store)
            assert not any(keys.group(one) in store.contents() for one in family)
            continue
        elif then.endswith("tree"):
            test_trash.delete(store, FORK)
            if then == "restore tree":
                restore(store, FORK)
            sweep_all(store)
            assert_sound(store)
            if then == "tree":
                restore(store, FORK)
        sweep_all(store)
        assert_sound(store)
        if was_begun and then != "restore":
            for gone in (of, *family):
                with pytest.raises(NotFoundError):
                    show(store.process(), gone, by=BOB if gone == CHILD else ANN)
        undone(store, of)
        assert whole(store) == before


@pytest.mark.failure("restore-race")
@pytest.mark.parametrize("of", [TWIG, ROOT])
@pytest.mark.parametrize("then", ["sweep", "repeat", "remove", "tree", "empty"])
def test_a_restoring_that_is_killed_anywhere_is_ended_by_the_next(store: Store, of: str, then: str) -> None:
    plant(store)
    before = whole(store)
    remove(store, of)
    for _ in killed_anywhere(store, restoring(of, ANN)):
        was_begun = not is_trashed(store, of)
        assert_sound(store)
        if then == "repeat":
            restore(store, of)
        elif then == "remove":
            with contextlib.suppress(NotFoundError):
                remove(store, of)
            assert_sound(store)
        elif then == "tree":
            test_trash.delete(store, FORK)
            assert_sound(store)
            sweep_all(store)
            assert_sound(store)
            restore(store, FORK)
        elif then == "empty":
            trash.empty_trash(later(store, DAYS + 1), Mailbox().queue, days=DAYS, report=fail)
        sweep_all(store)
        assert_sound(store)
        if then == "empty" and not was_begun:
            sweep_all(store, later(store, DAYS + 2))
            with pytest.raises(NotFoundError):
                show(store.process(), of)
            continue
        undone(store, of)
        assert whole(store) == before


def test_a_new_child_of_a_restored_branch_is_an_ordinary_one(store: Store) -> None:
    plant(store)
    remove(store, TWIG)
    restore(store, TWIG)
    start(store.process(), TWIG, conversation(90))

    remove(store, TWIG)
    with pytest.raises(NotFoundError):
        show(store.process(), conversation(90))
    restore(store, TWIG)
    show(store.process(), conversation(90))
    show(store.process(), SIBLING)
    assert_sound(store)
