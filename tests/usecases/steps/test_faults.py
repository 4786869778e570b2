"""Every request of an operation fails in every way: the check `call-faults`, small and in memory.

First, an operation runs without a fault: it makes n requests, and leaves a table. Then it runs
again on a new table for each k up to n and each kind of fault, with the real retry layer. It must
leave the same table and give the same answer. Ids, times and nonces differ from run to run: ids are
compared by rank, and times and nonces are left out.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from forklore.domain.ids import EntryId
from forklore.errors import UnavailableError
from forklore.storage import bodies, items
from forklore.storage.cache import CachedConversation
from forklore.storage.clock import Clock
from forklore.storage.connection import Item
from forklore.storage.table import Table
from forklore.usecases.steps.idempotency import IdempotencyKey
from forklore.usecases.writing.conversations import Change, update_conversation
from tests.support.tables import Store, fresh_store
from tests.usecases.builders import (
    BOB,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    answer,
    append,
    create,
    fork,
    idempotency_key,
    page,
    read,
    say,
    show,
    thought,
)
from tools.harness.wire import Answer, Request, Wire, cancelled, failure

WRITE = "TransactWriteItems"
AT = "https://dynamodb"


class Killed(BaseException):
    """The process is killed."""


@dataclass
class World:
    """A table with a tree of two entries where bob is a writer. It can be restored."""

    store: Store
    anchor: EntryId = field(init=False)
    facts: CachedConversation = field(init=False)
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        table = self.store.process()
        _, self.anchor = say(table, ROOT, "a", "b")
        append(table, ROOT, thought("c"), by=PLANNER)
        append(table, ROOT, thought("d"), by=PLANNER)
        self.store.add_member(ROOT, "bob")
        facts = table.cache.get(ROOT)
        assert facts is not None
        self.facts, self.clock = facts, table.connection.clock
        self._saved = self.store.saved()

    def set_back(self) -> None:
        self.store.set_back(self._saved)

    def process(self, *, is_warm: bool) -> Table:
        """Return a process that has the tree in its cache, or a new one."""
        if not is_warm:
            return self.store.process()
        table = self.store.process(clock=self.clock)
        table.cache.put(ROOT, self.facts)
        return table


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with fresh_store("faults") as store:
        yield World(store)


Run = Callable[[World, Table, IdempotencyKey | None], object]


OPERATIONS: dict[str, Run] = {
    "append": lambda w, t, o: append(t, ROOT, "x", "y", by=BOB, idempotency_key=o),
    "append if it matches": lambda w, t, o: append(
        t, ROOT, "x", if_match=w.anchor, by=BOB, idempotency_key=o
    ),
    "append context": lambda w, t, o: append(
        t, ROOT, thought("x"), thought("y", 5), by=PLANNER, idempotency_key=o
    ),
    "append to a new one": lambda w, t, o: append(t, OTHER, "x", "y", by=BOB, idempotency_key=o),
    "append and fork": lambda w, t, o: append(t, FORK, "x", fork=(ROOT, w.anchor), by=BOB, idempotency_key=o),
    "fork before an entry": lambda w, t, o: fork(t, ROOT, FORK, w.anchor, by=BOB, idempotency_key=o),
    "fork at the head": lambda w, t, o: fork(
        t, ROOT, FORK, title="t", reset_metrics=False, by=BOB, idempotency_key=o
    ),
    "fork under an id that is made": lambda w, t, o: fork(t, ROOT, None, by=BOB, idempotency_key=o),
    "create": lambda w, t, o: create(t, OTHER, title="t", metadata='{"a": 1.0}', by=BOB, idempotency_key=o),
    "create under an id that is made": lambda w, t, o: create(t, None, title="t", by=BOB, idempotency_key=o),
}
WARM = [name for name in OPERATIONS if name in ("append", "append if it matches", "append context")]
"""Operations that send other requests if the conversation is in the cache."""
each_operation = pytest.mark.parametrize(
    ("name", "is_warm"),
    [(name, False) for name in OPERATIONS] + [(name, True) for name in WARM],
)


# Comparison


def normal(items_of_a_table: Iterable[Item]) -> list[str]:
    """Return the items in a fixed order, with ids replaced by ranks, without times and nonces."""
    spelled = [_spelled(item) for item in items_of_a_table]
    return sorted(_ranked(spelled))


def _spelled(item: Item) -> str:
    plain = items.plain(item)
    if "path" in plain:
        plain["path"] = items.path(item)
    if "prev" in plain:
        plain["prev"] = items.lasts(item)
    if "ttl" in plain:
        plain["ttl"] = "ttl"
    if "nonce" in plain:
        plain["nonce"] = "nonce"
    if plain["PK"].startswith("IDEM#"):
        plain["body"] = bodies.decode(plain["body"])
    return str(sorted(plain.items()))


_MADE = re.compile(r"0[0-9a-f]{7}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_SHARD = re.compile(r"TREES#\d")


def _ranked(texts: list[str]) -> list[str]:
    made = sorted(set(_MADE.findall(" ".join(texts))))
    ranks = {one: f"<{rank}>" for rank, one in enumerate(made)}
    return [
        _SHARD.sub("<shard>", _TIME.sub("<time>", _MADE.sub(lambda found: ranks[found[0]], one)))
        for one in texts
    ]


@dataclass(frozen=True)
class Outcome:
    """The table and the answer of an operation, in a form to compare. requests: those it made."""

    contents: list[str]
    answer: list[str]
    requests: list[str]


def run(
    world: World,
    name: str,
    *,
    spoil: Callable[[Wire], None] = lambda _wire: None,
    is_warm: bool,
    has_key: bool = False,
    again: bool = False,
) -> Outcome:
    """Run an operation. again: if there is no answer, run it once more in a new process."""
    world.set_back()
    given = idempotency_key(by=BOB) if has_key else None
    table = world.process(is_warm=is_warm)
    wire = Wire.of(table)
    spoil(wire)
    try:
        answered = answer(lambda: OPERATIONS[name](world, table, given))
    except (Killed, UnavailableError):
        if not again:
            raise
        answered = answer(lambda: OPERATIONS[name](world, world.store.process(), given))
    return Outcome(normal(world.store.contents().values()), _ranked([answered]), wire.operations)


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


@pytest.mark.long
@pytest.mark.failure("busy-database")
@each_operation
def test_a_fault_of_one_request_changes_neither_the_table_nor_the_answer(
    world: World, name: str, is_warm: bool
) -> None:
    """After throttling, a server error, a lost connection or a conflict, one retry is enough."""
    expected = run(world, name, is_warm=is_warm)
    assert expected.requests[-1] == WRITE

    for k in range(1, len(expected.requests) + 1):
        for fault in FAULTS:
            found = run(world, name, spoil=lambda wire, k=k, fault=fault: fault(wire, k), is_warm=is_warm)  # type: ignore[misc]
            assert len(found.requests) > len(expected.requests), (k, fault.__name__)
            assert (found.contents, found.answer) == (expected.contents, expected.answer), (k, fault.__name__)


def dies_before(wire: Wire, k: int) -> None:
    """The process is killed before its request is sent."""

    def kill(request: Request) -> None:
        if request.number == k:
            raise Killed

    wire.before(kill)


def dies_after(wire: Wire, k: int) -> None:
    """The process is killed after its request is done."""

    def kill(request: Request, _answer: dict[str, Any]) -> None:
        if request.number == k:
            raise Killed

    wire.after(kill)


def cut_off_before(wire: Wire, k: int) -> None:
    """From this request on, nothing arrives at DynamoDB."""

    def lose(request: Request) -> None:
        if request.number >= k:
            raise ConnectionClosedError(endpoint_url=AT)

    wire.before(lose)


def cut_off_after(wire: Wire, k: int) -> None:
    """From this request on, no answer comes back."""

    def lose(request: Request, _answer: dict[str, Any]) -> None:
        if request.number >= k:
            raise ReadTimeoutError(endpoint_url=AT)

    wire.after(lose)


ENDS = [dies_before, dies_after, cut_off_before, cut_off_after]


@pytest.mark.long
@pytest.mark.failure("lost-answer")
@each_operation
def test_a_request_repeated_with_its_key_has_its_effect_once(world: World, name: str, is_warm: bool) -> None:
    """This is also true after an unknown result."""
    expected = run(world, name, is_warm=is_warm, has_key=True)

    for k in range(1, len(expected.requests) + 1):
        for end in ENDS:
            found = run(
                world,
                name,
                spoil=lambda wire, k=k, end=end: end(wire, k),  # type: ignore[misc]
                is_warm=is_warm,
                has_key=True,
                again=True,
            )
            assert (found.contents, found.answer) == (expected.contents, expected.answer), (k, end.__name__)


@each_operation
def test_a_request_repeated_without_a_key_has_its_effect_once_if_the_first_was_lost(
    world: World, name: str, is_warm: bool
) -> None:
    expected = run(world, name, is_warm=is_warm)

    for k in range(1, len(expected.requests) + 1):
        found = run(world, name, spoil=lambda wire, k=k: dies_before(wire, k), is_warm=is_warm, again=True)  # type: ignore[misc]
        assert (found.contents, found.answer) == (expected.contents, expected.answer), k


@pytest.mark.failure("retry-without-key")
@pytest.mark.parametrize("end", [dies_after, cut_off_after])
def test_an_append_repeated_without_a_key_may_append_twice(world: World, end: Fault) -> None:
    """docs/api.md says so."""
    world.set_back()
    table = world.process(is_warm=True)
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
    world.set_back()
    table = world.store.process()
    fault(Wire.of(table), k)
    asked = Change({"title": "new", "tags": {"a": "b"}})

    changed = update_conversation(table, caller=BOB, conversation_id=ROOT, change=asked)

    assert changed == show(world.store.process(), by=BOB)
    assert (changed.conversation.described.title, changed.conversation.described.tags) == ("new", {"a": "b"})
    assert changed.head.metrics.entries == 4


@pytest.mark.parametrize("fault", [before, throttle, conflict, thrice(after)], ids=lambda f: f.__name__)
def test_a_read_gives_the_same_answer_after_any_fault(world: World, fault: Fault) -> None:
    world.set_back()
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
