"""The fixtures of tests on the real Table and an engine in this process.

A Store looks at the table from outside. Tests plant items with it that no use case can write yet.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Conversation
from forklore_service.domain.tree import Member
from forklore_service.errors import ForkloreError
from forklore_service.storage import items
from forklore_service.storage.clock import Clock, system_ms
from forklore_service.storage.connection import Item
from forklore_service.storage.table import Table
from tools.harness import tables
from tools.harness.tables import NAME

DAY_S = 24 * 3600
BATCH_ITEMS_MAX = 25


class WrongClock(Clock):
    """A clock that is off and learns nothing, as if the `Date` of all answers were as wrong."""

    def __init__(self, off_ms: int) -> None:
        super().__init__(lambda: system_ms() + off_ms)

    def learn(self, date: str | None, *, sent_ms: int) -> None:
        self.was_compared = True


class Standing(Clock):
    """A clock that stands still until a test sets it, and learns nothing."""

    def __init__(self, now_s: int) -> None:
        self.now_s = now_s
        super().__init__(lambda: self.now_s * 1000)

    def learn(self, date: str | None, *, sent_ms: int) -> None:
        self.was_compared = True


class Ticking(Clock):
    """A clock that never shows a millisecond twice: what is made later has a later time.

    It learns nothing, because a correction could move it back.
    """

    def __init__(self) -> None:
        self._last_ms = 0
        super().__init__(self._next_ms)

    def _next_ms(self) -> int:
        self._last_ms = max(system_ms(), self._last_ms + 1)
        return self._last_ms

    def learn(self, date: str | None, *, sent_ms: int) -> None:
        self.was_compared = True


def mine_of(root: Conversation, user_id: str, level: AccessLevel = AccessLevel.OWNER) -> Item:
    """Return the row of the root's tree in the user's list."""
    is_child = root.started_by is not None
    return items.user_tree_item(root.group_id, user_id, level, created_at=root.created_at, is_child=is_child)


class Store(tables.Store):
    """The table from outside, in which tests plant items."""

    def contents(self) -> dict[Key, Item]:
        """Return every item."""
        found: dict[Key, Item] = {}
        start: dict[str, Item] = {}
        while True:
            page = self.client.scan(TableName=self.name, ConsistentRead=True, **start)
            found |= {Key(item["PK"]["S"], item["SK"]["S"]): item for item in page["Items"]}
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def saved(self) -> bytes:
        """Return all that is stored, for `set_back`. The store is in memory."""
        assert self.database is not None
        with self.database.reading() as connection:
            return connection.serialize()

    def set_back(self, saved: bytes) -> None:
        """Let the table be what it was."""
        assert self.database is not None
        with self.database.reading() as connection:
            connection.deserialize(saved)

    def item(self, key: Key) -> Item:
        """Return the item, which must exist."""
        found = self.client.get_item(TableName=self.name, Key=items.key_of(key), ConsistentRead=True)
        item: Item = found["Item"]
        return item

    def put(self, *planted: Item) -> None:
        for at in range(0, len(planted), BATCH_ITEMS_MAX):
            requests = [{"PutRequest": {"Item": item}} for item in planted[at : at + BATCH_ITEMS_MAX]]
            self.client.batch_write_item(RequestItems={self.name: requests})

    def change(self, key: Key, **attributes: dict[str, Any]) -> None:
        """Replace attributes of an item that exists."""
        self.put(self.item(key) | attributes)

    def delete(self, *keys_of_items: Key) -> None:
        for key in keys_of_items:
            self.client.delete_item(TableName=self.name, Key=items.key_of(key))

    def add_member(self, group_id: str, user_id: str, level: AccessLevel = AccessLevel.WRITER) -> None:
        """Share a tree: put the MEM and USER_TREE items, and count the member."""
        created_at = self.item(keys.group(group_id))["createdAt"]["S"]
        root = Conversation(group_id, group_id, created_at)
        self._count_members(group_id, 0 if self._is_member(group_id, user_id) else 1)
        member = items.member_item(group_id, Member(user_id, level, created_at))
        self.put(member, mine_of(root, user_id, level))

    def remove_member(self, group_id: str, user_id: str) -> None:
        """Remove a membership: the MEM and USER_TREE items."""
        self._count_members(group_id, -1 if self._is_member(group_id, user_id) else 0)
        group = items.group(self.item(keys.group(group_id)))
        row = keys.user_tree(user_id, group.created_at, group_id, is_child=group.is_child)
        self.delete(keys.member(group_id, user_id), row)

    def _is_member(self, group_id: str, user_id: str) -> bool:
        key = items.key_of(keys.member(group_id, user_id))
        return "Item" in self.client.get_item(TableName=self.name, Key=key)

    def _count_members(self, group_id: str, by: int) -> None:
        group = items.group(self.item(keys.group(group_id)))
        self.change(
            keys.group(group_id),
            members=items.number(group.members + by),
            version=items.number(group.version + 1),
        )

    def mark_deleted(self, group_id: str) -> None:
        """Mark the tree deleted: the first step of its deletion. From then on no read sees it."""
        self.change(keys.group(group_id), state=items.text("tombstone"))

    def remove_tree(self, group_id: str, *, ttl_s: int | None = None) -> None:
        """Delete a tree completely. Only retired pointers remain.

        ttl_s: the time until which the ids may not be used again; None for 30 days from now.
        """
        ttl_s = int(time.time()) + 30 * DAY_S if ttl_s is None else ttl_s
        for key, item in self.contents().items():
            if key.partition.startswith("PTR#") and item.get("group") == {"S": group_id}:
                gone: Item = {"retired": {"BOOL": True}, "ttl": items.number(ttl_s)}
                self.put(items.key_of(key) | gone)
            elif (
                key.partition == group_id
                or key.partition.startswith(f"BLOB#{group_id}#")
                or (key.partition.startswith("USER#") and key.sort.endswith(f"#{group_id}"))
            ):
                self.delete(key)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Assert that the block changes no item."""
        before = self.contents()
        yield
        assert self.contents() == before

    @contextmanager
    def refuses(self, error: type[ForkloreError]) -> Iterator[pytest.ExceptionInfo[ForkloreError]]:
        """Assert that the block raises exactly `error` and changes no item."""
        with self.unchanged(), pytest.raises(error) as raised:
            yield raised
        assert raised.type is error


@contextmanager
def fresh_store(name: str = NAME, *, endpoint: str | None = None) -> Iterator[Store]:
    """Yield an empty table, which is deleted afterwards.

    endpoint: where to make it. None: in memory.
    """
    with tables.fresh_store(name, endpoint=endpoint) as opened:
        yield Store(
            opened.client, opened.name, opened.endpoint, database=opened.database, objects=opened.objects
        )


@pytest.fixture
def store() -> Iterator[Store]:
    """An empty table, seen from outside."""
    with fresh_store() as opened:
        yield opened


@pytest.fixture
def table(store: Store) -> Table:
    """The real Table on the store. Its retries do not wait, and its clock ticks."""
    return store.process(clock=Ticking())
