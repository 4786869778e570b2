"""What operations cost, in rounds and units: what tools/bench/costs.txt says, and nothing else."""

import pytest

from forklore_service.storage.clients import make_client
from forklore_service.storage.connection import Item
from tests.service.reliability.service import Endpoint, new_store
from tools.bench import costs, units


@pytest.mark.failure("deep-or-wide-tree", "no-time-left")
@pytest.mark.parametrize("name", list(costs.SHAPES))
def test_each_operation_costs_what_is_accepted_on_long_wide_and_deep_trees(
    endpoint: Endpoint, name: str
) -> None:
    """No request does unbounded work: what grows along a row of the table is seen there."""
    measured = costs.costs_of(endpoint, costs.SHAPES[name])

    assert len(measured) > 70
    assert costs.differing(measured, costs.accepted(costs.ACCEPTED.read_text())[name]) == []


def test_dynamodb_local_counts_reads_and_single_writes_as_the_benchmark_does(
    dynamodb_local_endpoint: str,
) -> None:
    """Checks the rules of bench.units where the emulator counts as AWS does: outside transactions.

    The emulator adds 100 bytes to each item in an index, as AWS does only for storage. No size here
    is so close to a limit that this matters.
    """
    with new_store(dynamodb_local_endpoint) as store:
        client = make_client(dynamodb_local_endpoint)
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
