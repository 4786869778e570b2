"""Measures the requests of a process to DynamoDB: rounds, bytes and capacity units."""

import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from forklore.domain.keys import Key
from forklore.fsck.shapes import Kind, kind_of
from forklore.storage import items
from forklore.storage.connection import Item
from forklore.storage.table import Table
from tools.bench import units
from tools.harness.tables import Store
from tools.harness.wire import Request, Wire

WRITES = ("Put", "Update", "Delete", "ConditionCheck")
KEYS_AT_ONCE = 100
"""DynamoDB's own limit for BatchGetItem."""


@dataclass(frozen=True)
class Touched:
    """An item that a call read or wrote.

    before, after: the item before and after the call; None: there was none. They are the same for a
    read.
    """

    key: Key
    before: Item | None
    after: Item | None
    is_write: bool

    @property
    def kind(self) -> Kind | None:
        return kind_of(self.key)

    @property
    def size(self) -> int:
        """Its size in bytes when it was read."""
        return units.item_bytes(self.after) if self.after else 0


@dataclass
class Cost:
    """What an operation costs.

    rounds: the longest chain of requests that had to wait for one another. sent, received: bytes.
    write_units_once: the write units if a transaction writes the copies in indexes once (units.py).
    """

    requests: int = 0
    rounds: int = 0
    read_units: float = 0.0
    write_units: int = 0
    write_units_once: int = 0
    sent: int = 0
    received: int = 0
    touched: list[Touched] = field(default_factory=list)


class Meter:
    """Counts the requests of a process, and reads the table before and after each write."""

    def __init__(self, store: Store, table: Table) -> None:
        self._store = store
        self._cost = Cost()
        self._lock = threading.Lock()
        self._wire = Wire.of(table)
        self._wire.before(self._leaves)
        self._wire.after(self._arrives)
        events = table.connection.client.meta.events
        events.register("before-send.dynamodb", self._sent)
        events.register("after-call.dynamodb", self._received)

    def begin(self) -> None:
        """Start counting."""
        self._cost = Cost()
        self._wire.clear()

    def end(self) -> Cost:
        """Return the cost since `begin`."""
        cost, self._cost = self._cost, Cost()
        cost.requests, cost.rounds = len(self._wire.requests), self._wire.rounds
        return cost

    def _sent(self, request: Any, **_: Any) -> None:
        with self._lock:
            self._cost.sent += len(request.body)

    def _received(self, http_response: Any, **_: Any) -> None:
        with self._lock:
            self._cost.received += len(http_response.content)

    def _leaves(self, request: Request) -> None:
        request.scratch["before"] = self._look(_written(request))

    def _arrives(self, request: Request, parsed: dict[str, Any]) -> None:
        assert "Error" not in parsed, f"{request.operation}: {parsed['Error']}"
        match request.operation:
            case "Query":
                self._count_query(request, parsed["Items"])
            case "BatchGetItem":
                self._count_batch(request, parsed)
            case "TransactWriteItems" | "BatchWriteItem" | "UpdateItem":
                self._count_writes(request)
            case other:
                raise NotImplementedError(other)

    def _count_query(self, request: Request, shown: list[Item]) -> None:
        is_consistent = request.body.get("ConsistentRead", False)
        if is_consistent:  # a Query is charged for whole items, whatever it returns of them
            found = self._look(items.key(item) for item in shown)
            read = [Touched(key, item, item, is_write=False) for key, item in found.items()]
        else:
            read = [Touched(items.key(item), item, item, is_write=False) for item in shown]
        taken = units.units_of_query((one.size for one in read), is_consistent=is_consistent)
        self._add(read, read_units=taken)

    def _count_batch(self, request: Request, parsed: dict[str, Any]) -> None:
        [asked] = request.body["RequestItems"].values()
        found = {items.key(item): item for item in parsed["Responses"][self._store.name]}
        read = [
            Touched(key, found.get(key), found.get(key), is_write=False)
            for key in map(items.key, asked["Keys"])
        ]
        self._add(read, read_units=sum(units.units_of_get(one.size) for one in read))

    def _count_writes(self, request: Request) -> None:
        before = request.scratch["before"]
        after = self._look(before)
        in_transaction = request.operation == "TransactWriteItems"
        twice, once = (
            sum(
                units.units_of_write(
                    before[key], after[key], in_transaction=in_transaction, copies_twice=copies_twice
                )
                for key in before
            )
            for copies_twice in (True, False)
        )
        written = [Touched(key, before[key], after[key], is_write=True) for key in before]
        self._add(written, write_units=twice, write_units_once=once)

    def _add(
        self,
        touched: list[Touched],
        *,
        read_units: float = 0.0,
        write_units: int = 0,
        write_units_once: int = 0,
    ) -> None:
        with self._lock:  # requests may overlap
            self._cost.touched += touched
            self._cost.read_units += read_units
            self._cost.write_units += write_units
            self._cost.write_units_once += write_units_once

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


def _written(request: Request) -> list[Key]:
    """Return the keys that a request writes or checks."""
    if request.operation == "BatchWriteItem":
        [asked] = request.body["RequestItems"].values()
        return [items.key(one["DeleteRequest"]["Key"]) for one in asked]
    if request.operation == "UpdateItem":
        return [items.key(request.body["Key"])]
    parts = [(kind, part[kind]) for part in request.body.get("TransactItems", []) for kind in part]
    assert all(kind in WRITES for kind, _ in parts), json.dumps([kind for kind, _ in parts])
    return [items.key(part["Item"] if kind == "Put" else part["Key"]) for kind, part in parts]
