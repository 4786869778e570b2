"""The result of a read by key, as values of the domain. Only storage sees the items themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from forklore.domain import keys
from forklore.domain.ancestry import Path
from forklore.domain.ids import EntryId
from forklore.domain.keys import Key
from forklore.domain.model import Conversation, Head, StoredEntry, Transfer
from forklore.domain.tree import ClientContext, Group, IdempotencyRecord, Job, Member, Pointer
from forklore.storage import items
from forklore.storage.connection import Item


@dataclass(frozen=True, slots=True)
class Found:
    """The items that a read found.

    Each method returns the value of one item. None: the item was not found.
    """

    _items: Mapping[Key, Item] = field(default_factory=dict)

    def __contains__(self, key: Key) -> bool:
        return key in self._items

    def __len__(self) -> int:
        return len(self._items)

    def __or__(self, other: "Found") -> "Found":
        return Found({**self._items, **other._items})

    def group(self, group_id: str) -> Group | None:
        item = self._items.get(keys.group(group_id))
        return items.group(item) if item else None

    def conversation(self, group_id: str, conversation_id: str) -> Conversation | None:
        item = self._items.get(keys.conversation(group_id, conversation_id))
        return items.conversation(item) if item else None

    def head(self, group_id: str, conversation_id: str) -> Head | None:
        item = self._items.get(keys.head(group_id, conversation_id))
        return items.head(item) if item else None

    def path(self, group_id: str, conversation_id: str) -> Path:
        """Return the conversation's path. It is empty without a PATH item."""
        return items.path(self._items.get(keys.path(group_id, conversation_id)))

    def member(self, group_id: str, user_id: str) -> Member | None:
        item = self._items.get(keys.member(group_id, user_id))
        return items.member(item) if item else None

    def pointer(self, conversation_id: str, *, now_s: int) -> Pointer | None:
        """Return where the conversation is stored. None: the id is free."""
        item = self._items.get(keys.pointer(conversation_id))
        return items.pointer(item, now_s=now_s) if item else None

    def entry(self, group_id: str, entry_id: EntryId) -> StoredEntry | None:
        item = self._items.get(keys.entry(group_id, entry_id))
        return items.stored_entry(item) if item else None

    def context(self, group_id: str, conversation_id: str, client_id: str) -> ClientContext | None:
        item = self._items.get(keys.context(group_id, conversation_id, client_id))
        return items.context(item) if item else None

    def transfer(self, transfer_id: str) -> Transfer | None:
        item = self._items.get(keys.transfer_by_id(transfer_id))
        return items.transfer(item) if item else None

    def transfer_of_group(self, group_id: str) -> Transfer | None:
        """Return the tree's pending transfer."""
        item = self._items.get(keys.transfer_of_group(group_id))
        return items.transfer(item) if item else None

    def job(self, kind: str, group_id: str) -> Job | None:
        item = self._items.get(keys.job(kind, group_id))
        return items.job(item) if item else None

    def idempotency_record(self, key: Key, *, now_s: int) -> IdempotencyRecord | None:
        """Return the record of an Idempotency-Key. None: there is none, or it has expired."""
        item = self._items.get(key)
        return items.idempotency_record(item, now_s=now_s) if item else None
