"""For tests of the search: small trees to plant, and a count of what a search reads."""

import json
import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from forklore_service.domain import ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Channel, Conversation, Entry, Head
from forklore_service.domain.tree import Group, Member
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.table import Table
from forklore_service.usecases.reading.search import UNIT_BYTES
from tools.harness.wire import Request, Wire

FIRST_MS = ids.milliseconds("2026-01-01T00:00:00.000Z")


def tree_id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def tree_items(number: int, said_texts: Sequence[str], *, is_child: bool = False) -> list[Item]:
    root_id, at_ms = tree_id(number), FIRST_MS + number * 1_000
    created_at = ids.timestamp(at_ms)
    root = Conversation(root_id, root_id, created_at)
    member = Member("ann", AccessLevel.OWNER, created_at)
    rows = [
        items.group_item(Group(root_id, "ann", created_at)),
        items.conversation_item(root),
        items.head_item(root, Head("ann", created_at)),
        items.member_item(root_id, member),
        items.user_tree_item(root_id, "ann", AccessLevel.OWNER, created_at=created_at, is_child=is_child),
    ]
    for at, text in enumerate(said_texts):
        body = json.dumps([{"role": "USER", "text": text}])
        entry = Entry(ids.fresh_id(at_ms + at, number), root_id, "ann", Channel.HISTORY, "history", body)
        item, blobs = items.entry_items(root_id, entry, nonce="n", escaped_bytes=len(body) + 400)
        rows += [item, *blobs]
    return rows


class Looked:
    """Counts what the eventually consistent reads of a table read: those of entries and bodies.

    bytes: in whole units of DynamoDB's, of the request since `clear`. most: of one read.
    """

    def __init__(self, table: Table) -> None:
        self.bytes = self.most = self.reads = 0
        self._lock = threading.Lock()
        Wire.of(table).after(self._count)

    def _count(self, request: Request, answer: Mapping[str, Any]) -> None:
        if request.operation == "Query" and request.body["ConsistentRead"] is False:
            read = answer["Items"]
        elif request.operation == "BatchGetItem":
            [(name, of)] = request.body["RequestItems"].items()
            if of["ConsistentRead"]:
                return
            read = answer["Responses"][name]
        else:
            return
        read_bytes = max(1, math.ceil(sum(map(items.size, read)) / UNIT_BYTES)) * UNIT_BYTES
        with self._lock:
            self.bytes += read_bytes
            self.most = max(self.most, read_bytes)
            self.reads += 1

    def clear(self) -> None:
        self.bytes = self.most = self.reads = 0
