"""The deletion of trees that nobody has used for long."""

from typing import Any

import pytest

from forklore_local.fsck.check import check
from forklore_service.domain import keys
from forklore_service.domain.model import JobKind, StartedBy
from forklore_service.errors import UnavailableError
from forklore_service.storage.table import Table
from forklore_service.storage.unused import find_unused
from forklore_service.usecases.branches.promotion import promote_conversation
from forklore_service.usecases.deletion import retention
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.deletion.retention import Retained, delete_unused
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.writing import conversations
from forklore_service.usecases.writing.append import append_entries
from forklore_service.usecases.writing.conversations import Patch
from tests.service.usecases.builders import (
    ANN,
    BOB,
    FORK,
    OTHER,
    ROOT,
    TWIG,
    conversation,
    create,
    fork,
    said,
    say,
    show,
)
from tests.service.usecases.members import share
from tests.support.mailbox import Mailbox
from tests.support.tables import DAY_S, Store, WrongClock
from tools.harness.wire import Wire

DAYS = 30
CHILD = conversation(41)
NUMBER = 12


def later(store: Store, days: float) -> Table:
    """Return the table as a process sees it after some days."""
    return store.process(clock=WrongClock(int(days * DAY_S * 1000)))


def delete(store: Store, days: float, mailbox: Mailbox | None = None, **how: Any) -> Retained:
    return delete_unused(later(store, days), (mailbox or Mailbox()).queue, days=DAYS, **how)


def start(table: Table) -> None:
    """Start a child of ROOT."""
    append_entries(table, caller=ANN, request=Append(CHILD, [said("task")], start=StartedBy(ROOT, None)))


def trees(store: Store) -> set[str]:
    """Return the live trees."""
    return {key.partition for key, item in store.contents().items() if item.get("state") == {"S": "live"}}


def settle(store: Store, mailbox: Mailbox, days: float) -> None:
    while taken := mailbox.take():
        for message in taken:
            message.work(later(store, days), mailbox.queue)


def test_a_tree_that_nobody_used_for_so_many_days_is_deleted_and_no_other(store: Store) -> None:
    mailbox = Mailbox()
    say(store.process(), ROOT, "old")
    say(later(store, 20), OTHER, "newer")

    assert delete(store, DAYS - 0.5, mailbox) == Retained(0, 0)
    assert delete(store, DAYS + 1.5, mailbox) == Retained(1, 1)

    assert mailbox.messages[0].group_id == ROOT
    settle(store, mailbox, DAYS + 1.5)
    assert trees(store) == {OTHER}
    assert keys.job(JobKind.DELETION, ROOT) not in store.contents()
    assert check(store.contents().values(), now_s=later(store, DAYS + 1.5).now_s()) == []


@pytest.mark.parametrize("use", ["append", "append to a fork", "fork", "title", "promotion", "removal"])
def test_every_use_of_any_conversation_keeps_the_tree(store: Store, use: str) -> None:
    say(store.process(), ROOT, "old")
    fork(store.process(), ROOT, FORK)
    table = later(store, 10)
    match use:
        case "append":
            say(table, ROOT, "new")
        case "append to a fork":
            say(table, FORK, "new")
        case "fork":
            fork(table, ROOT, TWIG)
        case "promotion":
            promote_conversation(table, caller=ANN, conversation_id=FORK)
        case "removal":
            remove_branch(table, Mailbox().queue, caller=ANN, conversation_id=FORK)
        case "title":
            change = Patch({"title": "new"})
            conversations.update_conversation(table, caller=ANN, conversation_id=FORK, change=change)

    assert delete(store, DAYS + 9) == Retained(1, 0)
    assert delete(store, DAYS + 11) == Retained(1, 1)


def test_a_reading_or_a_new_member_does_not_keep_a_tree(store: Store) -> None:
    say(store.process(), ROOT, "old")
    share(later(store, 20), "bob")
    show(later(store, 25), ROOT, by=BOB)

    assert delete(store, DAYS + 1).deleted == 1


@pytest.mark.parametrize(("tags", "deleted"), [({"retention": "keep"}, 0), ({"retention": "x"}, 1), ({}, 1)])
def test_a_tag_of_any_branch_keeps_the_tree(store: Store, tags: dict[str, str], deleted: int) -> None:
    create(store.process(), ROOT)
    fork(store.process(), ROOT, FORK, tags=tags)

    assert delete(store, DAYS + 1) == Retained(1, deleted)
    assert trees(store) == set() if deleted else {ROOT}


def test_an_operator_may_let_no_tag_keep_a_tree(store: Store) -> None:
    create(store.process(), ROOT, tags={"retention": "keep"})

    assert delete(store, DAYS + 1, ignore_tag=True) == Retained(1, 1)


def test_a_child_goes_before_its_parent(store: Store) -> None:
    mailbox = Mailbox()
    say(store.process(), ROOT, "parent")
    start(store.process())

    assert delete(store, DAYS + 1, mailbox).deleted == 1
    settle(store, mailbox, DAYS + 1)
    assert trees(store) == {ROOT}
    assert delete(store, DAYS + 2.1, mailbox).deleted == 1
    settle(store, mailbox, DAYS + 2.1)
    assert trees(store) == set()


def test_a_parent_stays_as_long_as_a_child_is_used(store: Store) -> None:
    say(store.process(), ROOT, "parent")
    start(store.process())
    say(later(store, 20), CHILD, "more")

    assert delete(store, DAYS + 1).deleted == 0
    assert trees(store) == {ROOT, CHILD}


@pytest.mark.failure("use-amid-retention")
@pytest.mark.parametrize("use", ["append", "fork", "title", "child"])
def test_a_use_just_before_the_tombstone_keeps_the_tree(store: Store, use: str) -> None:
    """No append that was acknowledged is lost because the tree was read before it."""
    say(store.process(), ROOT, "old")
    other, deleting = later(store, DAYS + 1), later(store, DAYS + 1)

    def act() -> None:
        match use:
            case "append":
                say(other, ROOT, "just in time")
            case "fork":
                fork(other, ROOT, FORK)
            case "title":
                change = Patch({"title": "just in time"})
                conversations.update_conversation(other, caller=ANN, conversation_id=ROOT, change=change)
            case "child":
                start(other)

    Wire.of(deleting).just_before("TransactWriteItems", act)

    assert delete_unused(deleting, Mailbox().queue, days=DAYS) == Retained(1, 0)
    assert ROOT in trees(store)


def test_a_round_begins_once_a_day_and_goes_on_where_it_was(store: Store) -> None:
    for number in range(NUMBER):
        create(store.process(), conversation(100 + number))
    at = DAYS + 1.0
    runs = [delete(store, at, looked_max=1) for _ in range(12)]

    assert sum(one.deleted for one in runs) == sum(one.looked for one in runs) == NUMBER
    assert max(one.looked for one in runs) < NUMBER
    create(later(store, 0.1), ROOT)
    assert delete(store, at + 0.5) == Retained(0, 0), "the round of the day is over"
    assert delete(store, at + 1.01) == Retained(1, 1)


def test_a_tree_of_more_conversations_than_are_checked_is_deleted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "CHECKED_MAX", 1)
    create(store.process(), ROOT)
    fork(store.process(), ROOT, FORK)

    assert delete(store, DAYS + 1).deleted == 1


@pytest.mark.failure("damaged-old-tree")
def test_a_damaged_tree_is_reported_and_the_others_are_deleted(store: Store) -> None:
    say(store.process(), ROOT, "damaged")
    say(store.process(), OTHER, "old")
    head = store.contents()[keys.head(ROOT, ROOT)]
    store.put({name: value for name, value in head.items() if name != "changedAt"})
    errors: list[Exception] = []

    assert delete(store, DAYS + 1, report=errors.append) == Retained(2, 1, 1)
    assert [type(error) for error in errors] == [KeyError]
    assert trees(store) == {ROOT}
    assert delete(store, DAYS + 1) == Retained(), "the round is over"


@pytest.mark.failure("killed-retention")
def test_a_run_that_ends_early_keeps_the_places_that_it_has_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(NUMBER):
        create(store.process(), conversation(100 + number))
    table = later(store, DAYS + 1)

    def fail_at_the_end(table: Table, *, shard: int, **how: Any) -> Any:
        if shard == keys.TREE_SHARDS - 1:
            raise UnavailableError("no time is left")
        return find_unused(table, shard=shard, **how)

    monkeypatch.setattr(retention, "find_unused", fail_at_the_end)
    with pytest.raises(UnavailableError):
        delete_unused(table, Mailbox().queue, days=DAYS)

    begun = table.get([keys.retention()]).retention()
    assert begun is not None
    assert None in begun.places
    assert begun.places[-1] is not None
