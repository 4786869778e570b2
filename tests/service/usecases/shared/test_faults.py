"""Requests fail in every way, on a table in memory.

tests/service/reliability/test_crashes.py does so for every request of every operation. Here is what
a process does that has the conversation in its cache, and what callers without a key may rely on.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from forklore_service.domain.ids import EntryId
from forklore_service.errors import UnavailableError
from forklore_service.storage.table import Table
from forklore_service.usecases.writing.conversations import Patch, update_conversation
from tests.service.usecases.builders import (
    BOB,
    FORK,
    PLANNER,
    ROOT,
    append,
    fork,
    idempotency_key,
    page,
    read,
    say,
    show,
    thought,
)
from tests.support.tables import Store, fresh_store
from tools.harness.wire import Answer, Request, Wire, cancelled, failure

WRITE = "TransactWriteItems"
AT = "https://dynamodb"


class Killed(BaseException):
    """The process is killed."""


class World:
    """A table with a tree of two entries where bob is a writer. It can be restored."""

    def __init__(self, store: Store) -> None:
        self.store = store
        table = store.process()
        self.anchor: EntryId = say(table, ROOT, "a", "b")[1]
        append(table, ROOT, thought("c"), thought("d"), by=PLANNER)
        store.add_member(ROOT, "bob")
        self._saved, self._warm = store.saved(), table

    def warm(self) -> Table:
        """Set the table back. Return a process that has the conversation in its cache."""
        self.store.set_back(self._saved)
        table, facts = self.store.process(clock=self._warm.connection.clock), self._warm.cache.get(ROOT)
        assert facts is not None
        table.cache.put(ROOT, facts)
        return table


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with fresh_store("faults") as store:
        yield World(store)


# Faults

Fault = Callable[[Wire, int], None]


def before(wire: Wire, k: int) -> None:
    """The request is lost on its way to DynamoDB."""

    def lose(request: Request) -> None:
        if request.number == k:
            raise ConnectionClosedError(endpoint_url=AT)

    wire.before(lose)


def after(wire: Wire, k: int) -> None:
    """The request is done, and its answer is lost."""

    def lose(request: Request, _answer: dict[str, Any]) -> None:
        if request.number == k:
            raise ReadTimeoutError(endpoint_url=AT)

    wire.after(lose)


def failed_after(wire: Wire, k: int) -> None:
    """The request is done, but the answer is a 500."""

    def fail(request: Request, told: Any) -> None:
        if request.number == k:
            told.update(failure("InternalServerError", status=500))
            raise ClientError(told, WRITE)

    wire.after(fail)


def throttle(wire: Wire, k: int) -> None:
    """DynamoDB throttles the request."""

    def refuse(request: Request) -> Answer | None:
        return failure("ThrottlingException") if request.number == k else None

    wire.before(refuse)


def conflict(wire: Wire, k: int) -> None:
    """Another transaction holds one of the items. A read is throttled instead."""

    def refuse(request: Request) -> Answer | None:
        if request.number != k:
            return None
        if request.operation != WRITE:
            return failure("ProvisionedThroughputExceededException")
        return cancelled(*["None"] * (len(request.body["TransactItems"]) - 1), "TransactionConflict")

    wire.before(refuse)


def thrice(fault: Fault) -> Fault:
    """Return a fault that comes three times in a row."""

    def repeated(wire: Wire, k: int) -> None:
        for again in range(3):
            fault(wire, k + again)

    repeated.__name__ = f"{fault.__name__} three times"
    return repeated


FAULTS = [before, after, failed_after, throttle, conflict, thrice(after)]


def dies_after(wire: Wire, k: int) -> None:
    """The process is killed after its request is done."""

    def kill(request: Request, _answer: dict[str, Any]) -> None:
        if request.number == k:
            raise Killed

    wire.after(kill)


def cut_off_after(wire: Wire, k: int) -> None:
    """From this request on, no answer comes back."""

    def lose(request: Request, _answer: dict[str, Any]) -> None:
        if request.number >= k:
            raise ReadTimeoutError(endpoint_url=AT)

    wire.after(lose)


@pytest.mark.failure("busy-database", "lost-answer")
@pytest.mark.parametrize("fault", [*FAULTS, dies_after], ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("if_matches", [False, True])
def test_an_append_of_a_process_that_knows_the_conversation_has_its_effect_once(
    world: World, fault: Fault, if_matches: bool
) -> None:
    table, key = world.warm(), idempotency_key(by=BOB)
    wire = Wire.of(table)
    fault(wire, 1)
    asked: dict[str, Any] = {
        "by": BOB,
        "idempotency_key": key,
        "if_match": world.anchor if if_matches else None,
    }

    try:
        append(table, ROOT, "x", "y", **asked)
    except Killed:
        append(world.store.process(), ROOT, "x", "y", **asked)

    assert wire.operations[0] == WRITE
    assert read(world.store.process()) == ["a", "b", "x", "y"]
    assert show(world.store.process()).head.metrics.entries == 6


@pytest.mark.failure("retry-without-key")
@pytest.mark.parametrize("end", [dies_after, cut_off_after])
def test_an_append_repeated_without_a_key_may_append_twice(world: World, end: Fault) -> None:
    """docs/api.md says so."""
    table = world.warm()
    end(Wire.of(table), 1)

    with pytest.raises((Killed, UnavailableError)):
        append(table, ROOT, "x", by=BOB)
    append(world.store.process(), ROOT, "x", by=BOB)

    assert read(world.store.process()) == ["a", "b", "x", "x"]
    assert show(world.store.process()).head.metrics.entries == 6


@pytest.mark.failure("retry-without-key")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("k", [1, 2])
def test_a_change_has_its_effect_after_any_fault(world: World, fault: Fault, k: int) -> None:
    """PATCH and DELETE can be repeated without a key."""
    world.warm()
    table = world.store.process()
    fault(Wire.of(table), k)
    asked = Patch({"title": "new", "tags": {"a": "b"}})

    changed = update_conversation(table, caller=BOB, conversation_id=ROOT, change=asked)

    assert changed == show(world.store.process(), by=BOB)
    assert (changed.conversation.described.title, changed.conversation.described.tags) == ("new", {"a": "b"})
    assert changed.head.metrics.entries == 4


@pytest.mark.parametrize("fault", [before, throttle, conflict, thrice(after)], ids=lambda f: f.__name__)
def test_a_read_gives_the_same_answer_after_any_fault(world: World, fault: Fault) -> None:
    world.warm()
    table = world.store.process()
    fork(table, ROOT, FORK, world.anchor)
    say(table, FORK, "own")
    expected = page(world.store.process(), FORK)

    for k in range(1, 5):
        reader = world.store.process()
        wire = Wire.of(reader)
        fault(wire, k)
        assert page(reader, FORK) == expected
        assert len(wire.requests) > 4
