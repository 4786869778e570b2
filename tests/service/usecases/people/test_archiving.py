"""Who archives a tree, who sees that, and what ends it."""

import pytest

from forklore_service.domain.access import AccessLevel
from forklore_service.domain.listing import Archived
from forklore_service.domain.model import Caller, StartedBy
from forklore_service.errors import NotFoundError
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.writing.append import append_entries
from tests.service.usecases.builders import ANN, BOB, FORK, OTHER, ROOT, TWIG, fork, promote, said, say, show
from tests.service.usecases.members import (
    MANAGER,
    OWNER,
    READER,
    WRITER,
    accept,
    archive,
    assert_settled,
    listed,
    meanwhile,
    offer,
    remove,
    share,
    unarchive,
    update,
)
from tests.support.tables import Store

READ, WRITE = "BatchGetItem", "TransactWriteItems"


@pytest.fixture
def shared(store: Store) -> Table:
    """A tree of Ann with a fork, in which Bob reads."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    share(table, "bob", READER)
    return table


def archived_by(table: Table, caller: Caller, *shown: str) -> bool:
    """Tell whether the caller has archived the tree. All that shows it must agree."""
    [is_archived] = {show(table, one, by=caller).is_archived for one in shown or (ROOT, FORK)}
    hidden = {one: ROOT in listed(table, caller, archived=one) for one in Archived}

    assert hidden == {Archived.EXCLUDE: not is_archived, Archived.INCLUDE: True, Archived.ONLY: is_archived}
    return is_archived


@pytest.mark.parametrize("level", AccessLevel)
def test_a_member_of_any_level_archives_a_tree_for_that_member_alone(
    store: Store, level: AccessLevel
) -> None:
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    share(table, "bob", READER)
    actor, other = (ANN, BOB) if level is OWNER else (BOB, ANN)
    if level in (MANAGER, WRITER):
        update(table, "bob", level)

    archive(table, FORK, by=actor)

    assert archived_by(table, actor)
    assert not archived_by(table, other)
    unarchive(table, ROOT, by=actor)
    assert not archived_by(table, actor)
    assert_settled(store)


def test_an_archived_tree_stays_archived_whatever_is_done_in_it(store: Store, shared: Table) -> None:
    archive(shared, by=ANN)

    say(shared, ROOT, "more")
    fork(shared, ROOT, TWIG)
    promote(shared, TWIG)
    update(shared, "bob", WRITER)
    update(shared, "bob", MANAGER)

    assert archived_by(shared, ANN, ROOT, FORK, TWIG)
    assert not archived_by(shared, BOB)
    assert_settled(store)


@pytest.mark.parametrize("who", [ANN, BOB])
def test_a_transfer_leaves_to_both_what_they_have_archived(store: Store, shared: Table, who: Caller) -> None:
    archive(shared, by=who)

    accept(shared, offer(shared))

    assert [archived_by(shared, one) for one in (ANN, BOB)] == [one is who for one in (ANN, BOB)]
    assert_settled(store)


def test_a_change_of_the_level_keeps_what_is_archived(store: Store, shared: Table) -> None:
    archive(shared, by=BOB)

    update(shared, "bob", WRITER)

    assert archived_by(shared, BOB)
    assert_settled(store)


def test_a_membership_that_is_given_again_begins_unarchived(store: Store, shared: Table) -> None:
    archive(shared, by=BOB)
    remove(shared, "bob")
    share(shared, "bob", READER)

    assert not archived_by(shared, BOB)
    assert_settled(store)


def test_a_child_is_a_tree_of_its_own(store: Store, shared: Table) -> None:
    """It begins unarchived for all members of the parent, and its parent stays archived."""
    archive(shared, by=BOB)
    start = StartedBy(ROOT, None)
    append_entries(shared, caller=ANN, request=Append(OTHER, [said("a task")], start=start))

    assert listed(shared, BOB) == {OTHER}
    archive(shared, OTHER, by=ANN)
    assert listed(shared, ANN) == {ROOT, FORK}
    assert listed(shared, ANN, archived=Archived.ONLY) == {OTHER}
    assert show(shared, OTHER).is_archived
    assert_settled(store)


def test_a_tree_whose_rows_are_removed_already_gets_none_back(store: Store, shared: Table) -> None:
    """A deletion removes the rows of the members' lists first, then the memberships."""

    def remove_row() -> None:
        store.mark_deleted(ROOT)
        [row] = [key for key in store.contents() if key.partition == "USER#bob"]
        store.delete(row)

    process = store.process()
    ran = meanwhile(process, 2, remove_row)

    with pytest.raises(NotFoundError):
        archive(process, by=BOB)
    assert ran
    assert "USER#bob" not in {key.partition for key in store.contents()}


def test_an_auditor_sees_no_archive_of_their_own(shared: Table) -> None:
    archive(shared, by=BOB)
    assert show(shared, by=BOB).is_archived
    assert not show(shared, by=BOB._replace(bypasses_membership=True)).is_archived
