"""What a user pins, in which order, and what becomes of a pin."""

import pytest

from forklore_service.domain import keys
from forklore_service.domain.listing import Ancestry, Mode
from forklore_service.domain.model import Caller
from forklore_service.errors import (
    ForbiddenError,
    InvalidCursorError,
    NotFoundError,
    PinLimitError,
    ValidationError,
)
from forklore_service.limits import PINS_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.people.pinning import pin_conversation, unpin_conversation
from forklore_service.usecases.reading.conversation_lists import ListRequest, list_conversations
from tests.service.usecases.builders import ANN, BOB, FORK, OTHER, ROOT, conversation, fork, say
from tests.service.usecases.members import READER, archive, meanwhile, remove, share
from tests.support.tables import Store

THIRD = conversation(77)


@pytest.fixture
def table(store: Store) -> Table:
    """Three trees of Ann, the first with a fork."""
    table = store.process()
    for one in (ROOT, OTHER, THIRD):
        say(table, one, "a")
    fork(table)
    return table


def pin(table: Table, of: str, after: str | None = None, *, by: Caller = ANN) -> None:
    pin_conversation(table, caller=by, conversation_id=of, after_id=after)


def pins(table: Table, by: Caller = ANN) -> list[str]:
    """Return the roots of what a user has pinned, page by page. Both lists must agree."""
    found: list[str] = []
    place = None
    while True:
        request = ListRequest(Mode.ROOTS, ancestry=Ancestry.ALL, pinned=True, after=place, limit=1)
        page = list_conversations(table, caller=by, request=request)
        found += [row.conversation.conversation_id for row in page.rows]
        assert all(row.is_pinned for row in page.rows)
        place = page.resume
        if place is None:
            break
    rows = list_conversations(table, caller=by, request=ListRequest(Mode.ROOTS, limit=200)).rows
    assert {row.conversation.conversation_id for row in rows if row.is_pinned} <= {*found}
    return found


def test_the_last_pin_is_first_unless_it_is_put_after_another(table: Table) -> None:
    pin(table, ROOT)
    pin(table, OTHER)
    assert pins(table) == [OTHER, ROOT]

    pin(table, THIRD, OTHER)
    assert pins(table) == [OTHER, THIRD, ROOT]
    pin(table, OTHER, FORK)
    assert pins(table) == [THIRD, ROOT, OTHER]
    pin(table, FORK)
    assert pins(table) == [ROOT, THIRD, OTHER]


def test_a_pin_is_of_the_whole_tree_and_of_one_user(table: Table) -> None:
    share(table, "bob", READER)
    pin(table, FORK)
    pin(table, ROOT, by=BOB)
    unpin_conversation(table, caller=ANN, conversation_id=ROOT)

    assert pins(table) == []
    assert pins(table, BOB) == [ROOT]


def test_the_last_one_to_go_takes_the_item(table: Table) -> None:
    pin(table, ROOT)
    unpin_conversation(table, caller=ANN, conversation_id=ROOT)
    unpin_conversation(table, caller=ANN, conversation_id=ROOT)

    assert keys.pins("ann") not in table.get([keys.pins("ann")])


@pytest.mark.parametrize("after", [ROOT, OTHER, conversation(98), "x"])
def test_it_comes_after_another_tree_that_is_pinned(table: Table, after: str) -> None:
    pin(table, ROOT)

    with pytest.raises(ValidationError) as refused:
        pin(table, FORK, after)
    assert refused.value.details["field"] == "afterConversationId"


def test_only_members_pin(table: Table) -> None:
    with pytest.raises(ForbiddenError):
        pin(table, ROOT, by=BOB)
    with pytest.raises(NotFoundError):
        unpin_conversation(table, caller=ANN, conversation_id=conversation(98))


def test_who_leaves_passes_it_over_and_finds_it_again(table: Table) -> None:
    share(table, "bob", READER)
    pin(table, ROOT, by=BOB)
    remove(table, "bob")
    assert pins(table, BOB) == []

    share(table, "bob", READER)
    assert pins(table, BOB) == [ROOT]


def test_what_is_archived_is_left_out(table: Table) -> None:
    pin(table, ROOT)
    archive(table, ROOT)

    assert pins(table) == []


def test_there_is_room_again_where_a_pinned_tree_is_gone(table: Table) -> None:
    share(table, "bob", READER)
    pin(table, ROOT, by=BOB)
    for number in range(200, 199 + PINS_MAX):
        say(table, conversation(number), "a", by=BOB)
        pin(table, conversation(number), by=BOB)
    say(table, conversation(300), "a", by=BOB)
    with pytest.raises(PinLimitError):
        pin(table, conversation(300), by=BOB)
    pin(table, ROOT, by=BOB)  # it is moved
    remove(table, "bob")

    pin(table, conversation(300), by=BOB)
    assert len(pins(table, BOB)) == PINS_MAX


def test_two_pins_at_once_are_both_kept(store: Store, table: Table) -> None:
    process = store.process()
    ran = meanwhile(process, 2, lambda: pin(table, OTHER))
    pin(process, ROOT)

    assert ran
    assert {*pins(table)} == {ROOT, OTHER}


def test_a_page_cannot_go_on_after_what_is_pinned_no_more(table: Table) -> None:
    for one in (ROOT, OTHER):
        pin(table, one)
    request = ListRequest(pinned=True, limit=1)
    after = list_conversations(table, caller=ANN, request=request).resume
    unpin_conversation(table, caller=ANN, conversation_id=OTHER)

    with pytest.raises(InvalidCursorError):
        list_conversations(table, caller=ANN, request=request._replace(after=after))
    with pytest.raises(InvalidCursorError):
        list_conversations(table, caller=ANN, request=request._replace(after=OTHER))
