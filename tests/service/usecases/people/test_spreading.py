"""What a tree takes from a member, the trees that were started from it take, too."""

import contextlib
from collections.abc import Callable
from functools import partial

import pytest

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.errors import ConflictError, ForbiddenError, NotFoundError
from forklore_service.storage.table import Table
from forklore_service.usecases.background.sweeper import sweep
from forklore_service.usecases.people import sharing, spreading
from forklore_service.usecases.people.spreading import Spread
from tests.service.usecases.branches.test_children import start
from tests.service.usecases.builders import BOB, ROOT, conversation, create, fork, read, say
from tests.service.usecases.members import (
    MANAGER,
    READER,
    WRITER,
    Killed,
    accept,
    assert_settled,
    assert_whole,
    dies,
    include,
    listed,
    lower,
    meanwhile,
    members,
    offer,
    remove,
    share,
)
from tests.support.mailbox import Mailbox
from tests.support.tables import Store

CHILD, GRANDCHILD, OTHER_CHILD = conversation(77), conversation(78), conversation(79)
FAMILY = (ROOT, CHILD, GRANDCHILD, OTHER_CHILD)


@pytest.fixture
def family(table: Table) -> Table:
    """A tree of Ann's that Bob writes, with two children; one has a child."""
    create(table)
    share(table, "bob", WRITER)
    start(table, child_key=CHILD)
    start(table, child_key=GRANDCHILD, of=CHILD, by=BOB)
    start(table, child_key=OTHER_CHILD)
    return table


def levels(table: Table, user: str = "bob") -> list[AccessLevel | None]:
    """Return the user's level in each tree of the family."""
    found = table.get(keys.member(tree, user) for tree in FAMILY)
    held = (found.member(tree, user) for tree in FAMILY)
    return [member.level if member else None for member in held]


def test_a_removed_member_loses_what_was_started_from_the_tree(store: Store, family: Table) -> None:
    fork(family, CHILD, conversation(80))

    assert remove(family, "bob") == Spread(children=3)

    for tree in (*FAMILY, conversation(80)):
        with pytest.raises(ForbiddenError):
            read(family, tree, by=BOB)
        with pytest.raises(ForbiddenError):
            say(family, tree, "late", by=BOB)
    with pytest.raises(ForbiddenError):
        start(family, child_key=conversation(81), of=CHILD, by=BOB)
    assert listed(family, BOB) == set()
    assert_settled(store)


def test_whoever_leaves_leaves_the_children_too(store: Store, family: Table) -> None:
    assert remove(family, "bob", by=BOB) == Spread(children=3)
    assert levels(family) == [None] * 4
    assert_settled(store)


def test_a_lower_level_holds_in_the_children(store: Store, family: Table) -> None:
    assert lower(family, "bob", READER)[1] == Spread(children=3)
    assert levels(family) == [READER] * 4
    assert_settled(store)

    assert lower(family, "bob", MANAGER)[1] == Spread(), "a higher level stays in the tree"
    assert levels(family) == [MANAGER, READER, READER, READER]
    assert lower(family, "bob", WRITER)[1] == Spread(), "nobody has more than that in a child"
    assert levels(family) == [WRITER, READER, READER, READER]
    assert_settled(store)


def test_the_children_can_be_kept(store: Store, family: Table) -> None:
    assert lower(family, "bob", READER, keep=True)[1] == Spread()
    assert remove(family, "bob", keep=True) == Spread()
    assert levels(family) == [None, WRITER, WRITER, WRITER]
    assert remove(family, "bob", of=CHILD) == Spread(children=1)
    assert levels(family) == [None, None, None, WRITER]
    assert_settled(store)


def test_a_membership_that_was_given_in_the_child_stays(store: Store, family: Table) -> None:
    remove(family, "bob", of=CHILD, keep=True)
    share(family, "bob", READER, of=CHILD)
    lower(family, "bob", MANAGER, of=OTHER_CHILD)

    assert remove(family, "bob") == Spread(children=1)
    assert levels(family) == [None, READER, WRITER, None], "below what was given, nothing changes"
    assert_settled(store)


def test_who_owns_a_child_keeps_it(store: Store, family: Table) -> None:
    accept(family, offer(family, "bob", of=CHILD))

    assert remove(family, "bob") == Spread(children=1)
    assert levels(family) == [None, AccessLevel.OWNER, WRITER, None]
    assert_settled(store)


def test_an_offer_of_a_child_ends_with_the_membership(store: Store, family: Table) -> None:
    offer(family, "bob", of=CHILD)
    remove(family, "bob")
    assert all(key.partition != f"TREE#{CHILD}" or "XFER" not in key.sort for key in store.contents())
    assert_settled(store)


def test_a_child_that_a_membership_is_shared_with_at_its_first_instant_keeps_it(
    store: Store, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(table)
    share(table, "bob", WRITER)
    start(table, child_key=CHILD)
    at = store.process().get([keys.group(CHILD)]).group(CHILD)
    assert at is not None
    monkeypatch.setattr(Table, "now_ms", lambda _self: ids.milliseconds(at.created_at))
    share(table, "eve", READER, of=CHILD)
    monkeypatch.undo()
    share(table, "eve", READER)

    remove(table, "eve")
    assert members(table, CHILD) == {"ann": "owner", "bob": "writer", "eve": "reader"}


@pytest.mark.failure("revocation-in-children")
@pytest.mark.parametrize("has_children", [True, False])
def test_a_child_that_is_started_meanwhile_does_not_keep_the_member(
    store: Store, family: Table, has_children: bool
) -> None:
    tree = ROOT if has_children else OTHER_CHILD
    for nth in range(1, 30):
        late = conversation(90 + nth)
        share(family, "eve", WRITER, of=tree)
        process = store.process()
        ran = meanwhile(process, nth, lambda: start(store.process(), child_key=late, of=tree))  # noqa: B023
        remove(process, "eve", of=tree)
        assert keys.member(late, "eve") not in store.contents(), nth
        assert_settled(store)
        if not ran:
            return
    pytest.fail("the removal sends more requests than were tried")


Change = Callable[[Table], object]
CHANGES: dict[str, tuple[str, AccessLevel | None, Change, AccessLevel | None]] = {
    "removal": ("bob", WRITER, lambda table: remove(table, "bob"), None),
    "lowering": ("bob", WRITER, lambda table: lower(table, "bob", READER), READER),
    "sharing": ("eve", None, lambda table: include(table, "eve"), WRITER),
}
"""A user and their level, what changes it in the whole family, and the level then."""


@pytest.mark.failure("revocation-in-children")
@pytest.mark.parametrize("name", CHANGES)
def test_a_killed_change_is_finished_by_its_repetition_or_by_a_worker(
    family: Table, store: Store, name: str
) -> None:
    user, was, change, level = CHANGES[name]
    wanted = [level] * 4
    world = store.saved()
    for nth in range(1, 30):
        for repeats in (True, False):
            store.set_back(world)
            process = store.process()
            dies(process, nth, before=False)
            try:
                change(process)
            except Killed:
                pass
            else:
                assert levels(family, user) == wanted
                assert nth > 4
                return
            assert_whole(store)
            begun = levels(family, user)[0] is not was
            if repeats:
                with contextlib.suppress(NotFoundError):
                    change(store.process())
                assert levels(family, user) == wanted, "its answer says that all is done"
            _sweep(store)
            assert levels(family, user) == (wanted if begun or repeats else [was] * 4), nth
            assert_settled(store)
    pytest.fail("the change sends more requests than were tried")


def _sweep(store: Store) -> None:
    """Sweep, and do what the sweep announces, until nothing is left."""
    for _ in range(5):
        mailbox = Mailbox()
        sweep(store.process(), mailbox.queue)
        messages = mailbox.take()
        if not messages:
            return
        for message in messages:
            message.work(store.process(), mailbox.queue)


def test_what_is_too_much_for_a_request_is_left_to_workers(
    family: Table, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreading, "CHANGED_AT_ONCE", 1)
    monkeypatch.setattr(sharing, "spread", partial(spreading.spread, changed_max=1))

    assert remove(family, "bob") == Spread(1, (ROOT,))
    assert levels(family).count(None) == 2
    with pytest.raises(NotFoundError):
        lower(family, "bob", READER)
    _sweep(store)
    assert levels(family) == [None] * 4
    assert_settled(store)


@pytest.mark.failure("too-many-for-one-transaction")
@pytest.mark.parametrize("name", ["removal", "lowering"])
def test_a_repetition_goes_on_where_the_first_request_stopped(
    family: Table, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    user, _, change, level = CHANGES[name]
    monkeypatch.setattr(spreading, "CHANGED_AT_ONCE", 1)
    monkeypatch.setattr(sharing, "spread", partial(spreading.spread, changed_max=1))

    for done in range(2, 5):
        change(family)
        assert levels(family, user).count(level) == done


@pytest.mark.failure("revocation-in-children")
@pytest.mark.parametrize("nth", [1, 2])
def test_of_two_removals_at_once_the_second_goes_on_with_what_the_first_has_left(
    family: Table, store: Store, nth: int
) -> None:
    def remove_and_die() -> None:
        process = store.process()
        dies(process, 2, before=False)
        with pytest.raises(Killed):
            remove(process, "bob")

    process = store.process()
    ran = meanwhile(process, nth, remove_and_die)
    assert remove(process, "bob") == Spread(children=3)
    assert ran
    assert levels(family) == [None] * 4
    assert_settled(store)


def test_a_new_member_is_let_into_the_children(store: Store, family: Table) -> None:
    assert include(family, "eve")[1] == Spread(children=3)
    assert levels(family, "eve") == [WRITER] * 4
    assert_settled(store)

    assert remove(family, "eve") == Spread(children=3), "they are there as if they had come with the tree"
    assert_settled(store)


def test_a_member_of_before_is_let_into_the_children(store: Store, family: Table) -> None:
    share(family, "eve", READER)
    assert include(family, "eve", READER)[1] == Spread(children=3)
    assert include(family, "eve", READER)[1] == Spread(), "they are there already"
    with pytest.raises(ConflictError):
        include(family, "eve", WRITER)
    assert levels(family, "eve") == [READER] * 4
    assert_settled(store)


def test_nobody_lets_others_in_where_they_may_not(store: Store, family: Table) -> None:
    share(family, "mia", MANAGER)
    share(family, "mia", MANAGER, of=OTHER_CHILD)
    assert include(family, "eve", by=Caller("mia"))[1] == Spread(children=1)
    assert levels(family, "eve") == [WRITER, None, None, WRITER]

    accept(family, offer(family, "bob", of=CHILD))
    lower(family, "ann", WRITER, by=BOB, of=CHILD)
    share(family, "zoe", READER, of=OTHER_CHILD)
    assert include(family, "zoe")[1] == Spread(), "Ann may not in one, and Zoe is in the other"
    assert levels(family, "zoe") == [WRITER, None, None, READER]
    assert_settled(store)
