"""The list of all trees, for administrators. It reads an index that may lag, and then each tree."""

from collections.abc import Iterator

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import ListKey
from forklore_service.domain.listing import Ancestry, ListPlace, Mode
from forklore_service.domain.model import Caller
from forklore_service.storage.table import Table
from forklore_service.usecases.reading import conversation_lists
from forklore_service.usecases.reading.conversation_lists import ListRequest
from tests.service.usecases.builders import ANN, BOB, FORK, ROOT, conversation, create, fork, show
from tests.service.usecases.members import share
from tests.service.usecases.reading.test_conversation_lists import grow, named, plant_tree
from tests.support.tables import Store, fresh_store

AUDITOR = Caller("aude", roles=frozenset({"auditor"}), bypasses_membership=True)
TREES = 20


def grown(store: Store) -> Table:
    """Plant five trees of Ann, and more trees of Bob. Some have the same hour."""
    table = grow(store)
    for number in range(100, 100 + TREES):
        plant_tree(store, number, user="bob", hour=number // 3, child=number % 7 == 0)
    return table


@pytest.fixture(scope="module")
def forest() -> Iterator[Table]:
    """A table of trees that no test changes."""
    with fresh_store("all-trees") as store:
        yield grown(store)


def walk(table: Table, request: ListRequest, *, by: Caller = AUDITOR) -> list[int]:
    found: list[int] = []
    while True:
        page = conversation_lists.list_conversations(table, caller=by, request=request)
        found += named(page.rows)
        if page.resume is None:
            return found
        request = request._replace(after=page.resume)


def test_roots_and_children_can_be_listed_separately(forest: Table) -> None:
    every, roots, children = (
        walk(forest, ListRequest(mode=Mode.ROOTS, ancestry=a))
        for a in (Ancestry.ALL, Ancestry.ROOTS, Ancestry.CHILDREN)
    )

    assert children == [119, 112, 105, 4]
    assert sorted(roots + children) == sorted(every)


def test_an_administrator_is_shown_the_level_of_an_owner(forest: Table) -> None:
    page = conversation_lists.list_conversations(forest, caller=AUDITOR, request=ListRequest())

    assert {(shown.level, shown.owner) for shown in page.rows} == {
        ("owner", "ann"),
        ("owner", "bob"),
    }


def test_only_an_administrator_names_the_user_of_a_list(forest: Table) -> None:
    with pytest.raises(AssertionError):
        conversation_lists.list_conversations(forest, caller=BOB, request=ListRequest(of_user="ann"))


def test_the_index_can_be_read_from_a_place_in_every_shard(forest: Table) -> None:
    every = list(forest.newest_trees(keys.all_trees_ranges(), page=2))

    assert every == sorted(every, reverse=True)
    assert len(every) == len(set(every)) == TREES + 5
    for at, place in list(enumerate(every))[::4]:
        before = list(forest.newest_trees(keys.all_trees_ranges(before=place), page=3))
        through = list(forest.newest_trees(keys.all_trees_ranges(through=place), page=3))
        assert before == every[at + 1 :]
        assert through == every[at:]


@pytest.mark.failure("stale-list-row")
def test_deleted_trees_and_trees_that_are_not_live_are_not_listed(store: Store) -> None:
    """Every tree from the index is read again from the table."""
    table = grown(store)
    gone, dead = conversation(100), conversation(101)
    store.client.delete_item(TableName=store.name, Key=key(keys.conversation(gone, gone)))
    store.client.update_item(
        TableName=store.name,
        Key=key(keys.group(dead)),
        UpdateExpression="SET #s = :s",
        ExpressionAttributeNames={"#s": "state"},
        ExpressionAttributeValues={":s": {"S": "creating"}},
    )
    listed = {place.conversation_id for place in table.newest_trees(keys.all_trees_ranges(), page=9)}
    shown = walk(table, ListRequest(ancestry=Ancestry.ALL))

    assert {gone, dead} <= listed
    assert not {100, 101} & set(shown)
    assert len(shown) == TREES + 5 - 2


def key(wanted: keys.Key) -> dict[str, dict[str, str]]:
    return {"PK": {"S": wanted.partition}, "SK": {"S": wanted.sort}}


def test_a_tree_is_not_listed_for_a_removed_member(store: Store) -> None:
    table = grown(store)
    store.remove_member(conversation(3), "ann")

    assert 3 not in walk(table, ListRequest(of_user="ann"))
    assert 3 in walk(table, ListRequest())


def test_a_place_may_name_a_deleted_tree(forest: Table) -> None:
    every = walk(forest, ListRequest())
    place = ListPlace(ListKey("2026-01-01T04:30:00.000Z", conversation(1)))

    assert walk(forest, ListRequest(after=place)) == every[-3:]


def test_a_fork_of_any_user_is_found(store: Store) -> None:
    table = grown(store)
    fork(table, conversation(103), conversation(900), by=BOB)

    assert 900 in walk(table, ListRequest(mode=Mode.ALL))


@pytest.mark.parametrize("of_user", ["ann", "bob", None])
@pytest.mark.parametrize("mode", Mode)
def test_an_auditor_s_list_shows_what_the_auditor_sees_of_a_conversation(
    store: Store, mode: Mode, of_user: str | None
) -> None:
    """The row of a member's list holds the member's level, which is not the auditor's."""
    table = store.process()
    create(table, ROOT, by=ANN)
    fork(table, ROOT, FORK)
    share(table, "bob", AccessLevel.READER)

    request = ListRequest(mode=mode, of_user=of_user)
    page = conversation_lists.list_conversations(table, caller=AUDITOR, request=request)

    assert page.rows
    for shown in page.rows:
        assert shown._replace(branches=None, tree_used_at="") == show(
            table, shown.conversation.conversation_id, by=AUDITOR
        )
