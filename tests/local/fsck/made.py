"""The contents of a table, with methods to find items and to change, move and remove them."""

from dataclasses import dataclass
from typing import Any

from forklore_local.fsck.check import check
from forklore_local.fsck.shapes import Kind, kind_of
from forklore_service.domain import ancestry, keys
from forklore_service.domain.ancestry import Path
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Channel
from forklore_service.domain.tree import IdempotencyRecord
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.items import binary, number
from tests.local.fsck.world import CHAT, ROOT, World

Contents = dict[Key, Item]


@dataclass(frozen=True)
class Made:
    """The contents of a table, and the ids of what was made in it."""

    contents: Contents
    world: World
    now_s: int

    def copy(self) -> "Made":
        return Made(dict(self.contents), self.world, self.now_s)

    @property
    def kinds_found(self) -> set[str]:
        return {finding.kind for finding in check(self.contents.values(), now_s=self.now_s)}

    # Find items

    def entry(self, entry_id: str, group_id: str = ROOT) -> Key:
        return keys.entry(group_id, EntryId(entry_id))

    def said(self, at: int) -> Key:
        """Return the key of the root's history entry number `at`."""
        return self.entry(self.world.said[at])

    def thought(self, at: int) -> Key:
        """Return the key of the planner's context entry number `at` in the root."""
        return self.entry(self.world.thoughts[at])

    def turned(self, at: int) -> Key:
        """Return the key of the entry number `at` of the chat's turn of three entries."""
        return self.entry(self.world.turn[at], CHAT)

    def turn_of_two(self) -> Key:
        """Return the key of an entry of the chat's other turn."""
        turned = {self.turned(at) for at in range(3)}
        return next(
            key for key, item in sorted(self.contents.items()) if "turn" in item and key not in turned
        )

    def key(self, kind: Kind, *parts: str) -> Key:
        """Return the first key of a kind that contains all parts."""
        found = (key for key in sorted(self.contents) if kind_of(key) is kind)
        return next(key for key in found if all(part in f"{key.partition}/{key.sort}" for part in parts))

    def record(self, conversation_id: str) -> Key:
        """Return the key of a record of an answered request to a conversation."""
        of = {"S": conversation_id}
        return next(
            key for key, item in self.contents.items() if item.get("conversation") == of and "request" in item
        )

    def created_at(self, conversation_id: str, group_id: str = ROOT) -> str:
        at: str = self.contents[keys.conversation(group_id, conversation_id)]["createdAt"]["S"]
        return at

    def listed(self, conversation_id: str, group_id: str = ROOT) -> Key:
        return keys.tree_row(group_id, self.created_at(conversation_id, group_id), conversation_id)

    def mine(self, user_id: str, group_id: str = ROOT) -> Key:
        is_child = items.group(self.contents[keys.group(group_id)]).is_child
        return keys.user_tree(user_id, self.created_at(group_id, group_id), group_id, is_child=is_child)

    def path(self, conversation_id: str) -> Path:
        return items.path(self.contents.get(keys.path(ROOT, conversation_id)))

    # Damage items

    def change(self, key: Key, /, **attributes: Any) -> "Made":
        """Replace attributes of an item; None removes one."""
        item = self.contents[key] | attributes
        self.contents[key] = {name: value for name, value in item.items() if value is not None}
        return self

    def add(self, key: Key, name: str, by: int) -> "Made":
        return self.change(key, **{name: number(int(self.contents[key][name]["N"]) + by)})

    def put(self, item: Item) -> None:
        self.contents[items.key(item)] = item

    def take(self, *some: Key) -> "Made":
        for key in some:
            del self.contents[key]
        return self

    def move(self, old: Key, new: Key) -> None:
        self.put(self.contents.pop(old) | items.key_of(new))

    def copy_to(self, old: Key, new: Key) -> None:
        self.put(self.contents[old] | items.key_of(new))

    def set_path(self, conversation_id: str, path: Path) -> None:
        """Give a conversation another path. HEAD stays as it is."""
        self.change(keys.path(ROOT, conversation_id), path=binary(ancestry.pack(path)))

    def spoil_turn(self, **parts: Any) -> None:
        """Replace parts of the chat's turn of three entries in each of these."""
        for at in range(3):
            turn = items.turn(self.contents[self.turned(at)])
            assert turn is not None
            self.change(self.turned(at), turn=binary(items._packed_turn(turn._replace(**parts))))

    def give(self, entry: Key, conversation_id: str, channel: Channel = Channel.HISTORY) -> None:
        """Move an entry to another conversation."""
        l1 = keys.by_conversation(conversation_id, channel, keys.entry_id_of(entry.sort))
        self.change(entry, L1={"S": l1})


def record_item(group_id: str, conversation_id: str, entry_ids: list[str], *, ttl_s: int) -> Item:
    record = IdempotencyRecord("hash", group_id, conversation_id, tuple(map(EntryId, entry_ids)), "{}")
    return items.idempotency_record_item(keys.idempotency("planted"), record, ttl_s=ttl_s)
