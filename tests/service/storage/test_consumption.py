"""The counts of a request's calls: attempts, conflicts, throttling, units, sizes, far clocks."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from forklore_service.domain import ids, keys
from forklore_service.domain.clock_offset import OFFSET_MAX_MS
from forklore_service.domain.keys import Key
from forklore_service.errors import UnavailableError
from forklore_service.storage import items
from forklore_service.storage.actions import Action, ActionKind, ConditionFailed
from forklore_service.storage.clock import Clock, system_ms
from forklore_service.storage.consumption import Consumption
from forklore_service.storage.items import text
from forklore_service.storage.table import Table
from tests.support.tables import Store
from tools.harness.tables import NAME
from tools.harness.wire import Answer, Wire, cancelled, failure

GROUP, OTHER = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
PUT = Action(ActionKind.POINTER, "Put", items.key_of(keys.pointer("x")))
CHECK = Action(
    ActionKind.POINTER,
    "ConditionCheck",
    items.key_of(keys.pointer("none")),
    condition="attribute_exists(PK)",
)


def read(table: Table) -> Consumption:
    """Return the counts of reading one item."""
    usage = Consumption()
    table.within(20, usage=usage).get([Key("p", "0")])
    return usage


def write(table: Table) -> Consumption:
    usage = Consumption()
    table.within(20, usage=usage).commit([PUT])
    return usage


def counts(usage: Consumption) -> tuple[int, int, int, int]:
    return usage.calls, usage.retries, usage.conflicts, usage.throttles


def test_a_call_that_succeeds_is_one_call(table: Table) -> None:
    assert counts(read(table)) == (1, 0, 0, 0)


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        (lambda: failure("ThrottlingException"), (3, 2, 0, 2)),
        (lambda: failure("ProvisionedThroughputExceededException"), (3, 2, 0, 2)),
        (lambda: failure("RequestLimitExceeded"), (3, 2, 0, 2)),
        (lambda: failure("InternalServerError", status=500), (3, 2, 0, 0)),
        (lambda: failure("TransactionConflictException"), (3, 2, 2, 0)),
        (lambda: cancelled("TransactionConflict"), (3, 2, 2, 0)),
        (lambda: cancelled("ThrottlingError"), (3, 2, 0, 2)),
        (lambda: cancelled("ProvisionedThroughputExceeded"), (3, 2, 0, 2)),
    ],
)
def test_each_retry_is_counted_with_its_reason(
    table: Table, trouble: Callable[[], Answer], expected: tuple[int, int, int, int]
) -> None:
    Wire.of(table).before(lambda request: trouble() if request.number < 3 else None)

    assert counts(write(table)) == expected


def test_a_condition_that_does_not_hold_is_a_call_and_no_conflict(store: Store, table: Table) -> None:
    usage = Consumption()
    with pytest.raises(ConditionFailed):
        table.within(20, usage=usage).commit([CHECK])

    assert counts(usage) == (1, 0, 0, 0)


def test_a_request_that_ran_out_of_time_has_its_calls_counted(table: Table) -> None:
    Wire.of(table).before(lambda _: failure("ThrottlingException"))
    usage = Consumption()
    with pytest.raises(UnavailableError):
        table.within(20, usage=usage).get([Key("p", "0")])

    assert counts(usage) == (8, 7, 0, 8)


TREE = Action(ActionKind.HEAD, "Put", items.key_of(keys.head(GROUP, GROUP)))


@pytest.mark.failure("untraced-change")
def test_the_trees_that_a_request_has_written_to_are_known_once(table: Table) -> None:
    usage = Consumption()
    within = table.within(20, usage=usage)
    within.get([keys.group(GROUP)])
    assert within.try_commit([TREE, CHECK]) is not None
    assert usage.take_changed() is None, "nothing was written"

    within.commit([PUT])
    assert usage.take_changed() == [], "what was written belongs to no tree"

    within.commit([TREE, PUT])
    within.delete([keys.head(GROUP, GROUP), keys.head(OTHER, OTHER)])
    assert usage.take_changed() == [GROUP, OTHER]
    assert usage.take_changed() is None


@pytest.mark.failure("untraced-change")
def test_a_write_of_which_nobody_knows_whether_it_was_made_counts_as_a_change(table: Table) -> None:
    Wire.of(table).before(lambda _: failure("InternalServerError", status=500))
    usage = Consumption()
    with pytest.raises(UnavailableError):
        table.within(20, usage=usage).commit([TREE])

    assert usage.take_changed() == [GROUP]


def test_unprocessed_parts_of_a_batch_count_as_throttled(table: Table) -> None:
    def half(request: Any, answer: dict[str, Any]) -> None:
        if request.number == 1:
            answer["UnprocessedItems"] = {NAME: [{"DeleteRequest": {"Key": items.key_of(Key("p", "0"))}}]}

    Wire.of(table).after(half)
    usage = Consumption()
    table.within(20, usage=usage).delete([Key("p", "0")])

    assert counts(usage) == (2, 0, 0, 1)


@pytest.mark.parametrize(
    ("operation", "consumed", "units"),
    [
        ("query", {"CapacityUnits": 2.5}, (2.5, 0)),
        ("query", {"TableName": NAME, "CapacityUnits": 0.5, "ReadCapacityUnits": 0.5}, (0.5, 0)),
        ("batch_get_item", [{"CapacityUnits": 1.0}, {"CapacityUnits": 2.0}], (3, 0)),
        ("batch_write_item", [{"CapacityUnits": 4.0}], (0, 4)),
        ("transact_write_items", [{"CapacityUnits": 6.0, "WriteCapacityUnits": 6.0}], (0, 6)),
        ("transact_write_items", [{"CapacityUnits": 6.0}], (0, 6)),
        (
            "transact_write_items",
            [{"CapacityUnits": 6.0, "WriteCapacityUnits": 4.0, "ReadCapacityUnits": 2.0}],
            (2, 4),
        ),
        ("query", [], (0, 0)),
    ],
)
def test_units_are_read_or_written(operation: str, consumed: Any, units: tuple[float, float]) -> None:
    usage = Consumption()
    usage.count_answer(operation, {"ConsumedCapacity": consumed})
    usage.count_answer(operation, {})

    assert (usage.read_units, usage.write_units) == units


def test_every_call_asks_for_its_units_and_they_are_summed(store: Store, table: Table) -> None:
    wire = Wire.of(table)
    usage = Consumption()
    request = table.within(20, usage=usage)
    request.commit([PUT])
    request.get([keys.pointer("x"), Key("p", "0")])
    list(request.query(keys.heads_range(GROUP)))
    request.delete([keys.pointer("x")])

    assert [one.body["ReturnConsumedCapacity"] for one in wire.requests] == ["TOTAL"] * 4
    assert usage.read_units > 0
    assert usage.write_units > 0


def test_parallel_calls_are_all_counted(table: Table) -> None:
    usage = Consumption()

    def count(_thread: int) -> None:
        for _ in range(500):
            usage.count_call(is_retry=True)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(count, range(8)))
    request = table.within(20, usage=usage)
    list(request.side_by_side(lambda at: request.get([Key("p", str(at))]), range(20)))

    assert (usage.calls, usage.retries) == (4020, 4000)


def test_each_request_counts_only_its_own_calls(table: Table) -> None:
    first, second = Consumption(), Consumption()
    one, other = table.within(20, usage=first), table.within(20, usage=second)
    one.get([Key("p", "0")])
    other.get([Key("p", "0")])
    one.get([Key("p", "1")])

    assert (first.calls, second.calls, table.connection.usage.calls) == (2, 1, 0)


def test_the_largest_tree_of_a_request_is_kept_as_bytes(table: Table) -> None:
    sizes = iter([[0.0, 1.0], [8.0, 9.0], [3.0, 4.0]])

    def measure(_request: Any, answer: dict[str, Any]) -> None:
        answer["ItemCollectionMetrics"] = {
            NAME: [{"ItemCollectionKey": {"PK": text(GROUP)}, "SizeEstimateRangeGB": next(sizes)}]
        }

    Wire.of(table).after(measure)
    usage = Consumption()
    request = table.within(20, usage=usage)
    seen = []
    for _ in range(3):
        request.commit([PUT])
        seen.append(usage.largest_tree_bytes)

    assert seen == [0, 8 << 30, 8 << 30]
    assert Consumption().largest_tree_bytes is None


@pytest.mark.parametrize(("ahead_ms", "expected"), [(OFFSET_MAX_MS + 5_000, 1), (OFFSET_MAX_MS - 5_000, 0)])
def test_a_head_far_ahead_of_the_clock_is_counted_once_and_its_ids_ascend(
    table: Table, ahead_ms: int, expected: int
) -> None:
    usage = Consumption()
    request = table.within(20, usage=usage)
    last = ids.fresh_id(system_ms() + ahead_ms, 0)
    after = request.mint(request.mint(last))

    assert after > last
    assert usage.heads_ahead == expected


@pytest.mark.failure("wrong-clock")
@pytest.mark.parametrize("minutes", [-5, 0, 5])
def test_the_clock_difference_is_counted(store: Store, minutes: int) -> None:
    """The difference from DynamoDB's `Date` header is a metric."""
    table = store.process(clock=Clock(lambda: system_ms() - minutes * 60_000))

    offset_ms = read(table).clock_offset_ms

    assert offset_ms is not None
    assert abs(offset_ms - minutes * 60_000) <= 2_000
    assert Consumption().clock_offset_ms is None
