from typing import Any

import pytest

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller, Conversation, Description, Head
from forklore_service.errors import ConflictError, ForbiddenError, UnavailableError
from forklore_service.storage import items
from forklore_service.storage.clock import Clock, system_ms
from forklore_service.storage.connection import Item
from forklore_service.storage.items import text
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.loading import ConversationDetails
from forklore_service.usecases.shared.optimistic import CHANGE
from forklore_service.usecases.writing.conversations import Patch, update_conversation
from tests.service.usecases.builders import (
    ANN,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    create,
    fork,
    read,
    say,
    show,
)
from tests.support.tables import Store, WrongClock
from tools.harness.wire import Request, Wire

WRITE = "TransactWriteItems"
MINUTE_MS = 60_000


def change(
    table: Table,
    *,
    by: Caller = ANN,
    conversation_id: str = ROOT,
    **said: Any,
) -> ConversationDetails:
    """Change a conversation. said: what is replaced."""
    return update_conversation(table, caller=by, conversation_id=conversation_id, change=Patch(said))


# Create


def test_a_new_conversation_has_the_requested_fields(table: Table) -> None:
    made = create(
        table,
        title="t",
        tags={"a.b": "c"},
        metadata='{"x": 1.0, "y": [1e400]}',
        agent_id="helper",
        by=PLANNER,
    )

    created_at = made.conversation.created_at
    assert made == ConversationDetails(
        Conversation(
            ROOT,
            ROOT,
            created_at,
            described=Description(title="t", tags={"a.b": "c"}, metadata='{"x": 1.0, "y": [1e400]}'),
            agent_id="helper",
            client_id="planner",
        ),
        Head("ann", created_at),
        AccessLevel.OWNER,
        "ann",
        is_current=True,
    )
    assert show(table) == made
    assert abs(ids.milliseconds(created_at) - system_ms()) < MINUTE_MS


def test_a_new_conversation_starts_empty(table: Table) -> None:
    made = create(table)

    assert made.conversation.described == Description(None, {}, "{}")
    assert made.head.untitled
    assert read(table) == []


def test_an_id_is_made_if_none_is_given(table: Table) -> None:
    first, second = (create(table, None).conversation.conversation_id for _ in range(2))

    assert ids.is_uuid(first)
    assert first < second
    assert show(table, first).conversation.conversation_id == first


@pytest.mark.parametrize("by", [ANN, EVE], ids=["one's own", "another's"])
def test_an_id_in_use_is_409_without_details_of_the_conversation(
    store: Store, table: Table, by: Caller
) -> None:
    create(table, title="secret")
    say(table, ROOT, "secret")
    fork(table)

    for conversation_id in (ROOT, FORK):
        with store.refuses(ConflictError) as raised:
            create(store.process(), conversation_id, by=by)
        assert set(raised.value.details) == {"message", "reason"}
        assert raised.value.details["reason"] == "id_in_use"
        assert "secret" not in raised.value.message
        assert "ann" not in raised.value.message


@pytest.mark.parametrize("off_ms", [11 * MINUTE_MS, -11 * MINUTE_MS])
@pytest.mark.parametrize("conversation_id", [ROOT, None], ids=["with an id", "without"])
def test_a_clock_known_to_be_far_off_creates_nothing(
    store: Store, off_ms: int, conversation_id: str | None
) -> None:
    table = store.process(clock=Clock(lambda: system_ms() + off_ms))
    table.get([keys.pointer(ROOT)])

    with store.refuses(UnavailableError):
        create(table, conversation_id)


def test_a_new_process_with_a_clock_far_off_creates_nothing(store: Store) -> None:
    table = store.process(clock=Clock(lambda: system_ms() + 365 * 24 * 60 * MINUTE_MS))

    with store.refuses(UnavailableError):
        create(table, None)


# Patch


def test_only_the_named_fields_are_replaced(table: Table) -> None:
    create(table, title="t", tags={"a": "1", "b": "2"}, metadata='{"m": 1}')

    assert change(table, title="new") == show(table)
    assert change(table, tags={"c": "3"}) == show(table)
    shown = change(table, metadata='{"n": 1.0}')

    assert shown == show(table)
    assert shown.conversation.described == Description("new", {"c": "3"}, '{"n": 1.0}')


def test_fields_can_be_cleared(store: Store, table: Table) -> None:
    create(table, title="t", tags={"a": "1"}, metadata='{"m": 1}')

    shown = change(table, title=None, tags={}, metadata="{}")

    assert shown == show(table)
    assert shown.conversation.described == Description(None, {}, "{}")
    assert not shown.head.untitled


def test_a_change_moves_only_updated_at_in_head(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    fork(table)
    before, contents = show(table), store.contents()

    after = change(table, tags={"a": "b"})

    assert after.head.updated_at > before.head.updated_at
    assert after.head == before.head._replace(changed_at=after.head.changed_at)
    now = store.contents()
    assert {key for key in now if now[key] != contents[key]} == {
        keys.conversation(ROOT, ROOT),
        keys.head(ROOT, ROOT),
    }


def test_an_empty_change_moves_updated_at(table: Table) -> None:
    before = create(table)

    after = change(table)

    assert after.conversation == before.conversation
    assert after.head.updated_at > before.head.updated_at


def test_updated_at_moves_on_after_a_clock_that_was_fast(store: Store, table: Table) -> None:
    fast = create(store.process(clock=WrongClock(60 * MINUTE_MS)))

    assert change(table).head.updated_at > fast.head.updated_at


@pytest.mark.parametrize("level", [AccessLevel.MANAGER, AccessLevel.READER, None])
def test_a_former_owner_may_make_the_changes_that_the_new_level_allows(
    store: Store, table: Table, level: AccessLevel | None
) -> None:
    create(table)
    store.add_member(ROOT, "bob")
    expected: dict[Key, Item] = {}

    def transfer() -> None:
        store.change(keys.group(ROOT), owner=text("bob"))
        store.change(keys.head(ROOT, ROOT), owner=text("bob"))
        store.change(keys.member(ROOT, "bob"), level=text(AccessLevel.OWNER))
        if level:
            store.change(keys.member(ROOT, "ann"), level=text(level))
        else:
            store.remove_member(ROOT, "ann")
        expected.update(store.contents())

    Wire.of(table).just_before(WRITE, transfer)
    if level is AccessLevel.MANAGER:
        change(table, title="still")
        assert show(table).conversation.described.title == "still"
    else:
        with pytest.raises(ForbiddenError):
            change(table, title="no more")
        assert store.contents() == expected


def test_a_change_that_keeps_losing_to_others_is_503(store: Store, table: Table) -> None:
    create(table, title="t")
    wire = Wire.of(table)
    times = iter(range(1, 1_000))

    def touch(_request: Request) -> None:
        if wire.operations[-1] == WRITE:
            store.change(keys.head(ROOT, ROOT), changedAt=text(ids.timestamp(next(times))))

    wire.before(touch)
    with pytest.raises(UnavailableError):
        change(table, title="never")

    assert wire.operations.count(WRITE) == CHANGE.attempts_max
    assert items.conversation(store.item(keys.conversation(ROOT, ROOT))).described.title == "t"


# If-Match on a change


def test_a_change_that_names_the_present_updated_at_is_made(store: Store, table: Table) -> None:
    at = create(table).head.updated_at
    for title in ("first", "second"):
        changed = update_conversation(
            table, caller=ANN, conversation_id=ROOT, change=Patch({"title": title}, if_match=at)
        )
        assert show(store.process()) == changed
        at = changed.head.updated_at
    say(table, ROOT, "said")
    update_conversation(
        table,
        caller=ANN,
        conversation_id=ROOT,
        change=Patch({}, if_match=show(table).head.updated_at),
    )


def test_a_change_that_names_an_earlier_updated_at_is_409(store: Store, table: Table) -> None:
    earlier = create(table).head.updated_at
    update_conversation(table, caller=ANN, conversation_id=ROOT, change=Patch({"tags": {"a": "b"}}))
    now = show(table).head.updated_at

    for wrong in (earlier, "2000-01-01T00:00:00.000Z", ids.timestamp(ids.milliseconds(now) + 1)):
        with store.refuses(ConflictError) as raised:
            update_conversation(
                store.process(),
                caller=ANN,
                conversation_id=ROOT,
                change=Patch({"tags": {}}, if_match=wrong),
            )
        assert {name: raised.value.details[name] for name in ("reason", "updatedAt")} == {
            "reason": "stale",
            "updatedAt": now,
        }


def test_a_stranger_s_change_with_a_wrong_updated_at_is_403(store: Store, table: Table) -> None:
    create(table)

    with store.refuses(ForbiddenError):
        change = Patch({"tags": {}}, if_match="2000-01-01T00:00:00.000Z")
        update_conversation(table, caller=EVE, conversation_id=ROOT, change=change)


# Reads that are torn: CONV is read before another request and HEAD after it, or the other way round


@pytest.mark.failure("torn-read")
def test_a_conversation_that_is_torn_at_every_look_is_503(store: Store, table: Table) -> None:
    create(table)
    store.change(keys.head(ROOT, ROOT), changes=items.number(1))

    with pytest.raises(UnavailableError):
        show(store.process())


def test_a_head_without_the_append_that_promoted_it_is_shown_and_appended_to(
    store: Store, table: Table
) -> None:
    """Point-in-time recovery may restore a transaction in part."""
    create(table)
    say(table, ROOT, "a")
    older = store.item(keys.head(ROOT, ROOT))
    [lost] = say(table, ROOT, "b")
    store.put(older)
    store.change(keys.group(ROOT), current=items.text(ROOT), promotedBy=items.text(lost))

    assert show(store.process()).head.last < lost
    [later] = say(store.process(), ROOT, "c")
    assert show(store.process()).head.last == later


# Ids that are not free


def test_an_id_that_was_deleted_recently_is_409_and_says_so(store: Store, table: Table) -> None:
    created = create(table).conversation
    create(table, OTHER)
    store.put(items.retired_item(ROOT, ttl_s=table.now_s() + 60))
    store.delete(keys.head(ROOT, ROOT), keys.conversation(ROOT, ROOT), keys.group(ROOT))

    with store.refuses(ConflictError) as raised:
        create(store.process(), ROOT)
    assert raised.value.details["reason"] == "deleted_recently"
    with store.refuses(ConflictError) as raised:
        fork(store.process(), OTHER, created.conversation_id)
    assert raised.value.details["reason"] == "deleted_recently"


def test_an_id_that_is_deleted_during_its_creation_is_409_and_says_so(store: Store, table: Table) -> None:
    wire = Wire.of(table)

    def delete(request: Request) -> None:
        if request.operation == "TransactWriteItems":
            store.put(items.retired_item(ROOT, ttl_s=store.process().now_s() + 60))

    wire.before(delete)
    with pytest.raises(ConflictError) as raised:
        create(table)

    assert raised.value.details["reason"] == "deleted_recently"
