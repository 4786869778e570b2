"""Items as rows of SQLite: found, written, and read in the order of the table or of an index."""

import json
import sqlite3
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from forklore_local.embedded.capacity import TREE_KEYS
from forklore_local.embedded.database import DamagedRowError
from forklore_local.embedded.items import Change, Found, Place, checked, key_of, place_of
from forklore_local.embedded.values import InvalidError, Value, checked_values
from forklore_local.embedded.vectors import LAYOUT as VECTORS
from forklore_service.storage import schema
from forklore_service.storage.connection import Item

TTL = "ttl"
"""The attribute with the second from which on an item is not needed any more."""
TTL_MAX = 1 << 40
PAGE_BYTES_MAX = 1 << 20
LAYOUT = f"""\
CREATE TABLE item (
    PK TEXT NOT NULL, SK TEXT NOT NULL, L1 TEXT, G1 TEXT, G1S TEXT, ttl INTEGER,
    size INTEGER NOT NULL, attributes TEXT NOT NULL, PRIMARY KEY (PK, SK)
) WITHOUT ROWID;
CREATE UNIQUE INDEX {schema.BY_CONVERSATION} ON item (PK, L1, SK) WHERE L1 IS NOT NULL;
CREATE UNIQUE INDEX {schema.ALL_TREES} ON item (G1, G1S, PK, SK) WHERE G1 IS NOT NULL;
CREATE INDEX expiry ON item (ttl) WHERE ttl IS NOT NULL;
{VECTORS}"""
"""The keys of the table and of its indexes stand in columns, the whole item as JSON in another."""
PUT = "INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM item WHERE PK = ? AND SK = ?"
_SCAN = "SELECT size, attributes FROM item WHERE (PK, SK) > (?, ?) ORDER BY PK, SK LIMIT ?"


def find(connection: sqlite3.Connection, places: Sequence[Place]) -> dict[Place, Found]:
    """Return the items that exist at some places, from one statement."""
    if not places:
        return {}
    rows = connection.execute(_find(len(places)), list(chain.from_iterable(places)))
    return {(partition, sort): Found(item_in(text), size) for partition, sort, size, text in rows}


@cache
def _find(count: int) -> str:
    """Return the statement that finds so many places. With `IN`, SQLite would read all rows."""
    values = ", ".join(["(?, ?)"] * count)
    return (
        f"WITH place (partition, sort) AS (VALUES {values})"  # nosec B608 # question marks
        " SELECT PK, SK, size, attributes FROM place CROSS JOIN item ON PK = partition AND SK = sort"
    )


def write(connection: sqlite3.Connection, changes: Sequence[Change]) -> None:
    """Write what changes have made of their items."""
    rows = [_row(change.place, change.after) for change in changes if change.after and change.is_one]
    connection.executemany(_DELETE, [change.place for change in changes if change.after is None])
    connection.executemany(PUT, rows)


def count(connection: sqlite3.Connection) -> int:
    [(number,)] = connection.execute("SELECT count(*) FROM item")
    return int(number)


def has_expired(connection: sqlite3.Connection, now_s: int) -> bool:
    """Tell whether the time of any item is over."""
    return connection.execute("SELECT 1 FROM item WHERE ttl <= ? LIMIT 1", (now_s,)).fetchone() is not None


def delete_expired(connection: sqlite3.Connection, now_s: int) -> None:
    """Delete the items whose time is over."""
    connection.execute("DELETE FROM item WHERE ttl <= ?", (now_s,))


# Pages


class Page(NamedTuple):
    """Some items in their order, and their size together."""

    items: list[Found]
    size: int
    has_more: bool


class Index(NamedTuple):
    """The table or one of its indexes: the keys that order it."""

    partition: str
    sort: str
    more: tuple[str, ...] = ()
    holds_keys_only: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.partition, self.sort, *self.more)

    def start(self, key: Item, partition: str, first: str, last: str, is_forward: bool) -> tuple[str, ...]:
        """Return the values of a start key that order the items. Raises InvalidError."""
        if set(key) != set(self.keys):
            raise InvalidError("The provided starting key is invalid")
        held = {name: key_of(key, name) for name in self.keys}
        sort = held[self.sort]
        is_inside = first <= sort < last if is_forward else first < sort <= last
        if held[self.partition] != partition or not is_inside:
            raise InvalidError("The provided starting key is outside query boundaries")
        return tuple(held[name] for name in (self.sort, *self.more))

    def page(
        self,
        connection: sqlite3.Connection,
        partition: str,
        first: str,
        last: str,
        after: tuple[str, ...] | None,
        is_forward: bool,
        limit: int | None,
        *,
        only_keys: bool = False,
    ) -> Page:
        """Return the first page of a range, or the one after a key.

        only_keys: of each item its keys in the table and in the index. Its size is that of all.
        """
        order = (self.sort, *self.more)
        way, sign = ("ASC", ">") if is_forward else ("DESC", "<")
        follows = f" AND ({', '.join(order)}) {sign} ({', '.join('?' * len(order))})" if after else ""
        columns: Sequence[str]
        read: Callable[[Any], Found]
        if self.holds_keys_only:
            columns, read = TREE_KEYS, _keys_only
        elif only_keys:
            columns, read = ("size", *self.keys), self._keys_of
        else:
            columns, read = ("size", "attributes"), _whole
        rows = connection.execute(
            f"SELECT {', '.join(columns)} FROM item WHERE {self.partition} = ?"  # nosec B608 # names of ours
            f" AND {self.sort} >= ? AND {self.sort} <= ?{follows}"
            f" ORDER BY {', '.join(f'{name} {way}' for name in order)} LIMIT ?",
            (partition, first, last, *(after or ()), -1 if limit is None else limit),
        )
        return _page(rows, read, limit)

    def _keys_of(self, row: Sequence[Any]) -> Found:
        size, *texts = row
        return Found({name: {"S": text} for name, text in zip(self.keys, texts, strict=True)}, size)


INDEXES: Mapping[str | None, Index] = {
    None: Index("PK", "SK"),
    schema.BY_CONVERSATION: Index("PK", "L1", ("SK",)),
    schema.ALL_TREES: Index("G1", "G1S", ("PK", "SK"), holds_keys_only=True),
}


def scanned(connection: sqlite3.Connection, after: Place, limit: int | None) -> Page:
    """Return the page of all items that comes after a place."""
    rows = connection.execute(_SCAN, (*after, -1 if limit is None else limit))
    return _page(rows, _whole, limit)


def _page(rows: sqlite3.Cursor, read: Callable[[Any], Found], limit: int | None) -> Page:
    """Return the items of a page, which ends before 1 MB is exceeded."""
    found: list[Found] = []
    size = 0
    for row in rows:
        one = read(row)
        if found and size + one.size > PAGE_BYTES_MAX:
            rows.close()
            return Page(found, size, has_more=True)
        found.append(one)
        size += one.size
    return Page(found, size, has_more=limit is not None and len(found) == limit)


def _whole(row: tuple[int, str]) -> Found:
    return Found(item_in(row[1]), row[0])


def _keys_only(row: Iterable[str]) -> Found:
    copy = {name: {"S": text} for name, text in zip(TREE_KEYS, row, strict=True)}
    return Found(*checked_values(copy))


# Rows


def item_in(text: str) -> Item:
    """Return an item of its text. Raises DamagedRowError."""
    item: Item
    try:
        item, end = _decode(text)
        if end < len(text) or type(item) is not dict:
            raise DamagedRowError
        if '"B' in text:
            for name, value in item.items():
                if "B" in value:
                    item[name] = {"B": a2b_base64(value["B"])}
                elif "S" not in value and name != schema.VECTOR:  # which has numbers only
                    item[name] = _with_bytes(value)
    except (AttributeError, RecursionError, TypeError, ValueError):
        raise DamagedRowError from None
    return item


def place_in(text: bytes) -> Place:
    """Return the place that the text of a row names. Raises DamagedRowError if it holds no item."""
    try:
        return place_of(item_in(text.decode()))
    except (AttributeError, InvalidError, UnicodeDecodeError):
        raise DamagedRowError from None


def _with_bytes(value: Value) -> Value:
    [(kind, held)] = value.items()
    match kind:
        case "B":
            return {"B": a2b_base64(held)}
        case "BS":
            return {"BS": [a2b_base64(one) for one in held]}
        case "L":
            return {"L": [_with_bytes(one) for one in held]}
        case "M":
            return {"M": {name: _with_bytes(one) for name, one in held.items()}}
    return value


def to_text(value: object) -> str:
    """Return values as JSON; bytes are in base64."""
    return _ENCODER.encode(value)


def _base64(value: bytes) -> str:
    return b2a_base64(value, newline=False).decode("ascii")


_decode = json.JSONDecoder().raw_decode
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_base64)
_COLUMNS = (schema.ENTRY_SORT_KEY, schema.TREE_PARTITION_KEY, schema.TREE_SORT_KEY)


def _row(place: Place, found: Found) -> tuple[Any, ...]:
    item = found.item
    entry, tree, sort = (item[name]["S"] if name in item else None for name in _COLUMNS)
    if tree is None or sort is None:  # the index holds the items that have both
        tree = sort = None
    expiry = item.get(TTL, {}).get("N")
    ttl = None if expiry is None else min(float(expiry), float(TTL_MAX))
    return (*place, entry, tree, sort, ttl, found.size, to_text(item))


def row_of(stored: Item) -> tuple[Any, ...]:
    """Return the row of an item whose bytes are in base64, as an earlier format has it.

    Raises KeyError, TypeError, ValueError for what is no item.
    """
    try:
        found = checked({name: _with_bytes(value) for name, value in stored.items()})
        return _row(place_of(found.item), found)
    except InvalidError as error:
        raise ValueError(str(error)) from error
