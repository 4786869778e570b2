import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    IdempotencyMismatchError,
    NotFoundError,
)
from forklore_service.storage import items
from forklore_service.storage.actions.idempotency import IDEMPOTENCY_SECONDS
from forklore_service.storage.clock import system_ms
from forklore_service.storage.connection import Item
from forklore_service.storage.items import number, text
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from forklore_service.usecases.writing.conversations import Patch, update_conversation
from tests.service.usecases.builders import (
    ANN,
    BOB,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    answer,
    append,
    create,
    fork,
    idempotency_key,
    read,
    said,
    say,
    show,
    thought,
)
from tests.support.tables import Store
from tools.harness.tables import NAME
from tools.harness.wire import Request, Wire

WRITE = "TransactWriteItems"


@dataclass(frozen=True)
class Effect:
    """A request with an Idempotency-Key, by a writer of ROOT. id: the conversation."""

    run: Callable[[Table, IdempotencyKey, Caller], object]
    id: str | None

    def __call__(self, table: Table, key: str = "k", *, by: Caller = BOB, body: str = "body") -> str:
        return answer(lambda: self.run(table, idempotency_key(key, by=by, body=body), by))


EFFECTS = {
    "append": Effect(lambda t, o, by: append(t, ROOT, "x", by=by, idempotency_key=o), ROOT),
    "append several": Effect(lambda t, o, by: append(t, ROOT, "x", "y", "z", by=by, idempotency_key=o), ROOT),
    "append to a new one": Effect(lambda t, o, by: append(t, OTHER, "x", by=by, idempotency_key=o), OTHER),
    "append and fork": Effect(
        lambda t, o, by: append(t, FORK, "x", fork=(ROOT, None), by=by, idempotency_key=o), FORK
    ),
    "fork": Effect(lambda t, o, by: fork(t, ROOT, FORK, title="f", by=by, idempotency_key=o), FORK),
    "fork under an id that is made": Effect(
        lambda t, o, by: fork(t, ROOT, None, by=by, idempotency_key=o), None
    ),
    "create": Effect(lambda t, o, by: create(t, OTHER, title="c", by=by, idempotency_key=o), OTHER),
    "create under an id that is made": Effect(
        lambda t, o, by: create(t, None, by=by, idempotency_key=o), None
    ),
}
each_effect = pytest.mark.parametrize("name", EFFECTS)


@pytest.fixture
def shared(store: Store) -> Store:
    """A table with a tree where bob is a writer."""
    say(store.process(), ROOT, "a")
    store.add_member(ROOT, "bob")
    return store


def records(store: Store) -> list[Item]:
    return [item for key, item in store.contents().items() if key.partition.startswith("IDEM#")]


@pytest.mark.failure("lost-answer")
@each_effect
def test_a_replay_gets_the_same_answer_and_changes_nothing(shared: Store, name: str) -> None:
    """The effect happens once, and the body is the same."""
    table = shared.process()
    before = shared.contents()
    first = EFFECTS[name](table)
    assert shared.contents() != before

    with shared.unchanged():
        for process in (table, shared.process(), table):
            assert EFFECTS[name](process) == first


@each_effect
def test_a_replay_gets_the_same_answer_after_the_conversation_has_moved_on(shared: Store, name: str) -> None:
    first = EFFECTS[name](shared.process())
    later = EFFECTS[name].id or _made(shared)
    say(shared.process(), later, "later", by=BOB)
    change = Patch({"title": "another", "tags": {"a": "b"}})
    update_conversation(shared.process(), caller=BOB, conversation_id=later, change=change)

    with shared.unchanged():
        assert EFFECTS[name](shared.process()) == first


def _made(store: Store) -> str:
    """Return the conversation that the only record names."""
    (record,) = records(store)
    made: str = record["conversation"]["S"]
    return made


@pytest.mark.failure("lost-answer")
@each_effect
def test_the_record_is_written_with_the_effect_and_lasts_a_day(shared: Store, name: str) -> None:
    """The record is written in the effect's own transaction."""
    table = shared.process()
    wire = Wire.of(table)
    EFFECTS[name](table)

    assert wire.operations.count(WRITE) == 1
    (record,) = records(shared)
    assert abs(int(record["ttl"]["N"]) - IDEMPOTENCY_SECONDS - system_ms() / 1000) < 5
    assert IDEMPOTENCY_SECONDS == 24 * 3600


@each_effect
def test_another_body_under_the_key_is_422(shared: Store, name: str) -> None:
    table = shared.process()
    EFFECTS[name](table)

    for process in (table, shared.process()):
        with shared.refuses(IdempotencyMismatchError):
            EFFECTS[name](process, body="another")


@each_effect
def test_a_caller_who_lost_access_gets_403(shared: Store, name: str) -> None:
    table = shared.process()
    EFFECTS[name](table)
    group_id = records(shared)[0]["group"]["S"]
    shared.remove_member(group_id, "bob")
    if group_id != ROOT:  # Bob owns it, so he must hand it over first.
        shared.change(keys.group(group_id), owner=text("eve"))
        shared.change(keys.head(group_id, group_id), owner=text("eve"))

    for process, body in itertools.product((table, shared.process()), ("body", "another")):
        with shared.refuses(ForbiddenError):
            EFFECTS[name](process, body=body)


@pytest.mark.failure("reused-id")
@each_effect
def test_after_the_deletion_a_replay_is_404(shared: Store, name: str) -> None:
    """A late retry shows nothing of the deleted conversation, and creates nothing."""
    table = shared.process()
    EFFECTS[name](table)
    group_id = records(shared)[0]["group"]["S"]

    shared.mark_deleted(group_id)
    with shared.refuses(NotFoundError):
        EFFECTS[name](shared.process())
    shared.remove_tree(group_id)
    for process in (table, shared.process()):
        with shared.refuses(NotFoundError):
            EFFECTS[name](process)


@pytest.mark.parametrize("name", ["append", "append several", "fork under an id that is made"])
@pytest.mark.parametrize("knows", [True, False], ids=["the same process", "another"])
def test_after_a_day_the_key_has_its_effect_again(shared: Store, name: str, knows: bool) -> None:
    table = shared.process()
    first = EFFECTS[name](table)
    key = idempotency_key(by=BOB).key
    shared.change(key, ttl=number(system_ms() // 1000 - 10))

    second = EFFECTS[name](table if knows else shared.process(), body="another")

    assert second != first
    with shared.unchanged():
        assert EFFECTS[name](shared.process(), body="another") == second


@pytest.mark.parametrize("name", ["create", "fork"])
def test_after_a_day_an_id_is_still_in_use(shared: Store, name: str) -> None:
    EFFECTS[name](shared.process())
    shared.change(idempotency_key(by=BOB).key, ttl=number(system_ms() // 1000 - 10))

    with shared.refuses(ConflictError):
        EFFECTS[name](shared.process())


@each_effect
def test_two_concurrent_requests_have_one_effect_and_one_answer(shared: Store, name: str) -> None:
    table = shared.process()
    answers: list[str] = []
    expected: dict[Key, Item] = {}

    def rival() -> None:
        answers.append(EFFECTS[name](shared.process()))
        expected.update(shared.contents())

    Wire.of(table).just_before(WRITE, rival)
    answers.append(EFFECTS[name](table))

    assert answers[0] == answers[1]
    assert shared.contents() == expected


@each_effect
def test_of_two_concurrent_bodies_under_one_key_one_has_its_effect(shared: Store, name: str) -> None:
    table = shared.process()
    expected: dict[Key, Item] = {}

    def rival() -> None:
        EFFECTS[name](shared.process(), body="another")
        expected.update(shared.contents())

    Wire.of(table).just_before(WRITE, rival)
    with pytest.raises(IdempotencyMismatchError):
        EFFECTS[name](table)

    assert shared.contents() == expected


@pytest.mark.failure("lost-answer")
@pytest.mark.parametrize("name", ["append", "append several", "fork under an id that is made"])
def test_a_request_with_another_key_or_caller_is_another_request(shared: Store, name: str) -> None:
    """A record belongs to one caller and one key."""
    table = shared.process()
    answers = [
        EFFECTS[name](table, "k", by=BOB),
        EFFECTS[name](table, "l", by=BOB),
        EFFECTS[name](table, "k", by=ANN),
        EFFECTS[name](table, "k", by=PLANNER),
    ]

    assert len(set(answers)) == 4
    assert len(records(shared)) == 4


@pytest.mark.failure("lost-answer")
def test_a_refused_request_is_not_recorded(shared: Store) -> None:
    table = shared.process()
    (a,) = say(table, ROOT, "b")
    say(table, ROOT, "c")
    with shared.refuses(ConflictError):
        append(table, ROOT, "x", by=BOB, if_match=a, idempotency_key=idempotency_key(by=BOB))
    with shared.refuses(ForbiddenError):
        append(table, ROOT, "x", by=EVE, idempotency_key=idempotency_key(by=EVE))
    with shared.refuses(NotFoundError):
        fork(table, OTHER, TWIG, by=BOB, idempotency_key=idempotency_key(by=BOB))
    shared.add_member(ROOT, "eve")

    append(table, ROOT, "x", by=BOB, idempotency_key=idempotency_key(by=BOB))
    append(table, ROOT, "y", by=EVE, idempotency_key=idempotency_key(by=EVE))

    assert read(table) == ["a", "b", "c", "x", "y"]


def test_a_replay_does_not_compare_if_match_again(shared: Store) -> None:
    table = shared.process()
    (a,) = say(table, ROOT, "b")

    first, second = (
        append(table, ROOT, "x", if_match=a, idempotency_key=idempotency_key()) for _ in range(2)
    )

    assert first == second
    assert append(shared.process(), ROOT, "x", if_match=a, idempotency_key=idempotency_key()) == first
    assert read(table) == ["a", "b", "x"]


def test_a_large_append_is_replayed_from_its_chunks_and_remembered_in_a_small_record(shared: Store) -> None:
    draft = said("".join(chr(0x4E00 + at % 20_000) for at in range(150_000)))

    first = append(shared.process(), ROOT, draft, idempotency_key=idempotency_key())

    assert append(shared.process(), ROOT, draft, idempotency_key=idempotency_key()) == first
    (record,) = records(shared)
    assert sum(len(str(value)) for value in record.values()) < 1_000


def test_a_reader_can_replay_an_earlier_request_as_a_writer(shared: Store) -> None:
    first = EFFECTS["append"](shared.process())
    shared.change(keys.member(ROOT, "bob"), level=text(AccessLevel.READER))

    assert EFFECTS["append"](shared.process()) == first


def agent(table: Table, epoch: int | None) -> str:
    return answer(
        lambda: append(
            table, ROOT, thought("x", epoch), by=PLANNER, idempotency_key=idempotency_key(by=PLANNER)
        )
    )


@pytest.mark.parametrize("epoch", [None, 2])
def test_a_replay_in_another_process_is_answered_though_its_epoch_is_over(
    shared: Store, epoch: int | None
) -> None:
    table = shared.process()
    first = agent(table, epoch)
    append(table, ROOT, thought("y", 9), by=PLANNER)

    with shared.unchanged():
        assert agent(shared.process(), epoch) == first


def test_a_replay_is_answered_though_the_tree_is_full(shared: Store) -> None:
    table = shared.process()
    show(table)

    def report(request: Request, told: dict[str, Any]) -> None:
        if request.operation == WRITE and "Error" not in told:
            size = {"ItemCollectionKey": {"PK": text(ROOT)}, "SizeEstimateRangeGB": [9.0, 10.0]}
            told["ItemCollectionMetrics"] = {NAME: [size]}

    Wire.of(table).after(report)
    first = EFFECTS["append"](table)

    with shared.unchanged():
        assert EFFECTS["append"](table) == first


@pytest.mark.failure("reused-id")
def test_a_key_reused_after_the_conversation_was_deleted_completely_is_404(shared: Store) -> None:
    """A late retry creates no tree, even if only the record is left."""
    effect = EFFECTS["append to a new one"]
    effect(shared.process())
    shared.remove_tree(OTHER)

    with shared.refuses(NotFoundError):
        effect(shared.process())
    assert items.pointer(shared.item(keys.pointer(OTHER)), now_s=system_ms() // 1000) is not None
