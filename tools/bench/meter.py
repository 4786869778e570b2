"""Measures the requests of a process to DynamoDB: rounds and capacity units."""

import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from forklore_service.domain.keys import Key
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.table import Table
from tools.bench import units
from tools.harness.tables import Store
from tools.harness.wire import Request, Wire

WRITES = ("Put", "Update", "Delete", "ConditionCheck")
KEYS_AT_ONCE = 100
"""DynamoDB's own limit for BatchGetItem."""


@dataclass
class Cost:
    """What an operation costs. rounds: the longest chain of requests that had to wait.

    searches: of the index of vectors, which are billed by what they examine, and not in units.
    """

    requests: int = 0
    rounds: int = 0
    read_units: float = 0.0
    write_units: int = 0
    searches: int = 0

    def __str__(self) -> str:
        return f"{self.rounds} / {self.read_units:g} / {self.write_units}"


class Meter:
    """Counts the requests of a process, and reads the table before and after each write."""

    def __init__(self, store: Store, table: Table) -> None:
        self._store = store
        self._cost = Cost()
        self._lock = threading.Lock()
        self._wire = Wire.of(table)
        self._wire.before(self._leaves)
        self._wire.after(self._arrives)

    def begin(self) -> None:
        """Start counting."""
        self._cost = Cost()
        self._wire.clear()

    def end(self) -> Cost:
        """Return the cost since `begin`."""
        cost, self._cost = self._cost, Cost()
        cost.requests, cost.rounds = len(self._wire.requests), self._wire.rounds
        cost.searches = self._wire.operations.count("SearchVectors")
        return cost

    def _leaves(self, request: Request) -> None:
        request.scratch["before"] = self._look(_written(request))

    def _arrives(self, request: Request, parsed: dict[str, Any]) -> None:
        assert "Error" not in parsed, f"{request.operation}: {parsed['Error']}"
        match request.operation:
            case "Query":
                self._count_query(request, parsed["Items"])
            case "BatchGetItem":
                self._count_batch(request, parsed)
            case "TransactWriteItems" | "BatchWriteItem" | "UpdateItem" | "PutItem":
                self._count_writes(request)
            case "SearchVectors":
                pass
            case other:
                raise NotImplementedError(other)

    def _count_query(self, request: Request, shown: list[Item]) -> None:
        is_consistent = request.body.get("ConsistentRead", False)
        # A Query is charged for whole items, whatever it returns of them.
        read = self._look(map(items.key, shown)).values() if is_consistent else shown
        self._add(read_units=units.units_of_query(map(_size, read), is_consistent=is_consistent))

    def _count_batch(self, request: Request, parsed: dict[str, Any]) -> None:
        [asked] = request.body["RequestItems"].values()
        found = {items.key(item): item for item in parsed["Responses"][self._store.name]}
        keys = map(items.key, asked["Keys"])
        self._add(read_units=sum(units.units_of_get(_size(found.get(key))) for key in keys))

    def _count_writes(self, request: Request) -> None:
        before = request.scratch["before"]
        after = self._look(before)
        in_transaction = request.operation == "TransactWriteItems"
        self._add(
            write_units=sum(
                units.units_of_write(before[key], after[key], in_transaction=in_transaction) for key in before
            )
        )

    def _add(self, *, read_units: float = 0.0, write_units: int = 0) -> None:
        with self._lock:  # requests may overlap
            self._cost.read_units += read_units
            self._cost.write_units += write_units

    def _look(self, wanted: Iterable[Key]) -> dict[Key, Item | None]:
        """Return the items as they are now, in the order of the keys.

        None: there is no such item.
        """
        found: dict[Key, Item | None] = dict.fromkeys(wanted)
        keys, name = list(found), self._store.name
        for at in range(0, len(keys), KEYS_AT_ONCE):
            left = {
                "Keys": [items.key_of(key) for key in keys[at : at + KEYS_AT_ONCE]],
                "ConsistentRead": True,
            }
            while left:
                answer = self._store.client.batch_get_item(RequestItems={name: left})
                found |= {items.key(item): item for item in answer["Responses"][name]}
                left = answer["UnprocessedKeys"].get(name, {})
        return found


def _size(item: Item | None) -> int:
    return units.item_bytes(item) if item else 0


def _written(request: Request) -> list[Key]:
    """Return the keys that a request writes or checks."""
    if request.operation == "BatchWriteItem":
        [asked] = request.body["RequestItems"].values()
        return [items.key(one["DeleteRequest"]["Key"]) for one in asked]
    if request.operation == "UpdateItem":
        return [items.key(request.body["Key"])]
    if request.operation == "PutItem":
        return [items.key(request.body["Item"])]
    parts = [(kind, part[kind]) for part in request.body.get("TransactItems", []) for kind in part]
    assert all(kind in WRITES for kind, _ in parts), json.dumps([kind for kind, _ in parts])
    return [items.key(part["Item"] if kind == "Put" else part["Key"]) for kind, part in parts]
