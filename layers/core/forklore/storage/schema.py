"""The table: its keys and its two indexes, as the arguments of `create_table` without the name.

template.yaml has the deployed table. A test compares the two.
"""

from collections.abc import Mapping
from typing import Any

PARTITION_KEY, SORT_KEY = "PK", "SK"
BY_CONVERSATION, ALL_TREES = "byConversation", "allTrees"


def _key(partition_key: str, sort_key: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition_key, "KeyType": "HASH"},
        {"AttributeName": sort_key, "KeyType": "RANGE"},
    ]


TABLE: Mapping[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in (PARTITION_KEY, SORT_KEY, "L1", "G1", "G1S")
    ],
    "KeySchema": _key(PARTITION_KEY, SORT_KEY),
    "LocalSecondaryIndexes": [
        {
            "IndexName": BY_CONVERSATION,
            "KeySchema": _key(PARTITION_KEY, "L1"),
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": ALL_TREES,
            "KeySchema": _key("G1", "G1S"),
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}
"""The arguments of `create_table` without TableName."""
