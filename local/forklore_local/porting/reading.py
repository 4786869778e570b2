"""Reads one tree as an export has it. Nothing here writes.

A tree may be written to meanwhile, so the reads go in an order that makes sense of it. The branches
and their paths are listed first, and then their HEADs are read: so each branch is at least as long
as its forks show of it. Each branch is exported as it was when its HEAD was read, twice the same:
what was read in between is of the same moment. Its entries are those up to the last one that HEAD
names. Forks that are made after the list was read are not exported. If a branch is removed
meanwhile, or the members change while they are read, the tree is read again.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache

from forklore_local.fsck.shapes import SHAPES, Kind, kind_of
from forklore_local.porting.failures import BrokenTreeError
from forklore_local.porting.outline import Counted, Outline
from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Entry, StoredEntry
from forklore_service.domain.names import Name
from forklore_service.domain.tree import Group
from forklore_service.errors import UnavailableError
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.items import number, text
from forklore_service.storage.table import BLOBS_AT_ONCE, LOOKS_MAX, Table

ENTRIES_AT_ONCE = 100
"""Entries that are in memory at once, beside a page of a Query. Fewer if their bodies are large."""
NAMES_KEPT = 1_000
"""Users whose names are remembered, because they may be members of the next tree, too."""
OF_THE_MOMENT = {
    *("nonce", "memberChange", "spreading", "rewriting", "promotedBy", "promotedAt", "imported"),
}
"""Attributes of no use once what wrote them is over, where a kind can be without them."""


class TreeReader:
    """Reads trees of a table, one after another."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._names_of: Callable[[str], list[Name]] = lru_cache(NAMES_KEPT)(
            lambda user_id: list(table.read.all_names(user_id))
        )

    def outline(self, group_id: str) -> Outline | None:
        """Return all of a tree but its entries; None if it is not live.

        Raises BrokenTreeError: then it is to be read again.
        """
        key = keys.group(group_id)
        item = self._table.items_at([key]).get(key)
        if item is None or not items.group(item).is_live:
            return None
        rest = self._table.query(keys.members_range(group_id)._replace(last=keys.others_range(group_id).last))
        listed = [(items.key(one), one) for one in rest]
        branches = {
            keys.list_key(place.sort).conversation_id for place, _ in listed if kind_of(place) is Kind.TREE
        }
        counts = {"children": number(0), "conversations": number(len(branches))}
        outline = Outline(_lasting(item) | counts)
        for place, one in listed:
            match kind_of(place):
                case Kind.PATH if place.sort.partition("#")[2] not in branches:
                    pass
                case Kind.XFER if not outline.is_offer(items.transfer(one)):
                    pass
                case _:
                    outline.add(_lasting(one))
        beside = self._add_branches(outline, branches)
        paths = {place: one for place, one in listed if kind_of(place) is Kind.PATH}
        for removed in sorted(outline.shown_before().keys() - branches):
            for one in (*beside.get(removed, ()), paths.get(keys.path(group_id, removed))):
                if one is not None:
                    outline.add(_lasting(one))
        self._add_others(outline)
        outline.check()
        return outline

    def _add_branches(self, outline: Outline, branches: set[str]) -> dict[str, list[Item]]:
        """Add CONV, CTX and HEAD of the branches. Return GONE and CTX of other conversations.

        A branch that is written to meanwhile is looked at again.
        """
        group_id, left = outline.group_id, set(branches)
        for attempt in range(LOOKS_MAX):
            self._table.pause(attempt)
            before = {items.key(one): one for one in self._table.query(keys.heads_range(group_id))}
            found, beside = dict[Key, Item](), dict[str, list[Item]]()
            for one in self._table.query(keys.conversations_and_heads_range(group_id)):
                key = items.key(one)
                found[key] = one
                if kind_of(key) in (Kind.CTX, Kind.GONE):
                    beside.setdefault(key.sort.split("#")[1], []).append(one)
            group = found.get(keys.group(group_id))
            if group is None or items.group(group).version != outline.group.version:
                raise BrokenTreeError("the members were changed, or a branch was removed")
            for branch in sorted(left):
                head = keys.head(group_id, branch)
                conversation, now = found.get(keys.conversation(group_id, branch)), found.get(head)
                if conversation is None or now is None:
                    raise BrokenTreeError("a branch was removed")
                if before.get(head) == now and items.changes(conversation) == items.changes(now):
                    left.remove(branch)
                    own = now | {"owner": text(outline.group.owner)}
                    for one in (conversation, *beside.get(branch, ()), own):
                        outline.add(_lasting(one))
            if not left:
                return beside
        raise BrokenTreeError("it is written to all the time")

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

    def entries(self, outline: Outline) -> Iterator[tuple[Item, Entry]]:
        """Yield the entries of a tree in their order, each as an item and with its content.

        Raises BrokenTreeError: then all that was yielded is to be forgotten.
        """
        counted = Counted(outline)
        for some in self._batches(outline, counted):
            stored = [one for _, one in some]
            for (item, _), entry in zip(some, self._with_bodies(outline.group_id, stored), strict=True):
                yield item, entry
        counted.check()
        group = self._group(outline.group_id)
        is_same = group is not None and group.version == outline.group.version
        if not is_same and not outline.heads.keys() <= set(self._table.read.head_ids(outline.group_id)):
            # A worker may have removed entries of the branch before they were read.
            raise BrokenTreeError("a branch was removed")

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
            return self._table.with_bodies(group_id, some)
        except UnavailableError as error:
            wanted = [keys.blob(group_id, one.entry_id, at) for one in some for at in range(one.chunks)]
            if len(self._table.items_at(wanted)) < len(wanted):
                raise BrokenTreeError("a part of an entry is missing") from error
            raise


def _lasting(item: Item) -> Item:
    kind = kind_of(items.key(item))
    needed = SHAPES[kind].needed if kind else {}
    return {name: held for name, held in item.items() if name not in OF_THE_MOMENT or name in needed}
