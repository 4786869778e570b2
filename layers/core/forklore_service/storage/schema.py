"""The table: its keys and its indexes, as the arguments of `create_table` without the name.

template.yaml has the deployed table. A test compares the two.
"""

from collections.abc import Mapping
from typing import Any

PARTITION_KEY, SORT_KEY = "PK", "SK"
BY_CONVERSATION, ALL_TREES = "byConversation", "allTrees"
"""The index of each conversation's entries, and the index of all trees."""
ENTRY_SORT_KEY = "L1"
TREE_PARTITION_KEY, TREE_SORT_KEY = "G1", "G1S"
KEY_ATTRIBUTES = (PARTITION_KEY, SORT_KEY, ENTRY_SORT_KEY, TREE_PARTITION_KEY, TREE_SORT_KEY)
BY_MEANING = "byMeaning"
"""The index of vectors, which only a deployment with recall has."""
VECTOR, DIMENSIONS = "V", 256
"""The attribute that it compares, a list of so many whole numbers, and how many they are."""
SHELF = "shelf"
"""What its partitions are named by: the shelf on which a tree lies."""
VECTOR_TREE, VECTOR_CONVERSATION, VECTOR_MODEL = "g", "c", "m"
"""What a search in it can ask for alone. Vectors of two models are never compared."""


def _key(partition_key: str, sort_key: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition_key, "KeyType": "HASH"},
        {"AttributeName": sort_key, "KeyType": "RANGE"},
    ]


TABLE: Mapping[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in KEY_ATTRIBUTES],
    "KeySchema": _key(PARTITION_KEY, SORT_KEY),
    "LocalSecondaryIndexes": [
        {
            "IndexName": BY_CONVERSATION,
            "KeySchema": _key(PARTITION_KEY, ENTRY_SORT_KEY),
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": ALL_TREES,
            "KeySchema": _key(TREE_PARTITION_KEY, TREE_SORT_KEY),
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}
"""The arguments of `create_table` without TableName."""
_SEARCHED = [(SHELF, "HASH")] + [
    (name, "INLINE_FILTER") for name in (VECTOR_TREE, VECTOR_CONVERSATION, VECTOR_MODEL)
]
TABLE_BY_MEANING: Mapping[str, Any] = {
    **TABLE,
    "AttributeDefinitions": [
        *TABLE["AttributeDefinitions"],
        *({"AttributeName": name, "AttributeType": "S"} for name, _ in _SEARCHED),
    ],
    "VectorIndexes": [
        {
            "IndexName": BY_MEANING,
            "VectorAttribute": {"AttributeName": VECTOR},
            "SearchSchema": [
                {"AttributeName": name, "SearchSchemaElementType": part} for name, part in _SEARCHED
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
            "Dimensions": DIMENSIONS,
            "DistanceFunction": "COSINE",
        }
    ],
}
"""The same of a deployment with recall."""


def is_like(described: Mapping[str, Any]) -> bool:
    """Tell whether a table has these keys and indexes. described: as DescribeTable answers."""
    return _keys(described) == _keys(TABLE) and _indexes(described) >= _indexes(TABLE)


def _keys(table: Mapping[str, Any]) -> list[str]:
    return [part["AttributeName"] for part in table["KeySchema"]]


def _indexes(table: Mapping[str, Any]) -> set[str]:
    of_both = [*table.get("LocalSecondaryIndexes", []), *table.get("GlobalSecondaryIndexes", [])]
    return {index["IndexName"] for index in of_both}
