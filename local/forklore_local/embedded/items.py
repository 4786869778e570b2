"""The items of the one table: which of them it can hold, and where they lie.

Source: DynamoDB developer guide, "Constraints" and "Local secondary indexes".
"""

from collections.abc import Collection
from typing import NamedTuple

from forklore_local.embedded.values import ITEM_BYTES_MAX, InvalidError, Value, checked_values, text_bytes
from forklore_service.storage import schema
from forklore_service.storage.connection import Item

KEY_BYTES_MAX = {
    schema.PARTITION_KEY: 2048,
    schema.SORT_KEY: 1024,
    schema.ENTRY_SORT_KEY: 1024,
    schema.TREE_PARTITION_KEY: 2048,
    schema.TREE_SORT_KEY: 1024,
}
"""The keys of the table and of its indexes."""
_KEY = {schema.PARTITION_KEY, schema.SORT_KEY}
_INDEX_KEYS = (schema.ENTRY_SORT_KEY, schema.TREE_PARTITION_KEY, schema.TREE_SORT_KEY)
SEARCHED = [
    part["AttributeName"]
    for index in schema.TABLE_BY_MEANING["VectorIndexes"]
    for part in index["SearchSchema"]
]
"""What a search in the index of vectors can ask for."""
_BYTES = {str(number): number & 0xFF for number in range(-128, 128)}
"""The byte of each number that a vector may have."""

Place = tuple[str, str]
"""The partition key and the sort key of an item."""


class Found(NamedTuple):
    """An item and its size."""

    item: Item
    size: int


class Change(NamedTuple):
    """An item before and after a write. None: there is none.

    What is deleted whatever it is may stand there as None, too.
    """

    place: Place
    before: Found | None
    after: Found | None

    @property
    def is_one(self) -> bool:
        """Whether the write has changed the item."""
        return self.before != self.after


def checked(item: Item) -> Found:
    """Return an item as DynamoDB keeps it, with its size in bytes. Its keys are not looked at.

    Raises InvalidError.
    """
    return _bounded(Found(*checked_values(item)))


def _bounded(found: Found) -> Found:
    if found.size > ITEM_BYTES_MAX:
        raise InvalidError("Item size has exceeded the maximum allowed size")
    return found


def checked_change(before: Found, item: Item, names: Collection[str]) -> Found:
    """Return what an update has made of an item, as `checked` does.

    names: the attributes that it changes. Only these are checked: the others are as they were.
    """
    kept, size = checked_values({name: item[name] for name in names if name in item})
    _, gone = checked_values({name: before.item[name] for name in names if name in before.item})
    return _bounded(Found({**item, **kept}, before.size - gone + size))


def require_indexed(found: Found) -> None:
    """Raise InvalidError if an index cannot hold the item."""
    if schema.ENTRY_SORT_KEY in found.item and 2 * found.size > ITEM_BYTES_MAX:
        raise InvalidError("Item size with its copy in the local index has exceeded the maximum size")
    for name in _INDEX_KEYS:
        if name in found.item:
            key_of(found.item, name)
    for name in SEARCHED:
        if name in found.item and schema.VECTOR in found.item and "S" not in found.item[name]:
            raise InvalidError(f"One or more parameter values were invalid: Type mismatch for {name}")
    if schema.VECTOR in found.item:
        numbers_in(found.item[schema.VECTOR])


def numbers_in(value: Value) -> bytes:
    """Return a vector as its index keeps it: a byte for each number. Raises InvalidError."""
    held = value.get("L")
    if held is None:
        raise InvalidError(f"Invalid type for parameter {schema.VECTOR}, Expected: number list")
    if len(held) != schema.DIMENSIONS:
        raise InvalidError(
            f"Invalid size for parameter {schema.VECTOR}, Expected: {schema.DIMENSIONS}, Actual: {len(held)}"
        )
    try:
        return bytes([_BYTES[one["N"]] for one in held])
    except KeyError as error:
        raise InvalidError("a vector here has whole numbers of one byte only") from error


def place_named(key: Item) -> Place:
    """Return the place that a key names. Raises InvalidError."""
    if key.keys() != _KEY:
        raise InvalidError("The provided key element does not match the schema")
    return place_of(key)


def place_of(item: Item) -> Place:
    """Return where an item lies. Raises InvalidError."""
    return key_of(item, schema.PARTITION_KEY), key_of(item, schema.SORT_KEY)


def key_of(item: Item, name: str) -> str:
    """Return a key of an item, or of an index. Raises InvalidError if it cannot be one."""
    held = item.get(name)
    text = held.get("S") if held else None
    if type(text) is str and 0 < len(text) <= KEY_BYTES_MAX[name] and text.isascii():
        return text  # as nearly every key is
    if not isinstance(text, str) or not 0 < text_bytes(text) <= KEY_BYTES_MAX[name]:
        raise InvalidError(f"One or more parameter values were invalid: key {name}")
    return text


def text_of(value: Value) -> str:
    """Return a text that is compared with a partition key. Raises InvalidError."""
    text = value.get("S")
    if not isinstance(text, str) or not text:
        raise InvalidError("One or more parameter values were invalid: a key is a text, and not empty")
    return text
