"""Reads one tree as an export has it. Nothing here writes.

A tree may be written to meanwhile, so the reads go in an order that makes sense of it. The branches
are listed first. Then come their paths, and then their HEADs: so each branch is at least as long as
its forks show of it. Each branch is exported as it was when its HEAD was read: the entries up to
the last one that HEAD names. Forks that are made after the list was read are not exported. If a
branch is removed meanwhile, or the members change while they are read, the tree is read again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from forklore_local.porting.records import (
    Branch,
    ContextLine,
    EntryLine,
    Outline,
    Parent,
    Record,
    Removed,
    TreeStart,
)
from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import Path
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Channel, Conversation, Entry, Head, StoredEntry
from forklore_service.domain.names import Name
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import ClientContext, ForkRecord, Group, Member
from forklore_service.errors import UnavailableError
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.table import BLOBS_AT_ONCE, Table

ENTRIES_AT_ONCE = 100
"""Entries that are in memory at once, beside a page of a Query. Fewer if their bodies are large."""
NAMES_KEPT = 1_000
"""Users whose names are remembered, because they may be members of the next tree, too."""

T = TypeVar("T")
ContextKey = tuple[str, str]
"""A conversation and a client."""


class ChangedError(Exception):
    """The tree was changed while it was read, in a way that its export cannot show."""


class TreeReader:
    """Reads trees of a table, one after another."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._names_of: Callable[[str], list[Name]] = lru_cache(NAMES_KEPT)(self._read_names)

    def outline(self, group_id: str) -> "TreeOutline | None":
        """Return all of a tree but its entries; None if it is not live.

        Raises ChangedError: then it is to be read again.
        """
        group = self._group(group_id)
        if group is None or not group.is_live:
            return None
        outline = Outline(self._start(group))
        outline.members = self._members(group)
        transfer = self._table.get([keys.transfer_of_group(group_id)]).transfer_of_group(group_id)
        users = {member.user_id for member in outline.members}
        if transfer is not None and transfer.from_user_id == group.owner and transfer.to_user_id in users:
            outline.transfer = transfer
        listed = dict(self._listed(group_id))
        paths = dict(self._each(keys.paths_range(group_id), items.path))
        remnants = dict(self._each(keys.remnants_range(group_id), items.remnant))
        contexts = {
            keys.in_context(items.key(item).sort): items.context(item)
            for item in self._table.query(keys.contexts_range(group_id))
        }
        heads = self._table.read.heads(group_id).heads(group_id)
        conversations = dict(self._each(keys.conversations_range(group_id), items.conversation))
        for conversation_id, record in listed.items():
            conversation, head = conversations.get(conversation_id), heads.get(conversation_id)
            path = paths.get(conversation_id, ())
            if conversation is None or head is None:
                raise ChangedError("a branch was removed")
            if record is not None and ForkRecord.of(conversation, path) != record:
                raise ChangedError("the path of a fork cannot be read yet")
            outline.branches[conversation_id] = Branch(conversation, _titled(head, conversation), path)
        self._add_removed(outline, remnants, paths)
        if group.current not in outline.branches:
            raise ChangedError("the current branch was removed")
        if self._version(group_id) != group.version:
            raise ChangedError("the members were changed, or a branch was removed")
        outline.names = [
            name
            for user_id in sorted(users)
            for name in self._names_of(user_id)
            if name.conversation_id in outline.branches
        ]
        return TreeOutline(outline, group.version, contexts)

    def rest(self, tree: "TreeOutline") -> Iterator[Record]:
        """Yield the entries of a tree in their order, and then what clients hold of the context.

        Raises ChangedError: then all that was yielded is to be forgotten.
        """
        told = _Told(tree)
        for some in self._batches(tree.outline):
            for stored, entry in zip(some, self._with_bodies(tree.outline.group_id, some), strict=True):
                told.take(stored)
                yield EntryLine(entry, stored.escaped_bytes)
        told.check()
        self._check_unchanged(tree)
        for (conversation_id, client_id), context in sorted(told.contexts.items()):
            is_sure = told.is_sure_of(conversation_id, client_id)
            now = context if is_sure else self._now(tree, conversation_id, client_id, context)
            yield ContextLine(conversation_id, client_id, now)

    # The parts of an outline

    def _group(self, group_id: str) -> Group | None:
        return self._table.get([keys.group(group_id)]).group(group_id)

    def _start(self, group: Group) -> TreeStart:
        parent = None
        if group.child_key is not None:
            row = self._table.items_at([group.child_key]).get(group.child_key)
            if row is None:
                raise ChangedError("its parent is being deleted")
            entry_id = items.child_row(row).started_by
            parent = Parent(
                group.child_key.partition,
                keys.in_child(group.child_key.sort),
                EntryId(entry_id) if entry_id else None,
            )
        return TreeStart(
            group.group_id,
            group.owner,
            group.created_at,
            group.promoted,
            parent,
            group.version,
            group.promotions,
            group.used_at,
        )

    def _version(self, group_id: str) -> int | None:
        group = self._group(group_id)
        return group.version if group is not None and group.is_live else None

    def _members(self, group: Group) -> list[Member]:
        members = list(self._table.read.members(group.group_id))
        owners = [member.user_id for member in members if member.level is AccessLevel.OWNER]
        if owners != [group.owner] or len(members) != group.members:
            raise ChangedError("the members were changed")
        return members

    def _listed(self, group_id: str) -> Iterator[tuple[str, ForkRecord | None]]:
        """Yield the branches, the oldest first, each with the record of where it leaves."""
        for row in self._table.query(keys.tree_range(group_id)):
            conversation_id = keys.list_key(items.key(row).sort).conversation_id
            yield conversation_id, None if conversation_id == group_id else items.fork_record(row)

    def _each(self, of: keys.SortRange, decode: Callable[[Item], T]) -> Iterator[tuple[str, T]]:
        """Yield the items of a range, each with the conversation that its key names."""
        for item in self._table.query(of):
            yield items.key(item).sort.split("#")[1], decode(item)

    def _add_removed(self, outline: Outline, remnants: dict[str, Remnant], paths: dict[str, Path]) -> None:
        for conversation_id in outline.shown_before():
            if conversation_id in outline.branches:
                continue
            remnant = remnants.get(conversation_id)
            if remnant is None:
                raise ChangedError("a branch was removed")
            created_at = remnant.record.created_at if remnant.record else None
            outline.removed[conversation_id] = Removed(
                conversation_id, created_at, remnant.removed_at, paths.get(conversation_id, ())
            )

    def _read_names(self, user_id: str) -> list[Name]:
        return list(self._table.read.all_names(user_id))

    # The entries

    def _batches(self, outline: Outline) -> Iterator[list[StoredEntry]]:
        """Yield the entries that belong to the tree, in order, without their bodies."""
        ends, batch, blobs = outline.shown_before(), list[StoredEntry](), 0
        for item in self._table.query(keys.entries_range(outline.group_id)):
            stored = items.stored_entry(item)
            if not outline.has(stored.entry_id, stored.entry.conversation_id, ends):
                continue
            batch.append(stored)
            blobs += stored.chunks
            if len(batch) == ENTRIES_AT_ONCE or blobs >= BLOBS_AT_ONCE:
                yield batch
                batch, blobs = [], 0
        if batch:
            yield batch

    def _with_bodies(self, group_id: str, some: list[StoredEntry]) -> list[Entry]:
        try:
            return self._table.with_bodies(group_id, some)
        except UnavailableError as error:
            wanted = [keys.blob(group_id, one.entry_id, at) for one in some for at in range(one.chunks)]
            if len(self._table.items_at(wanted)) < len(wanted):
                raise ChangedError("a part of an entry is missing") from error
            raise

    def _check_unchanged(self, tree: "TreeOutline") -> None:
        """Raise ChangedError if a branch was removed since the outline was read.

        Then a worker may have removed entries before they were read.
        """
        group_id = tree.outline.group_id
        if self._version(group_id) == tree.version:
            return
        heads = set(self._table.read.head_ids(group_id))
        if not tree.outline.branches.keys() <= heads:
            raise ChangedError("a branch was removed")

    def _now(
        self, tree: "TreeOutline", conversation_id: str, client_id: str, context: ClientContext
    ) -> ClientContext:
        """Return the context of a client who had none when the outline was read.

        Only its item says where the epoch begins, because that may be an inherited entry. It stays
        as it is as long as the epoch lasts.
        """
        group_id = tree.outline.group_id
        key = keys.context(group_id, conversation_id, client_id)
        now = self._table.get([key]).context(group_id, conversation_id, client_id)
        if now is None or now.epoch.number != context.epoch.number:
            raise ChangedError("a client has begun another epoch")
        return context._replace(epoch=now.epoch._replace(digest=None))


@dataclass(frozen=True, slots=True)
class TreeOutline:
    """A tree as it was read, without its entries.

    version: GROUP's, at that time. contexts: what clients held of the context, before HEADs were
    read.
    """

    outline: Outline
    version: int
    contexts: dict[ContextKey, ClientContext]


class _Told:
    """What the entries that were yielded add up to.

    contexts: what clients hold of the context after these entries.
    """

    def __init__(self, tree: TreeOutline) -> None:
        self._branches = tree.outline.branches
        known = self._branches.keys() | tree.outline.removed.keys()
        self.contexts = {key: held for key, held in tree.contexts.items() if key[0] in known}
        self._unsure: set[ContextKey] = set()
        self._counts: dict[tuple[str, Channel], int] = {}
        self._lasts: dict[str, EntryId] = {}

    def take(self, stored: StoredEntry) -> None:
        entry = stored.entry
        owner = entry.conversation_id
        self._counts[owner, entry.channel] = self._counts.get((owner, entry.channel), 0) + 1
        self._lasts[owner] = entry.entry_id
        if entry.epoch is None or entry.client_id is None or owner not in self._branches:
            return
        key = owner, entry.client_id
        held = self.contexts.get(key)
        if held is not None and entry.entry_id <= held.last:
            return
        if held is not None and held.epoch.number == entry.epoch:
            epoch = held.epoch._replace(digest=None)
            self.contexts[key] = ClientContext(epoch, last=entry.entry_id, entries=held.entries + 1)
            return
        if held is None:
            self._unsure.add(key)
        else:
            self._unsure.discard(key)
        self.contexts[key] = ClientContext(Epoch(entry.epoch, entry.entry_id), last=entry.entry_id, entries=1)

    def is_sure_of(self, conversation_id: str, client_id: str) -> bool:
        """Tell whether the first entry of the client's epoch is known."""
        return (conversation_id, client_id) not in self._unsure

    def check(self) -> None:
        """Raise ChangedError unless each branch has the entries that its HEAD counts."""
        for branch in self._branches.values():
            head = branch.head
            counted = tuple(self._counts.get((branch.id, channel), 0) for channel in Channel)
            is_last = not head.own_entries or self._lasts.get(branch.id) == head.last
            if counted != (head.history, head.context) or not is_last:
                raise ChangedError(f"entries of {branch.id} cannot be read, or do not agree with HEAD")


def _titled(head: Head, conversation: Conversation) -> Head:
    """Return HEAD as it is with this title, which may be newer."""
    return head._replace(untitled=False) if conversation.described.title is not None else head
