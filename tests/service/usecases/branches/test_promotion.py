"""The current branch of a tree: who promotes what, and who sees it."""

from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.listing import Mode
from forklore_service.domain.model import Caller, ForkPosition, StartedBy
from forklore_service.errors import ConflictError, ForbiddenError, NotFoundError
from forklore_service.storage import items
from forklore_service.storage.table import Table
from forklore_service.usecases.reading import conversation_lists, fork_lists
from forklore_service.usecases.reading.conversation_lists import ListRequest
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.requests import Append, Fork
from forklore_service.usecases.writing.append import append_entries
from tests.service.usecases.builders import (
    ANN,
    BOB,
    EVE,
    FORK,
    OTHER,
    ROOT,
    TWIG,
    conversation,
    fork,
    idempotency_key,
    promote,
    read,
    said,
    say,
    show,
)
from tests.support.tables import Store, WrongClock
from tools.harness.wire import Request, Wire

CHILD = conversation(11)


@pytest.fixture
def forked(store: Store) -> Table:
    """A tree of Ann with a fork and a fork of that. Bob is a writer."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    fork(table, FORK, TWIG)
    store.add_member(ROOT, "bob", AccessLevel.WRITER)
    return table


def current(table: Table, *, by: Caller = ANN) -> str:
    """Return the tree's current branch. Each view of the tree must name the same one."""
    shown = [one for one in (ROOT, FORK, TWIG) if show(table, one, by=by).is_current]
    page = conversation_lists.list_conversations(table, caller=by, request=ListRequest(mode=Mode.CURRENT))
    everything = conversation_lists.list_conversations(table, caller=by, request=ListRequest(mode=Mode.ALL))
    rows = fork_lists.list_forks(table, caller=by, conversation_id=ROOT, after=None, limit=20)

    assert [one.conversation.conversation_id for one in page.rows] == shown
    assert [one.conversation.conversation_id for one in everything.rows if one.is_current] == shown
    assert [rows.current] == shown
    return shown[0]


def test_the_root_is_the_current_branch_until_another_is_promoted(store: Store, forked: Table) -> None:
    assert current(forked) == ROOT

    promote(forked, FORK)
    assert current(store.process()) == FORK
    promote(store.process(), TWIG, by=BOB)
    assert current(store.process()) == TWIG
    promote(forked, ROOT)
    assert current(store.process(), by=BOB) == ROOT


def test_a_promotion_of_the_current_branch_is_counted_and_changes_nothing_else(
    store: Store, forked: Table
) -> None:
    promote(forked, FORK)
    before, group = store.contents(), keys.group(ROOT)

    promote(forked, FORK)

    after = store.contents()
    changed = {"promotions": items.number(2), "usedAt": after[group]["usedAt"]}
    assert after == before | {group: before[group] | changed}


@pytest.mark.failure("write-during-revocation")
def test_a_writer_who_was_removed_meanwhile_promotes_nothing(store: Store, forked: Table) -> None:
    process = store.process()

    def revoke(request: Request) -> None:
        if request.operation == "TransactWriteItems" and store.contents().get(keys.member(ROOT, "bob")):
            store.remove_member(ROOT, "bob")

    Wire.of(process).before(revoke)
    with pytest.raises(ForbiddenError):
        promote(process, FORK, by=BOB)
    assert current(store.process()) == ROOT


@pytest.mark.failure("half-visible-transaction")
@pytest.mark.parametrize("by", [ANN, BOB], ids=["the owner", "a writer"])
def test_a_conversation_that_vanishes_meanwhile_is_not_promoted(
    store: Store, forked: Table, by: Caller
) -> None:
    """The promotion may have read the conversation before it was removed, and GROUP after that."""
    process = store.process()
    removed = [keys.head(ROOT, FORK), keys.conversation(ROOT, FORK), keys.pointer(FORK)]
    wire = Wire.of(process)
    wire.before(lambda one: store.delete(*removed) if one.operation == "TransactWriteItems" else None)

    with pytest.raises(NotFoundError):
        promote(process, FORK, by=by)

    assert items.group(store.item(keys.group(ROOT))).current == ROOT


# A fork that is promoted as it is made


def test_a_fork_can_be_promoted_as_it_is_made(store: Store, forked: Table) -> None:
    assert not fork(forked, ROOT, OTHER).is_current
    assert current_of(store) == ROOT

    made = fork(forked, ROOT, None, promotes=True)

    assert made.is_current
    assert current_of(store) == made.conversation.conversation_id


def current_of(store: Store) -> str:
    return items.group(store.item(keys.group(ROOT))).current


def test_a_fork_by_an_append_can_be_promoted_and_is_again_by_each_append(store: Store, forked: Table) -> None:
    fork_of_root = Fork(ROOT, None, ForkPosition.BLANK)
    request = Append(OTHER, [said("edited")], fork=fork_of_root, promotes=True)

    append_entries(forked, caller=BOB, request=request)
    assert current_of(store) == OTHER

    promote(forked, ROOT)
    append_entries(store.process(), caller=BOB, request=request._replace(promotes=False))
    assert current_of(store) == ROOT
    append_entries(store.process(), caller=BOB, request=request)
    assert current_of(store) == OTHER


# An append that promotes


def append_and_promote(
    table: Table, conversation_id: str = FORK, *drafts: Draft, by: Caller = ANN, **more: Any
) -> None:
    request = Append(conversation_id, drafts or [said("b")], promotes=True, **more)
    append_entries(table, caller=by, request=request)


def test_who_promotes_by_a_slower_clock_after_an_append_promotes_last(store: Store, forked: Table) -> None:
    append_and_promote(store.process(clock=WrongClock(60_000)))
    promote(forked, TWIG)

    assert current(store.process()) == TWIG


@pytest.mark.parametrize("by", [ANN, BOB], ids=["the owner", "a writer"])
def test_an_append_promotes_in_its_transaction_and_costs_no_request_more(
    store: Store, forked: Table, by: Caller
) -> None:
    process = store.process()
    show(process, FORK, by=by)
    wire = Wire.of(process)

    append_and_promote(process, FORK, by=by)

    assert wire.operations == ["TransactWriteItems"]
    group = items.group(store.item(keys.group(ROOT)))
    assert (current(store.process(), by=by), group.promotions, read(process, FORK)) == (FORK, 1, ["a", "b"])


def test_a_new_root_and_a_new_child_are_their_current_branch_anyway(store: Store, forked: Table) -> None:
    append_and_promote(forked, OTHER)
    append_and_promote(forked, CHILD, start=StartedBy(ROOT, None))

    assert [show(store.process(), one).is_current for one in (OTHER, CHILD, ROOT)] == [True] * 3
    assert items.group(store.item(keys.group(OTHER))).promotions == 0


def test_an_append_that_is_refused_promotes_nothing(store: Store, forked: Table) -> None:
    store.add_member(ROOT, "rita", AccessLevel.READER)
    stale = next(iter(say(forked, ROOT, "b")))

    for error, what in (
        (ForbiddenError, {"by": Caller("rita")}),
        (ForbiddenError, {"by": EVE}),
        (ConflictError, {"if_match": stale}),
        (ConflictError, {"fork": Fork(TWIG, None, ForkPosition.BLANK)}),
    ):
        with store.refuses(error):
            append_and_promote(store.process(), FORK, **what)


def test_a_batch_of_as_many_entries_with_keys_as_fit_promotes(store: Store, forked: Table) -> None:
    drafts = [said(str(one), key=str(one)) for one in range(44)]

    append_and_promote(forked, FORK, *drafts, by=BOB, idempotency_key=idempotency_key(by=BOB))

    assert current_of(store) == FORK


@pytest.mark.failure("two-appenders")
def test_an_append_that_is_overtaken_promotes_with_the_entry_that_it_writes(
    store: Store, forked: Table
) -> None:
    process, overtaken = store.process(), list[int]()
    show(process, FORK)

    def overtake(request: Request) -> None:
        if request.operation == "TransactWriteItems" and not overtaken:
            overtaken.append(1)
            say(store.process(), FORK, "first")

    Wire.of(process).before(overtake)
    append_and_promote(process)

    assert (current_of(store), read(forked, FORK)) == (FORK, ["a", "first", "b"])
