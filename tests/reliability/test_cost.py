"""The cost of operations, in rounds and units: within the limits, without unexplained growth."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from forklore.storage.connection import Item, make_client
from tests.reliability.service import new_store
from tools.bench import units
from tools.bench.cost import Row, rows_of
from tools.bench.growth import unexplained
from tools.bench.limits import MISSED, limits_of
from tools.bench.shapes import BASE, Shape

FULL = Shape(entries=200, forks=1)
"""A conversation that is long enough for a full page of every kind."""


def rows(endpoint: str, shape: Shape) -> Sequence[Row]:
    return list(rows_of(endpoint, shape, runs=0))


def test_every_operation_that_costs_more_than_its_limit_is_explained(endpoint: str) -> None:
    """For appends and pages, some limits are multiples of the minimum."""
    said = {row.name: text for row, _, text in limits_of(rows(endpoint, BASE)) if text}

    assert said == {name: f"**missed**: {missed.why}" for name, missed in MISSED.items()}


@pytest.mark.failure("deep-or-wide-tree", "no-time-left")
@pytest.mark.parametrize(("axis", "few", "many"), [("forks", 1, 60), ("entries", 200, 800), ("chain", 2, 12)])
def test_every_cost_that_grows_with_siblings_length_or_depth_is_explained(
    endpoint: str, axis: str, few: int, many: int
) -> None:
    """No request does unbounded work. Each explanation says how many more calls there are."""
    small_rows, large_rows = (rows(endpoint, replace(FULL, **{axis: at})) for at in (few, many))

    assert len(small_rows) == len(large_rows) > 40
    assert unexplained(axis, small_rows, large_rows) == []


def test_dynamodb_local_counts_reads_and_single_writes_as_the_benchmark_does(endpoint: str) -> None:
    """Checks the rules of bench.units where the emulator counts as AWS does: outside transactions.

    The emulator adds 100 bytes to each item in an index, as AWS does only for storage. No size here
    is so close to a limit that this matters.
    """
    with new_store(endpoint) as store:
        client = make_client(endpoint)
        sizes = (200, 1_000, 1_030, 4_800)
        entries: list[Item] = [
            {
                "PK": {"S": "tree"},
                "SK": {"S": f"{number}"},
                "L1": {"S": f"c#{number}"},
                "body": {"B": b"x" * size},
                "n": {"N": "-12345"},
                "map": {"M": {"a": {"S": "é"}}},
            }
            for number, size in enumerate(sizes)
        ]
        for entry in entries:
            put = client.put_item(TableName=store.name, Item=entry, ReturnConsumedCapacity="TOTAL")
            ours = units.units_of_write(None, entry, in_transaction=False)
            assert put["ConsumedCapacity"]["CapacityUnits"] == ours
        query = client.query(
            TableName=store.name,
            KeyConditionExpression="PK = :p",
            ExpressionAttributeValues={":p": {"S": "tree"}},
            ConsistentRead=True,
            ReturnConsumedCapacity="TOTAL",
        )
        ours_read = units.units_of_query(map(units.item_bytes, entries))
        assert query["ConsumedCapacity"]["CapacityUnits"] == ours_read
