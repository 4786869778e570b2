"""What operations cost, in rounds and units: no more than bench/limits.py says, and no unexplained growth."""

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
"""Long enough for a full page of every kind."""


def rows(endpoint: str, shape: Shape) -> Sequence[Row]:
    return list(rows_of(endpoint, shape, runs=0))


def test_no_operation_costs_more_than_its_limit_but_those_that_are_explained(endpoint: str) -> None:
    """The limits include multiples of the floor, for appends and pages."""
    said = {row.name: text for row, _, text in limits_of(rows(endpoint, BASE)) if text}

    assert said == {name: f"**missed**: {missed.why}" for name, missed in MISSED.items()}


@pytest.mark.failure("deep-or-wide-tree", "no-time-left")
@pytest.mark.parametrize(("axis", "few", "many"), [("forks", 1, 60), ("entries", 200, 800), ("chain", 2, 12)])
def test_costs_do_not_grow_with_siblings_length_or_depth_but_where_it_is_explained(
    endpoint: str, axis: str, few: int, many: int
) -> None:
    """No request does unbounded work. Each reason for more calls says how many more."""
    small_rows, large_rows = (rows(endpoint, replace(FULL, **{axis: at})) for at in (few, many))

    assert len(small_rows) == len(large_rows) > 40
    assert unexplained(axis, small_rows, large_rows) == []


def test_dynamodb_local_counts_reads_and_single_writes_as_we_do(endpoint: str) -> None:
    """The rules of bench.units where the emulator follows AWS's: outside of transactions.

    It adds 100 bytes to what an index holds, as AWS does for storage; no size here lies so near to a bound.
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
