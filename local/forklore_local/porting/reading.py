"""Reads one tree as an export has it. Nothing here writes.

A tree may be written to meanwhile, so the reads go in an order that makes sense of it. The branches
and their paths are listed first, then come the contexts, and then their HEADs: so each branch is at
least as long as its forks show of it. Each branch is exported as it was when its HEAD was read: the
entries up to the last one that HEAD names, and the context that these entries make. Forks that are
made after the list was read are not exported. If a branch is removed meanwhile, or the members
change while they are read, the tree is read again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from forklore_local.fsck.shapes import SHAPES, kind_of
from forklore_local.porting.failures import BrokenTreeError
from forklore_local.porting.outline import Counted, Outline, context_item
from forklore_service.domain import keys
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.keys import Key, SortRange
from forklore_service.domain.model import Entry, StoredEntry
from forklore_service.domain.names import Name
from forklore_service.domain.tree import ClientContext, Group
from forklore_service.errors import UnavailableError
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.items import number
from forklore_service.storage.table import BLOBS_AT_ONCE, Table

ENTRIES_AT_ONCE = 100
"""Entries that are in memory at once, beside a page of a Query. Fewer if their bodies are large."""
NAMES_KEPT = 1_000
"""Users whose names are remembered, because they may be members of the next tree, too."""
OF_THE_MOMENT = {
    *("nonce", "memberChange", "spreading", "rewriting", "promotedBy", "promotedAt", "imported"),
    *items.ANSWERING,
}
"""Attributes of no use once what wrote them is over, where a kind can be without them."""

ContextKey = tuple[str, str]
"""A conversation and a client."""
Line = tuple[Item, Entry | None]
"""An item, and the entry with its content if it is one."""


class TreeReader:
    """Reads trees of a table, one after another."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._names_of: Callable[[str], list[Name]] = lru_cache(NAMES_KEPT)(
            lambda user_id: list(table.read.all_names(user_id))
        )

    def read(self, group_id: str) -> "tuple[Outline, Iterator[Line]] | None":
        """Return a tree without its entries and contexts, and these; None if it is not live.

        The contexts come last, and are then in the outline, too. Raises BrokenTreeError, as the
        iterator does: then the tree is to be read again, and what was yielded is to be forgotten.
        """
        of_group, of_transfer = keys.group(group_id), keys.transfer_of_group(group_id)
        found = self._table.items_at([of_group, of_transfer])
        if of_group not in found or not items.group(found[of_group]).is_live:
            return None
        rows = self._items(keys.tree_range(group_id))
        members = self._items(keys.members_range(group_id))
        beside = self._items(keys.paths_range(group_id)) | self._items(keys.remnants_range(group_id))
        contexts = self._items(keys.contexts_range(group_id))
        heads = self._items(keys.heads_range(group_id))
        conversations = self._items(keys.conversations_range(group_id))
        group = self._group(group_id)
        branches = [keys.list_key(key.sort).conversation_id for key in rows]
        counts = {"children": number(0), "conversations": number(len(branches))}
        outline = Outline(_lasting(found[of_group]) | counts)
        if group is None or group.version != outline.group.version:
            raise BrokenTreeError("the members were changed, or a branch was removed")
        for one in (*members.values(), *rows.values()):
            outline.add(_lasting(one))
        if of_transfer in found and outline.is_offer(items.transfer(found[of_transfer])):
            outline.add(_lasting(found[of_transfer]))
        _add_branches(outline, branches, heads | conversations)
        _add_found(outline, beside, [keys.path(group_id, branch) for branch in branches])
        for removed in sorted(outline.shown_before().keys() - outline.conversations.keys()):
            wanted = [keys.remnant(group_id, removed), keys.path(group_id, removed)]
            _add_found(outline, beside, wanted)
        self._add_others(outline)
        outline.check()
        held = {keys.in_context(key.sort): items.context(one) for key, one in contexts.items()}
        return outline, self._rest(outline, held)

    def _items(self, of: SortRange) -> dict[Key, Item]:
        return {items.key(one): one for one in self._table.query(of)}

    def _add_others(self, outline: Outline) -> None:
        """Add the members' names, and the tree's row in the list of what started it."""
        for user_id in sorted(outline.members):
            for name in self._names_of(user_id):
                if name.conversation_id in outline.conversations:
                    outline.add(items.name_item(name))
        child_key = outline.group.child_key
        if child_key is not None:
            for one in self._table.items_at([child_key]).values():
                outline.add(one)

    # The entries

    def _rest(self, outline: Outline, contexts: dict[ContextKey, ClientContext]) -> "Iterator[Line]":
        """Yield the entries of a tree in their order, and then what clients hold of the context.

        contexts: what they held before HEADs were read.
        """
        group_id = outline.group_id
        counted, held = Counted(outline), _Held(outline, contexts)
        for some in self._batches(outline, counted):
            stored = [one for _, one in some]
            for (item, one), entry in zip(some, self._with_bodies(group_id, stored), strict=True):
                held.take(one)
                yield item, entry
        for key, context in sorted(held.contexts.items()):
            now = self._now(group_id, key, context) if key in held.unsure else context
            outline.add(context_item(group_id, *key, now))
            yield outline.items[keys.context(group_id, *key)], None
        counted.check()
        group = self._group(group_id)
        is_same = group is not None and group.version == outline.group.version
        heads = () if is_same else self._table.read.head_rows(group_id)
        if not is_same and not outline.heads.keys() <= {head.conversation_id for head in heads}:
            # A worker may have removed entries of the branch before they were read.
            raise BrokenTreeError("a branch was removed")

    def _now(self, group_id: str, key: ContextKey, context: ClientContext) -> ClientContext:
        """Return the context of a client who had none when the outline was read.

        Only its item says where the epoch begins, because that may be an inherited entry. It stays
        as it is as long as the epoch lasts.
        """
        now = self._table.get([keys.context(group_id, *key)]).context(group_id, *key)
        if now is None or now.epoch.number != context.epoch.number:
            raise BrokenTreeError("a client has begun another epoch")
        return context._replace(epoch=now.epoch._replace(digest=None))

    def _group(self, group_id: str) -> Group | None:
        return self._table.get([keys.group(group_id)]).group(group_id)

    def _batches(self, outline: Outline, counted: Counted) -> Iterator[list[tuple[Item, StoredEntry]]]:
        """Yield the entries that belong to the tree, in order, without their bodies."""
        batch, blobs = list[tuple[Item, StoredEntry]](), 0
        for item in self._table.query(keys.entries_range(outline.group_id)):
            stored = items.stored_entry(item)
            if not counted.has(stored):
                continue
            counted.take(stored)
            batch.append((item, stored))
            blobs += stored.chunks
            if len(batch) == ENTRIES_AT_ONCE or blobs >= BLOBS_AT_ONCE:
                yield batch
                batch, blobs = [], 0
        yield batch

    def _with_bodies(self, group_id: str, some: list[StoredEntry]) -> list[Entry]:
        try:
            return self._table.with_bodies(group_id, some, linked=False)
        except UnavailableError as error:
            wanted = [keys.blob(group_id, one.entry_id, at) for one in some for at in range(one.chunks)]
            if len(self._table.items_at(wanted)) < len(wanted):
                raise BrokenTreeError("a part of an entry is missing") from error
            raise


class _Held:
    """What clients hold of the context after the entries that were taken.

    unsure: of which it is not known where the epoch begins.
    """

    def __init__(self, outline: Outline, contexts: dict[ContextKey, ClientContext]) -> None:
        known = outline.heads.keys() | outline.removed.keys()
        self._heads = outline.heads
        self.contexts = {key: held for key, held in contexts.items() if key[0] in known}
        self.unsure: set[ContextKey] = set()

    def take(self, stored: StoredEntry) -> None:
        """Take an entry. The digest of a context that it goes on with is not known."""
        entry = stored.entry
        key = entry.conversation_id, entry.client_id or ""
        held = self.contexts.get(key)
        is_known = held is not None and entry.entry_id <= held.last
        if entry.epoch is None or entry.conversation_id not in self._heads or is_known:
            return
        if held is not None and held.epoch.number == entry.epoch:
            epoch = held.epoch._replace(digest=None)
            self.contexts[key] = ClientContext(epoch, last=entry.entry_id, entries=held.entries + 1)
            return
        if held is None:
            self.unsure.add(key)
        else:
            self.unsure.discard(key)
        self.contexts[key] = ClientContext(Epoch(entry.epoch, entry.entry_id), last=entry.entry_id, entries=1)


def _add_branches(outline: Outline, branches: Iterable[str], found: Mapping[Key, Item]) -> None:
    """Add CONV and HEAD of the branches. CONV may be newer: HEAD is made to agree with it."""
    for branch in branches:
        conversation = found.get(keys.conversation(outline.group_id, branch))
        head = found.get(keys.head(outline.group_id, branch))
        if conversation is None or head is None:
            raise BrokenTreeError("a branch was removed")
        outline.add(_lasting(conversation))
        agreed = {"owner": outline.group_item["owner"]}
        if "changes" in conversation:
            agreed["changes"] = conversation["changes"]
        if "title" in conversation:
            head.pop("untitled", None)
        outline.add(_lasting(head) | agreed)


def _add_found(outline: Outline, found: Mapping[Key, Item], wanted: Iterable[Key]) -> None:
    for key in wanted:
        if key in found:
            outline.add(_lasting(found[key]))


def _lasting(item: Item) -> Item:
    kind = kind_of(items.key(item))
    needed = SHAPES[kind].needed if kind else {}
    return {name: held for name, held in item.items() if name not in OF_THE_MOMENT or name in needed}
