"""Writes a tree of any size directly to the table, as the items that the service would write."""

import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from forklore_service.domain import ancestry, ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import (
    Channel,
    Conversation,
    Entry,
    ForkPoint,
    ForkPosition,
    Head,
    LastEntries,
    Metrics,
)
from forklore_service.domain.tree import Group, Member
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from tests.support.tables import BATCH_ITEMS_MAX, Store

NONCE = "planted"
THREADS = 8
BATCHES_AT_ONCE = 64


def id_of(number: int) -> str:
    """Return the id of a conversation that is written directly."""
    return str(uuid.UUID(int=number << 64 | 4 << 76 | 0b10 << 62))


@dataclass(frozen=True)
class Planted:
    """A root with entries, and forks after one of these entries. Each fork has as many own entries.

    number: the number of the first conversation id. at_ms: when the tree was created.
    """

    number: int
    owner: str
    at_ms: int
    entries: int = 1
    forks: int = 0
    own_entries: int = 0

    @property
    def group_id(self) -> str:
        return id_of(self.number)

    @property
    def fork_ids(self) -> list[str]:
        return [id_of(self.number + 1 + at) for at in range(self.forks)]

    @property
    def root_entries(self) -> list[EntryId]:
        return [self._entry_id(0, at) for at in range(self.entries)]

    @property
    def anchor(self) -> EntryId:
        """The entry after which all forks are made."""
        return self._entry_id(0, self.entries // 2)

    def _entry_id(self, conversation: int, at: int) -> EntryId:
        """Return an entry id that is later than the ids in all earlier conversations."""
        return ids.fresh_id(self.at_ms + conversation, at + 1)

    def items(self) -> Iterator[Item]:
        """Yield every item of the tree."""
        created_at = ids.timestamp(self.at_ms)
        root = Conversation(self.group_id, self.group_id, created_at)
        group = items.group_item(Group(self.group_id, self.owner, created_at))
        yield group | {"conversations": items.number(1 + self.forks)}
        owner = Member(self.owner, AccessLevel.OWNER, created_at)
        yield items.member_item(self.group_id, owner)
        yield items.user_tree_item(
            self.group_id, self.owner, owner.level, created_at=created_at, is_child=False
        )
        yield from self._conversation(root, (), None, self.root_entries)
        anchor = self.anchor
        path = ancestry.path_after(
            ancestry.view_of(self.group_id, ()), conversation_id=self.group_id, entry_id=anchor
        )
        for at, fork_id in enumerate(self.fork_ids):
            fork = Conversation(
                fork_id,
                self.group_id,
                ids.timestamp(self.at_ms + 1 + at),
                fork_point=ForkPoint(self.group_id, anchor, ForkPosition.AFTER),
            )
            own = [self._entry_id(at + 1, number) for number in range(self.own_entries)]
            yield from self._conversation(fork, path, anchor, own)

    def _conversation(
        self, conversation: Conversation, path: ancestry.Path, inherited: EntryId | None, own: list[EntryId]
    ) -> Iterator[Item]:
        floor = ancestry.floor_of(path)
        head = Head(
            owner=self.owner,
            changed_at=conversation.created_at,
            floor=floor,
            first=own[0] if own else None,
            last=own[-1] if own else floor,
            lasts=LastEntries(own[-1] if own else inherited),
            history=len(own),
            metrics=Metrics(len(own)),
            untitled=True,
        )
        yield items.pointer_item(conversation, NONCE)
        yield items.conversation_item(conversation)
        yield items.head_item(conversation, head)
        yield items.tree_item(conversation, path)
        if path:
            yield items.path_item(conversation, path)
        for entry_id, before in zip(own, [inherited, *own], strict=False):
            entry = Entry(
                entry_id,
                conversation.conversation_id,
                self.owner,
                Channel.HISTORY,
                "text/plain",
                '["x"]',
                after=LastEntries(before),
            )
            yield items.entry_items(self.group_id, entry, nonce=NONCE, escaped_bytes=500)[0]


def plant(store: Store, all_of_them: Iterable[Item]) -> int:
    """Put items into the table in batches; return how many."""
    client, left, count = store.new_client(), iter(all_of_them), 0

    def put(some: list[Item]) -> int:
        requests = [{"PutRequest": {"Item": item}} for item in some]
        answer = client.batch_write_item(RequestItems={store.name: requests})
        assert not answer["UnprocessedItems"]
        return len(some)

    with ThreadPoolExecutor(THREADS) as threads:
        while wave := list(islice(left, BATCHES_AT_ONCE * BATCH_ITEMS_MAX)):
            batches = [wave[at : at + BATCH_ITEMS_MAX] for at in range(0, len(wave), BATCH_ITEMS_MAX)]
            count += sum(threads.map(put, batches))
    return count
