"""The index of vectors, which answers SearchVectors: exact, and never behind.

A table of SQLite has the vectors beside the items, and is written in the transaction of the item. A
process keeps in memory what it has read of it, and reads on from there: a vector that is written
gets a new number. One that is gone is noticed when it is found.

Only whole numbers from -127 to 127 are known, because `storage` writes no others.

Sources: DynamoDB API reference, SearchVectors; what the makers of dynoxide captured of its
refusals.
"""

import json
import math
import re
import sqlite3
import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from operator import mul
from typing import Any, Final, NamedTuple

from forklore_local.embedded.expressions import Names, Values
from forklore_local.embedded.items import SEARCHED, Change, Place, numbers_in
from forklore_local.embedded.values import InvalidError, Value
from forklore_service.storage import schema
from forklore_service.storage.connection import Item

LAYOUT: Final = """\
CREATE TABLE IF NOT EXISTS vector (
    number INTEGER PRIMARY KEY AUTOINCREMENT, PK TEXT NOT NULL, SK TEXT NOT NULL,
    searched TEXT NOT NULL, numbers BLOB NOT NULL, UNIQUE (PK, SK)
);
CREATE TRIGGER IF NOT EXISTS vector_gone AFTER DELETE ON item
    BEGIN DELETE FROM vector WHERE PK = OLD.PK AND SK = OLD.SK; END;
"""
"""searched: the attributes that a search may ask for, as JSON."""
TOP_MAX = 100
BLOCK_MAX = 8_192
"""So many vectors lie side by side in memory, in 2 MB. What a search needs beside a block is small:
each thread keeps as much for the next time."""
AT_ONCE = 512
"""So many vectors are read, or compared, at a time. As numbers of 4 bytes they take half a MB."""
_ONE = re.compile(r"(#?\w+) = (:\w+)", re.ASCII)
_KEYS = (schema.PARTITION_KEY, schema.SORT_KEY)


# What the index holds


def write(connection: sqlite3.Connection, changes: Iterable[Change]) -> None:
    """Write the vectors of items that were written. An item without the HASH attribute has none."""
    for change in changes:
        item = change.after.item if change.after else {}
        if schema.VECTOR in item and schema.SHELF in item:
            searched = json.dumps({name: item[name]["S"] for name in SEARCHED if name in item})
            connection.execute(
                "INSERT OR REPLACE INTO vector (PK, SK, searched, numbers) VALUES (?, ?, ?, ?)",
                (*change.place, searched, numbers_in(item[schema.VECTOR])),
            )
        elif change.after and change.before and schema.VECTOR in change.before.item:
            connection.execute("DELETE FROM vector WHERE PK = ? AND SK = ?", change.place)


# What a search asks for


class Search(NamedTuple):
    """wanted: the attributes that a hit must have, as text."""

    wanted: Mapping[str, str]
    vector: bytes
    top: int


def search_of(
    index: str, vector: Sequence[Value], top: int, text: str, names: Names, values: Values
) -> Search:
    """Return what is searched for. text: the condition. Raises InvalidError."""
    if top < 1 or top > TOP_MAX:
        raise InvalidError(f"Provided TopK value '{top}' is out of valid range: 1 to {TOP_MAX} inclusive")
    pairs = [_ONE.fullmatch(one) for one in text.split(" AND ")]
    parts = [pair.groups() for pair in pairs if pair]
    if len(parts) < len(pairs):
        raise InvalidError("Invalid SearchConditionExpression: only = and AND are supported")
    wanted = {names.get(name, name): values.get(value, {}) for name, value in parts}
    if len(wanted) < len(parts):
        raise InvalidError("Invalid SearchConditionExpression: only one condition per attribute")
    if {name for part in parts for name in part if name[0] in "#:"} != {*names, *values}:
        raise InvalidError("a placeholder of an expression is not given, or is unused")
    if index != schema.BY_MEANING:
        raise InvalidError(f"The table does not have the specified index: {index}")
    if len(vector) != schema.DIMENSIONS:
        raise InvalidError(
            f"Input search vector dimension {len(vector)} does not match vector index dimension"
            f" {schema.DIMENSIONS}"
        )
    if not wanted.keys() <= {*SEARCHED}:
        raise InvalidError("Invalid SearchConditionExpression: an attribute is not in the search schema")
    if schema.SHELF not in wanted:
        raise InvalidError(f"Invalid SearchConditionExpression: it lacks the HASH attribute {schema.SHELF}")
    if any("S" not in value for value in wanted.values()):
        raise InvalidError("Invalid SearchConditionExpression: Type mismatch for attribute")
    return Search({name: value["S"] for name, value in wanted.items()}, numbers_in({"L": [*vector]}), top)


class Near(NamedTuple):
    """An item that was found, with the attributes that the index holds. distance: 0 to 2."""

    item: Item
    distance: float


# Searching


class Vectors:
    """What a process has read of the index. Any number of threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read = 0
        self._codes: dict[str, int] = {}
        self._blocks: list[_Block] = []

    def nearest(self, connection: sqlite3.Connection, search: Search) -> list[Near]:
        """Return the nearest items, the nearest first; of equals the newest."""
        with self._lock:
            while True:
                self._read_on(connection)
                wanted = {SEARCHED.index(name): self._codes.get(text) for name, text in search.wanted.items()}
                if None in wanted.values():
                    return []
                near = [one for block in self._blocks for one in block.nearest(search, wanted)]
                near = sorted(near, key=lambda one: (one[0], -one[1]))[: search.top]
                places = _places(connection, [number for _, number in near])
                gone = [number for _, number in near if number not in places]
                if not gone:
                    return [Near(_item(*places[number]), distance) for distance, number in near]
                for block in self._blocks:
                    block.drop(gone)

    def _read_on(self, connection: sqlite3.Connection) -> None:
        found = connection.execute(
            "SELECT number, searched, numbers FROM vector WHERE number > ? ORDER BY number", (self._read,)
        )
        while some := found.fetchmany(AT_ONCE):
            searched, codes = None, list[int]()
            for row in some:
                if row[1] != searched:
                    searched = row[1]
                    held = json.loads(searched)
                    texts = [held.get(name, "") for name in SEARCHED]
                    codes = [self._codes.setdefault(text, len(self._codes)) for text in texts]
                if not self._blocks or self._blocks[-1].is_full:
                    self._blocks.append(_block_type()())
                self._blocks[-1].add(row[0], codes, row[2])
            self._read = some[-1][0]


class _Block:
    """Some vectors, each with its number in the table and codes of what a search may ask for."""

    def __init__(self) -> None:
        self.numbers, self.codes, self.vectors = array("q"), array("i"), bytearray()

    @property
    def is_full(self) -> bool:
        return len(self.numbers) >= BLOCK_MAX

    def add(self, number: int, codes: Sequence[int], vector: bytes) -> None:
        self.numbers.append(number)
        self.codes.extend(codes)
        self.vectors += vector

    def drop(self, numbers: Iterable[int]) -> None:
        """Forget vectors."""
        for number in numbers:
            at = bisect_left(self.numbers, number)
            if self.numbers[at : at + 1] == array("q", [number]):
                width, size = len(SEARCHED), schema.DIMENSIONS
                del self.numbers[at], self.codes[width * at : width * (at + 1)]
                del self.vectors[size * at : size * (at + 1)]

    def nearest(self, search: Search, wanted: Mapping[int, int | None]) -> list[tuple[float, int]]:
        """Return how far the nearest vectors are, with their numbers. wanted: codes, by place."""
        asked, all_of_it = array("b", search.vector), array("b", bytes(self.vectors))
        length, size = math.hypot(*asked), schema.DIMENSIONS
        far = []
        for at, number in enumerate(self.numbers):
            codes = self.codes[len(SEARCHED) * at : len(SEARCHED) * (at + 1)]
            if all(codes[place] == code for place, code in wanted.items()):
                one = all_of_it[size * at : size * (at + 1)]
                far.append((1 - sum(map(mul, asked, one)) / (math.hypot(*one) * length or 1), -number))
        return [(distance, -number) for distance, number in sorted(far)[: search.top]]


class _NumpyBlock(_Block):
    """The same with numpy. Products are exact, also as numbers of 4 bytes."""

    _known_lengths: Any = ()

    def nearest(self, search: Search, wanted: Mapping[int, int | None]) -> list[tuple[float, int]]:
        import numpy as np

        codes = np.frombuffer(self.codes, "int32").reshape(-1, len(SEARCHED))
        chosen = np.ones(len(codes), "bool")
        for place, code in wanted.items():
            chosen &= codes[:, place] == code
        numbers, lengths = np.frombuffer(self.numbers, "int64")[chosen], self._lengths()[chosen]
        asked = np.frombuffer(search.vector, "int8").astype("float32")
        products = self._products(asked, None if chosen.all() else np.flatnonzero(chosen))
        far = 1 - products.astype("float64") / (lengths * (math.hypot(*asked.tolist()) or 1))
        if len(far) > search.top:
            near = np.flatnonzero(far <= np.partition(far, search.top - 1)[search.top - 1])
            far, numbers = far[near], numbers[near]
        order = np.lexsort((-numbers, far))[: search.top]
        return [*zip(far[order].tolist(), numbers[order].tolist(), strict=True)]

    def drop(self, numbers: Iterable[int]) -> None:
        super().drop(numbers)
        self._known_lengths = ()

    def _products(self, asked: Any, places: Any) -> Any:
        """Return the product of a vector and each of those at some places; None: of all."""
        import numpy as np

        whole = np.frombuffer(self.vectors, "int8").reshape(-1, schema.DIMENSIONS)
        products = np.empty(len(whole if places is None else places), "float32")
        wide = np.empty((AT_ONCE, schema.DIMENSIONS), "float32")
        for at in range(0, len(products), AT_ONCE):
            some = slice(at, at + AT_ONCE)
            part = whole[some if places is None else places[some]]
            wide[: len(part)] = part
            # `@` would use all cores
            np.einsum("ij,j->i", wide[: len(part)], asked, out=products[some])
        return products

    def _lengths(self) -> Any:
        """Return the length of each vector; 1 of one without a direction."""
        import numpy as np

        known = len(self._known_lengths)
        for at in range(known, len(self.numbers), AT_ONCE):
            some = self.vectors[at * schema.DIMENSIONS : (at + AT_ONCE) * schema.DIMENSIONS]
            wide = np.frombuffer(some, "int8").reshape(-1, schema.DIMENSIONS).astype("float32")
            lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide).astype("float64"))
            self._known_lengths = np.append(self._known_lengths, np.where(lengths == 0, 1, lengths))
        return self._known_lengths


def _block_type() -> type[_Block]:
    """Return what holds vectors. numpy takes 15 MB, so it is loaded when there is one to search."""
    try:
        import numpy as np  # noqa: F401 (whether it is there)
    except ModuleNotFoundError:
        return _Block
    return _NumpyBlock


def _places(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, tuple[Place, str]]:
    found = connection.execute(
        "SELECT number, PK, SK, searched FROM vector WHERE number IN (SELECT value FROM json_each(?))",
        (json.dumps(numbers),),
    )
    return {number: ((partition, sort), searched) for number, partition, sort, searched in found}


def _item(place: Place, searched: str) -> Item:
    """Return what the index holds of an item: its keys, and what a search may ask for."""
    held = {**dict(zip(_KEYS, place, strict=True)), **json.loads(searched)}
    return {name: {"S": text} for name, text in held.items()}
