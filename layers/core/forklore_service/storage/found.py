"""The result of a read by key, as values of the domain. Only storage sees the items themselves."""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import Path
from forklore_service.domain.answer_logs import Part
from forklore_service.domain.attachments import File
from forklore_service.domain.erasures import Erasure
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.links import ReaderLink
from forklore_service.domain.model import Conversation, Head, StoredEntry, Transfer
from forklore_service.domain.names import Name, NameRef
from forklore_service.domain.notes import Note, NoteRef
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.retention import Round
from forklore_service.domain.tree import (
    BranchTip,
    ClientContext,
    Group,
    IdempotencyRecord,
    Job,
    Member,
    Pointer,
    TreeRow,
)
from forklore_service.storage import items
from forklore_service.storage.connection import Item

T = TypeVar("T")


class Found:
    """The items that a read found.

    Each method returns the value of one item. None: the item was not found.
    """

    __slots__ = ("_items", "_values")

    def __init__(self, items: Mapping[Key, Item] = MappingProxyType({})) -> None:
        self._items = items
        self._values: dict[Key, Any] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._items

    def __len__(self) -> int:
        return len(self._items)

    def shelf(self, user_id: str) -> str | None:
        """Return the shelf of a user's trees."""
        item = self._items.get(keys.shelf(user_id))
        return None if item is None else items.text_in(item, "shelf")

    def pins(self, user_id: str) -> tuple[str, ...]:
        """Return what a user has pinned: the sort keys of rows of the user's list, in order."""
        return self._value(keys.pins(user_id), items.pins) or ()

    def __or__(self, other: "Found") -> "Found":
        return Found({**self._items, **other._items})

    def torn(self, *, after_looks: bool = False) -> list[Key]:
        """Return the keys of items that were found and do not belong together.

        These are CONV and HEAD of one conversation, GROUP and a MEM that disagree about the owner,
        and a HEAD without the append by which GROUP says that it was promoted. after_looks: the
        items were read many times. Such a HEAD then is damage, with which one can read and append.
        """
        torn: list[Key] = []
        promotions = {} if after_looks else self._promoted_heads()
        for key, item in self._items.items():
            if keys.is_head(key.sort):
                conv = keys.conversation(key.partition, keys.in_head(key.sort))
                is_before_promotion = key in promotions and items.last(item) < promotions[key]
                if is_before_promotion or self._is_torn(conv, key):
                    torn += (conv, key)
            elif keys.is_member(key.sort):
                torn += (keys.group(key.partition), key) if self._is_other_owner(key) else ()
        return torn

    def doubted(self) -> dict[tuple[Key, str], Key]:
        """Return the promotions that GROUP may lack and HEADs tell of, each with GROUP's key."""
        doubted = {}
        for key, at in self._promotions():
            group = self.group(key.partition)
            if group is not None and group.may_lack(keys.in_head(key.sort), at):
                doubted[key, at] = keys.group(key.partition)
        return doubted

    def may_be_ahead_of(self, group: Group) -> bool:
        """Tell whether a HEAD of the tree tells of a promotion that `group` may lack."""
        return any(
            group.may_lack(keys.in_head(key.sort), at)
            for key, at in self._promotions()
            if key.partition == group.group_id
        )

    def _promotions(self) -> Iterator[tuple[Key, str]]:
        """Yield each HEAD that tells when its conversation was promoted, with that time."""
        for key, item in self._items.items():
            if "promotedAt" in item and keys.is_head(key.sort):
                yield key, item["promotedAt"]["S"]

    def _promoted_heads(self) -> dict[Key, EntryId]:
        """Return the HEAD of each current branch, with the entry by which that was promoted."""
        trees = [key.partition for key in self._items if key == keys.group(key.partition)]
        groups = [group for tree in trees if (group := self.group(tree)) is not None]
        return {keys.head(one.group_id, one.current): one.promoted_by for one in groups if one.promoted_by}

    def is_torn(self, group_id: str, conversation_id: str) -> bool:
        """Tell whether CONV and HEAD of a conversation were found and do not belong together."""
        return self._is_torn(
            keys.conversation(group_id, conversation_id), keys.head(group_id, conversation_id)
        )

    def _is_torn(self, conv: Key, head: Key) -> bool:
        """Tell whether only one of two items is as a transaction left it that changed both."""
        one, other = self._items.get(conv), self._items.get(head)
        return one is not None and other is not None and items.changes(one) != items.changes(other)

    def _is_other_owner(self, of_member: Key) -> bool:
        """Tell whether a membership in a live tree disagrees with GROUP about who is the owner."""
        group = self.group(of_member.partition)
        member = items.member(self._items[of_member])
        is_owner = member.level is AccessLevel.OWNER
        return group is not None and group.is_live and (group.owner == member.user_id) != is_owner

    def without(self, unwanted: Collection[Key]) -> "Found":
        """Return what was found, but for these items."""
        return Found({key: item for key, item in self._items.items() if key not in unwanted})

    def _value(self, key: Key, decode: Callable[[Item], T]) -> T | None:
        """Return the value of an item, which is decoded once; None where there is no item."""
        value: T | None = self._values.get(key)
        if value is None and (item := self._items.get(key)) is not None:
            value = self._values[key] = decode(item)
        return value

    def group(self, group_id: str) -> Group | None:
        return self._value(keys.group(group_id), items.group)

    def conversation(self, group_id: str, conversation_id: str) -> Conversation | None:
        return self._value(keys.conversation(group_id, conversation_id), items.conversation)

    def places(self, group_id: str) -> list[ListKey]:
        """Return the places of the tree's conversations whose CONV was found, newest first."""
        own = filter(keys.conversations_range(group_id).holds, self._items)
        found = (items.conversation(self._items[key]) for key in own)
        return sorted((ListKey(one.created_at, one.conversation_id) for one in found), reverse=True)

    def head(self, group_id: str, conversation_id: str) -> Head | None:
        return self._value(keys.head(group_id, conversation_id), items.head)

    def kept_head(self, group_id: str, conversation_id: str, *, owner: str) -> Head | None:
        """Return the HEAD of a branch in the trash as it is once it is live. owner: of then."""
        item = self._items.get(keys.head(group_id, conversation_id))
        return items.head({**item, "owner": items.text(owner)}) if item else None

    def is_open(self, group_id: str, conversation_id: str) -> bool:
        """Tell whether a HEAD was read, and is not shut."""
        item = self._items.get(keys.head(group_id, conversation_id))
        return item is not None and items.SHUT not in item

    def branch(self, conversation: Key, head: Key) -> tuple[Conversation, BranchTip] | None:
        """Return a conversation with what its HEAD shows in a list; None if not both were found."""
        if conversation not in self._items or head not in self._items:
            return None
        return items.conversation(self._items[conversation]), items.branch_tip(self._items[head])

    def heads(self, group_id: str) -> dict[str, Head]:
        """Return the HEADs of a tree that were found, by conversation."""
        own = filter(keys.heads_range(group_id).holds, self._items)
        return {keys.in_head(key.sort): items.head(self._items[key]) for key in own}

    def path(self, group_id: str, conversation_id: str) -> Path:
        """Return the conversation's path. It is empty without a PATH item."""
        return items.path(self._items.get(keys.path(group_id, conversation_id)))

    def member(self, group_id: str, user_id: str) -> Member | None:
        return self._value(keys.member(group_id, user_id), items.member)

    def link(self, group_id: str, link_id: str, *, now_s: int) -> ReaderLink | None:
        """Return a link of the tree for readers. None: there is none, or it has ended."""
        item = self._items.get(keys.link(group_id, link_id))
        return items.link(item, now_s=now_s) if item else None

    def note(self, group_id: str, ref: NoteRef) -> Note | None:
        return self._value(keys.note(group_id, ref), items.note)

    def tree_row(self, key: Key) -> TreeRow | None:
        """Return a row of a user's list of trees."""
        return self._value(key, items.tree_row)

    def pointer(self, conversation_id: str, *, now_s: int) -> Pointer | None:
        """Return where the conversation is stored. None: the id is free."""
        item = self._items.get(keys.pointer(conversation_id))
        return items.pointer(item, now_s=now_s) if item else None

    def entry(self, group_id: str, entry_id: EntryId) -> StoredEntry | None:
        return self._value(keys.entry(group_id, entry_id), items.stored_entry)

    def context(self, group_id: str, conversation_id: str, client_id: str) -> ClientContext | None:
        return self._value(keys.context(group_id, conversation_id, client_id), items.context)

    def name(self, ref: NameRef) -> Name | None:
        return self._value(keys.name(ref), items.name)

    def keyed_entry(self, group_id: str, conversation_id: str, key: str) -> EntryId | None:
        """Return the conversation's own entry that has the key."""
        return self._value(keys.entry_key(group_id, conversation_id, key), items.keyed_entry)

    def transfer(self, transfer_id: str) -> Transfer | None:
        return self._value(keys.transfer_by_id(transfer_id), items.transfer)

    def transfer_of_group(self, group_id: str) -> Transfer | None:
        """Return the tree's pending transfer."""
        return self._value(keys.transfer_of_group(group_id), items.transfer)

    def job(self, key: Key) -> Job | None:
        return self._value(key, items.job)

    def part(self, group_id: str, answer_id: str, position: int, *, now_s: int) -> Part | None:
        """Return a part of an answer's log."""
        item = self._items.get(keys.part(group_id, answer_id, position))
        return items.part(item, now_s=now_s) if item else None

    def remnant(self, group_id: str, conversation_id: str) -> Remnant | None:
        return self._value(keys.remnant(group_id, conversation_id), items.remnant)

    def file(self, attachment_id: str) -> File | None:
        return self._value(keys.file(attachment_id), items.file)

    def user_file(self, key: Key) -> str | None:
        """Return the attachment of a user that the item at this key names."""
        return self._value(key, items.user_file)

    def erasure(self, erasure_id: str) -> Erasure | None:
        return self._value(keys.erasure(erasure_id), items.erasure)

    def retention(self) -> Round | None:
        return self._value(keys.retention(), items.retention)

    def idempotency_record(self, key: Key, *, now_s: int) -> IdempotencyRecord | None:
        """Return the record of an Idempotency-Key. None: there is none, or it has expired."""
        item = self._items.get(key)
        return items.idempotency_record(item, now_s=now_s) if item else None
