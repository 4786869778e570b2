"""Several equal forks in one transaction: several answers to one question."""

import json
from random import Random

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Description, ForkPosition
from forklore_service.errors import ForkLimitError, PayloadTooLargeError
from forklore_service.limits import FORKS_AT_ONCE
from forklore_service.storage import items
from forklore_service.storage.actions.group import CONVERSATIONS_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.forks import ForkRequest, fork_conversation
from forklore_service.usecases.shared.idempotency import IdempotentReplay
from forklore_service.usecases.shared.loading import ConversationDetails
from forklore_service.usecases.shared.requests import Fork
from tests.service.usecases.builders import ANN, BOB, ROOT, idempotency_key, read, say, show
from tests.support.tables import Store
from tools.harness.wire import Request, Wire


def request(anchor: EntryId | None = None, *, count: int = FORKS_AT_ONCE) -> ForkRequest:
    position = ForkPosition.BEFORE if anchor else ForkPosition.AFTER
    described = Description("try", {"a": "b"}, '{"n": 1.0}')
    return ForkRequest(Fork(ROOT, anchor, position), described=described, times=count)


def ids_of(made: list[ConversationDetails]) -> list[str]:
    return [one.conversation.conversation_id for one in made]


def test_equal_forks_differ_in_nothing_but_their_ids(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    (b,) = say(table, ROOT, "b")
    store.add_member(ROOT, "bob", AccessLevel.WRITER)

    made = fork_conversation(table, caller=BOB, request=request(b))

    assert ids_of(made) == sorted({*ids_of(made)})
    assert len(made) == FORKS_AT_ONCE
    first = made[0]
    for one in made:
        own = first.conversation._replace(conversation_id=one.conversation.conversation_id)
        assert one == first._replace(conversation=own)
        assert show(store.process(), own.conversation_id, by=BOB) == one
        say(table, own.conversation_id, own.conversation_id)
        assert read(store.process(), own.conversation_id) == ["a", own.conversation_id]
    group = items.group(store.item(keys.group(ROOT)))
    assert (group.conversations, group.current) == (1 + FORKS_AT_ONCE, ROOT)


def test_equal_forks_are_made_in_one_transaction_and_known_afterwards(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    wire = Wire.of(table)

    made = fork_conversation(table, caller=ANN, request=request())
    assert wire.operations == ["BatchGetItem", "TransactWriteItems"]

    for one in ids_of(made):
        wire.clear()
        say(table, one, "x")
        assert wire.operations == ["TransactWriteItems"]


@pytest.mark.failure("lost-answer")
def test_equal_forks_with_a_key_are_made_once(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    key = idempotency_key()
    fork_conversation(table, caller=ANN, request=request(), idempotency_key=key)

    with store.unchanged(), pytest.raises(IdempotentReplay):
        fork_conversation(store.process(), caller=ANN, request=request(), idempotency_key=key)


def test_all_equal_forks_must_have_room(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    room = keys.group(ROOT)
    store.change(room, conversations=items.number(CONVERSATIONS_MAX - 2))

    with store.refuses(ForkLimitError) as raised:
        fork_conversation(table, caller=ANN, request=request(count=3))
    assert raised.value.details["reason"] == "fork_limit"

    fork_conversation(table, caller=ANN, request=request(count=2))
    assert items.group(store.item(room)).conversations == CONVERSATIONS_MAX


@pytest.mark.failure("two-creators")
def test_equal_forks_whose_room_is_taken_meanwhile_are_refused(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    room = keys.group(ROOT)
    store.change(room, conversations=items.number(CONVERSATIONS_MAX - 2))
    wire = Wire.of(table)

    def take(asked: Request) -> None:
        if asked.operation == "TransactWriteItems" and wire.operations.count("TransactWriteItems") <= 1:
            store.change(room, conversations=items.number(CONVERSATIONS_MAX - 1))

    wire.before(take)
    with pytest.raises(ForkLimitError):
        fork_conversation(table, caller=ANN, request=request(count=2))

    assert items.group(store.item(room)).conversations == CONVERSATIONS_MAX - 1


def test_the_largest_equal_forks_fit_into_a_transaction(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    random = Random(1)
    tags = {
        f"t{at:02}": "".join(chr(random.randrange(0x1F300, 0x1F600)) for _ in range(256)) for at in range(50)
    }
    metadata = json.dumps({"x": random.randbytes(8_000).hex()})
    described = Description("😀" * 500, tags, metadata)
    largest = request()._replace(described=described, agent_id="a" * 255)

    assert len(fork_conversation(table, caller=ANN, request=largest)) == FORKS_AT_ONCE

    plain = largest._replace(described=described._replace(tags=dict.fromkeys(tags, "x" * 256)))
    assert fork_conversation(table, caller=ANN, request=plain, idempotency_key=idempotency_key())


def test_equal_forks_whose_answer_cannot_be_remembered_are_413(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    key = idempotency_key()._replace(render=lambda _: Random(1).randbytes(400_000).hex())

    with store.refuses(PayloadTooLargeError):
        fork_conversation(table, caller=ANN, request=request(), idempotency_key=key)
