"""Capacity units, by AWS's rules.

Sources: DynamoDB developer guide, "DynamoDB throughput capacity", "Local secondary indexes:
provisioned throughput considerations", and "Amazon DynamoDB Transactions: How it works".
"""

from collections.abc import Iterable, Mapping
from typing import Any

from forklore_local.embedded.values import text_bytes
from forklore_service.storage import schema
from forklore_service.storage.connection import Item

READ_BYTES, WRITE_BYTES = 4096, 1024
"""How many bytes a unit reads at most, strongly consistent, and how many a unit writes."""
IN_TRANSACTION = 2
"""A transaction writes every item twice: it prepares the item, then commits it."""
TREE_KEYS = (
    schema.PARTITION_KEY,
    schema.SORT_KEY,
    schema.TREE_PARTITION_KEY,
    schema.TREE_SORT_KEY,
)
"""What the index of all trees holds of an item."""


def units_to_read(size: int, *, is_consistent: bool) -> float:
    """Return the units of one item, or of all items that a Query reads."""
    return max(1, -(-size // READ_BYTES)) * (1.0 if is_consistent else 0.5)


def units_to_write(before: Item | None, after: Item | None, sizes: tuple[int, int], *, times: int) -> float:
    """Return the units of one item and of its copies in the two indexes.

    before, after, sizes: the item before and after, and its bytes. They are the same for a check.
    times: 1 or IN_TRANSACTION.
    """
    units = times * max(1, _units(max(sizes)))
    entry, tree = schema.ENTRY_SORT_KEY, schema.TREE_PARTITION_KEY
    if (before and entry in before) or (after and entry in after):
        was, now = (one if one and entry in one else None for one in (before, after))
        units += times * _units_of_copy(was, now, sizes, {entry})
    if (before and tree in before) or (after and tree in after):
        was, now = tree_copy(before), tree_copy(after)
        units += times * _units_of_copy(was, now, (_key_bytes(was), _key_bytes(now)), TREE_KEYS)
    return float(units)


def bytes_to_search(top: int) -> dict[str, float]:
    """Return what a search for so many vectors consumes, as AWS's own calculator bounds it.

    Source: aws/agent-toolkit-for-aws, the costs of a vector search of DynamoDB.
    """
    return {"VectorSearchRequestBytes": float(round(1.5 * (20.7 * schema.DIMENSIONS + 89 * top)))}


def tree_copy(item: Item | None) -> Item | None:
    """Return what the index of all trees holds of an item; None if it is not there."""
    if item is None or not all(name in item for name in TREE_KEYS):
        return None
    return {name: item[name] for name in TREE_KEYS}


def _units(size: int) -> int:
    return -(-size // WRITE_BYTES)


def _units_of_copy(
    before: Item | None, after: Item | None, sizes: tuple[int, int], keys: Iterable[str]
) -> int:
    """Return the units of a copy: 0 if it does not change, two writes if its key changes."""
    if before == after:
        return 0
    written = [_units(size) for one, size in zip((before, after), sizes, strict=True) if one is not None]
    moved = before is not None and after is not None and any(before[key] != after[key] for key in keys)
    return sum(written) if moved else max(written)


def _key_bytes(item: Mapping[str, Mapping[str, Any]] | None) -> int:
    return sum(text_bytes(name) + text_bytes(value["S"]) for name, value in (item or {}).items())
