"""Capacity units, computed from items by AWS's rules.

The emulators' own figures are not used, because they count transactions wrong.

Source: DynamoDB developer guide, "Item sizes and formats", "Capacity unit consumption for read and
write operations", "Local secondary indexes: provisioned throughput considerations" and
"Transactions: capacity".
"""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

from forklore_service.storage.connection import Item

READ_BYTES, WRITE_BYTES = 4096, 1024
"""How many bytes a unit reads at most, strongly consistent, and how many a unit writes."""
IN_TRANSACTION = 2
"""A transaction writes every item twice: it prepares the item, then commits it.

AWS does not say whether the copies in indexes are written twice, too. This assumes that they are.
The authors of dynoxide have measured on AWS that they are written once."""
CONTAINER_BYTES, MEMBER_BYTES = 3, 1
"""How many bytes a list or map takes for itself, and for each of its members."""
_INDEXES: Mapping[str, bool] = {"L1": True, "G1": False}
"""For each index, its sort or partition key, and whether the index holds all attributes."""
_KEYS = ("PK", "SK", "G1", "G1S")


def item_bytes(item: Item) -> int:
    """Return an item's size in bytes: the UTF-8 names of its attributes, and their values.

    >>> item_bytes({"PK": {"S": "é"}, "n": {"N": "1024"}})
    8
    """
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: Mapping[str, Any]) -> int:
    [(kind, held)] = value.items()
    match kind:
        case "S":
            return len(str(held).encode())
        case "B":
            return len(bytes(held))
        case "N":
            digits = str(held).lstrip("-").strip("0")
            return ceil(len(digits) / 2) + 1 + str(held).startswith("-")
        case "M":
            members = sum(len(name.encode()) + _value_bytes(one) + MEMBER_BYTES for name, one in held.items())
            return CONTAINER_BYTES + members
        case "L":
            return CONTAINER_BYTES + sum(_value_bytes(one) + MEMBER_BYTES for one in held)
        case "BOOL" | "NULL":
            return 1
        case _:
            raise ValueError(f"forklore writes no {kind}")


def units_of_query(sizes: Iterable[int], *, is_consistent: bool = True) -> float:
    """Return the read units of a Query that reads items of these sizes.

    The sizes are added up first.
    """
    return max(1, ceil(sum(sizes) / READ_BYTES)) * (1 if is_consistent else 0.5)


def units_of_get(size: int) -> int:
    """Return the read units of one item, alone or in a batch. size 0: there is no such item."""
    return max(1, ceil(size / READ_BYTES))


def units_of_write(before: Item | None, after: Item | None, *, in_transaction: bool) -> int:
    """Return the write units of one item and of its copies in indexes.

    before, after: the item before and after the write; None: there is none. They are the same for a
    condition check.
    """
    size = max(item_bytes(one) if one else 0 for one in (before, after))
    times = IN_TRANSACTION if in_transaction else 1
    units = times * max(1, ceil(size / WRITE_BYTES))
    for attribute, holds_all in _INDEXES.items():
        was, now = (_copy(one, attribute, holds_all) for one in (before, after))
        units += times * _units_of_copy(was, now, attribute)
    return units


def _copy(item: Item | None, attribute: str, holds_all: bool) -> Item | None:
    if item is None or attribute not in item:
        return None
    return item if holds_all else {name: item[name] for name in _KEYS if name in item}


def _units_of_copy(before: Item | None, after: Item | None, attribute: str) -> int:
    """Return the write units of a copy: 0 if it does not change, two writes if its key changes."""
    if before == after:
        return 0
    written = [ceil(item_bytes(one) / WRITE_BYTES) for one in (before, after) if one is not None]
    moved = before is not None and after is not None and before[attribute] != after[attribute]
    return sum(written) if moved else max(written)
