import itertools
from collections.abc import Callable

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import Member
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    MemberLimitError,
    NotFoundError,
    ValidationError,
)
from forklore_service.storage import items
from forklore_service.storage.actions.group import MEMBERS_MAX
from forklore_service.storage.items import number
from forklore_service.storage.table import Table
from forklore_service.usecases.people import sharing
from forklore_service.usecases.people.sharing import Membership
from tests.service.usecases.builders import (
    ANN,
    BOB,
    FORK,
    ROOT,
    TWIG,
    create,
    fork,
    read,
    say,
    show,
)
from tests.service.usecases.members import (
    MANAGER,
    OWNER,
    READER,
    WRITER,
    accept,
    assert_settled,
    assert_whole,
    listed,
    meanwhile,
    members,
    offer,
    pending,
    remove,
    share,
    update,
)
from tests.support.tables import Store

LEVELS = [OWNER, MANAGER, WRITER, READER, None]
GIVABLE = [MANAGER, WRITER, READER]
MAY: dict[AccessLevel | None, list[AccessLevel]] = {
    OWNER: [MANAGER, WRITER, READER],
    MANAGER: [WRITER, READER],
}
"""The levels that a member of each level may give and take away."""
ODD_USERS = ["a", "a#", "ab", "a/b", "a%b", "a%23", "a b", " a", "A", "é", "e\u0301", "😀" * 63, "x" * 255]


# The table, cell by cell


def post(actor: AccessLevel | None, target: AccessLevel | None, wanted: AccessLevel) -> type | None:
    if wanted not in MAY.get(actor, []):
        return ForbiddenError
    return None if target is None else ConflictError


def patch(actor: AccessLevel | None, target: AccessLevel | None, wanted: AccessLevel) -> type | None:
    if actor not in MAY:
        return ForbiddenError
    if target is None or target is OWNER:
        return NotFoundError if target is None else ValidationError
    return None if {target, wanted} <= set(MAY[actor]) else ForbiddenError


def delete(actor: AccessLevel | None, target: AccessLevel | None, _wanted: AccessLevel) -> type | None:
    if actor not in MAY:
        return ForbiddenError
    if target is None or target is OWNER:
        return NotFoundError if target is None else ValidationError
    return None if target in MAY[actor] else ForbiddenError


Act = Callable[[Table, str, AccessLevel, Caller], object]
VERBS: dict[str, tuple[Act, Callable[..., type | None]]] = {
    "POST": (lambda t, user, level, by: share(t, user, level, by=by), post),
    "PATCH": (lambda t, user, level, by: update(t, user, level, by=by), patch),
    "DELETE": (lambda t, user, _level, by: remove(t, user, by=by), delete),
}


def set_level(table: Table, user_id: str, level: AccessLevel | None) -> None:
    """Make the user a member of the level, or no member. The owner stays."""
    held = members(table).get(user_id)
    if level is None:
        remove(table, user_id)
    elif held is None:
        share(table, user_id, level)
    elif held != OWNER:
        update(table, user_id, level)


def named(level: AccessLevel | None, number: int) -> str:
    """Return a user of the level. There are two users of each level, but one owner."""
    return "ann" if level is OWNER else f"{level} {number}"


@pytest.mark.parametrize("verb", VERBS)
def test_who_may_give_and_take_which_level(store: Store, table: Table, verb: str) -> None:
    say(table, ROOT, "a")
    for level, at in itertools.product(GIVABLE, (1, 2)):
        share(table, named(level, at), level)
    act, rule = VERBS[verb]
    before, done = store.contents(), 0
    for actor, target, wanted in itertools.product(LEVELS, LEVELS, GIVABLE):
        by, user, expected = Caller(named(actor, 1)), named(target, 2), rule(actor, target, wanted)
        if expected is not None:
            with pytest.raises(expected) as raised:
                act(table, user, wanted, by)
            assert raised.type is expected, (actor, target, wanted)
        elif verb != "DELETE" or wanted is WRITER:
            assert store.contents() == before, "a refused request has changed something"
            act(table, user, wanted, by)
            assert members(table).get(user) == (None if verb == "DELETE" else wanted)
            assert_settled(store)
            set_level(table, user, target)
            before, done = store.contents(), done + 1
    assert store.contents() == before
    assert done == {"POST": 5, "PATCH": 9 + 4, "DELETE": 3 + 2}[verb]


@pytest.mark.parametrize("level", LEVELS)
def test_every_member_but_the_owner_may_remove_themselves(
    store: Store, table: Table, level: AccessLevel | None
) -> None:
    create(table)
    if level not in (OWNER, None):
        share(table, "bob", level)
    by = ANN if level is OWNER else BOB

    if level in (OWNER, None):
        with store.refuses(ValidationError if level is OWNER else ForbiddenError):
            remove(table, by.user_id, by=by)
    else:
        remove(table, "bob", by=BOB)
        assert members(table) == {"ann": "owner"}
        assert listed(table, BOB) == set()
        with store.refuses(ForbiddenError):
            show(table, by=BOB)
    assert_settled(store)


@pytest.mark.parametrize("level", LEVELS)
def test_nobody_changes_their_own_level(store: Store, table: Table, level: AccessLevel | None) -> None:
    create(table)
    if level not in (OWNER, None):
        share(table, "bob", level)
    by = ANN if level is OWNER else BOB

    for wanted in GIVABLE:
        with store.refuses(ValidationError if level is OWNER else ForbiddenError):
            update(table, by.user_id, wanted, by=by)


# The effects of sharing


def test_a_member_sees_every_fork_in_their_list_and_with_their_level(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    fork(table)

    made = share(table, "bob", READER, of=FORK)
    fork(table, FORK, TWIG)

    assert listed(table, BOB) == {ROOT, FORK, TWIG}
    assert {show(table, of, by=BOB).level for of in (ROOT, FORK, TWIG)} == {READER}
    assert made.conversation_id == FORK
    assert members(table, TWIG, by=BOB) == {"ann": "owner", "bob": "reader"}
    assert read(table, TWIG, by=BOB) == ["a"]
    update(table, "bob", WRITER, of=TWIG)
    say(table, FORK, "bob's", by=BOB)
    remove(table, "bob", of=FORK)
    assert listed(table, BOB) == set()
    assert_settled(store)


def test_the_answer_equals_the_row_of_the_list(table: Table) -> None:
    create(table)
    made = share(table, "bob", READER)
    changed = update(table, "bob", MANAGER)

    [_, shown] = sharing.list_memberships(table, caller=ANN, conversation_id=ROOT, after=None, limit=9).rows
    assert changed == shown == Membership(ROOT, Member("bob", MANAGER, made.member.created_at))


def test_a_user_who_was_removed_can_be_added_again_with_another_level(store: Store, table: Table) -> None:
    create(table)
    first = share(table, "bob", MANAGER)
    remove(table, "bob")
    second = share(table, "bob", READER)

    assert second.member.created_at >= first.member.created_at
    assert members(table) == {"ann": "owner", "bob": "reader"}
    with store.refuses(ForbiddenError):
        say(table, ROOT, "x", by=BOB)
    assert_settled(store)


@pytest.mark.failure("unusual-user-id")
def test_hostile_user_ids_of_255_bytes_are_different_users(store: Store, table: Table) -> None:
    say(table, ROOT, "x")
    for at, user in enumerate(ODD_USERS):
        share(table, user, GIVABLE[at % 3])
    expected = {user: str(GIVABLE[at % 3]) for at, user in enumerate(ODD_USERS)}

    assert members(table) == {"ann": "owner"} | expected
    for user in ODD_USERS:
        assert listed(table, Caller(user)) == {ROOT}
        assert show(table, by=Caller(user)).level == expected[user]
    for user in ODD_USERS:
        accept(table, offer(table, user))
        assert_settled(store)
        accept(table, offer(table, "ann", by=Caller(user)))
        remove(table, user)
        del expected[user]
        assert members(table) == {"ann": "owner"} | expected
        with store.refuses(ForbiddenError):
            show(table, by=Caller(user))
        assert_settled(store)


@pytest.mark.long
@pytest.mark.failure("too-many-for-one-transaction")
def test_a_tree_has_at_most_500_members(store: Store, table: Table) -> None:
    create(table)
    created_at = show(table).conversation.created_at
    store.put(
        *(items.member_item(ROOT, Member(f"user {at}", READER, created_at)) for at in range(MEMBERS_MAX - 2)),
        *(
            items.user_tree_item(ROOT, f"user {at}", READER, created_at=created_at, is_child=False)
            for at in range(MEMBERS_MAX - 2)
        ),
    )
    store.change(keys.group(ROOT), members=number(MEMBERS_MAX - 1))

    share(table, "bob", MANAGER)
    for user, error in (("eve", MemberLimitError), ("user 3", ConflictError)):
        with store.refuses(error):
            share(table, user, READER, by=BOB)
    assert len(members(table, limit=70)) == MEMBERS_MAX
    for nth in (1, 2):
        remove(table, "user 3")
        process = store.process()
        meanwhile(process, nth, lambda: share(store.process(), "user 3"))
        with pytest.raises(MemberLimitError):
            share(process, "eve")
    assert_settled(store)


# The list of members


@pytest.mark.parametrize("limit", [1, 2, 3, 200])
def test_members_are_listed_oldest_first_on_pages_of_any_size(table: Table, limit: int) -> None:
    create(table)
    for user in ("d", "a", "c", "b"):
        share(table, user, READER)

    assert list(members(table, limit=limit, by=Caller("c"))) == ["ann", "d", "a", "c", "b"]


def test_members_who_come_and_go_between_pages_make_no_gap_and_no_duplicate(table: Table) -> None:
    create(table)
    for user in "bcde":
        share(table, user)

    def one_page(after: tuple[str, str] | None, limit: int = 2) -> tuple[list[str], tuple[str, str] | None]:
        found = sharing.list_memberships(table, caller=ANN, conversation_id=ROOT, after=after, limit=limit)
        return [one.member.user_id for one in found.rows], found.resume

    first, place = one_page(None)
    assert first == ["ann", "b"]
    remove(table, "b")
    remove(table, "c")
    share(table, "f")
    update(table, "d", READER)
    second, place = one_page(place)
    assert second == ["d", "e"]
    share(table, "c")
    assert one_page(place) == (["f", "c"], None)


# Removed and lowered levels


def test_a_removal_drops_a_pending_transfer_to_that_user_and_no_other(store: Store, table: Table) -> None:
    create(table)
    share(table, "bob")
    share(table, "eve")
    transfer = offer(table, "bob")

    remove(table, "eve")
    assert pending(table) == pending(table, by=BOB) == [transfer]
    remove(table, "bob")
    assert pending(table) == pending(table, by=BOB) == []
    assert not [key for key in store.contents() if "XFER" in key.partition + key.sort]
    share(table, "bob")
    offer(table, "bob")
    assert_whole(store)


@pytest.mark.parametrize("by", [ANN, BOB], ids=["by the owner", "by themselves"])
def test_a_transfer_that_is_offered_while_its_recipient_is_removed_is_dropped_or_refused(
    store: Store, table: Table, by: Caller
) -> None:
    create(table)
    share(table, "bob")
    meanwhile(table, 2, lambda: offer(store.process()))
    remove(table, "bob", by=by)

    assert members(table) == {"ann": "owner"}
    assert pending(table) == pending(table, by=BOB) == []
    assert_settled(store)
