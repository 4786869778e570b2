"""A tree as an export has it, and whether its items belong together. Pure.

An item is taken only if it is what forklore writes for its value, with its key and the attributes
of the indexes.

What the table holds of a tree elsewhere follows from these items: pointers, keys of entries, rows
of users' lists, and copies of a transfer. An import makes them.
"""

import hashlib

from forklore_local.fsck.shapes import Kind, kind_of
from forklore_local.porting.failures import BrokenTreeError
from forklore_local.porting.lines import require_written
from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import Path, bounds_of, floor_of, inherited
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.model import Channel, Conversation, Head, StartedBy, StoredEntry, Transfer
from forklore_service.domain.names import Name, is_name
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import ClientContext, Group, Member
from forklore_service.domain.users import is_user_id
from forklore_service.storage import items
from forklore_service.storage.connection import Item


class Outline:
    """A tree without its entries. It is kept in memory, so a tree's limits bound it.

    items: all but GROUP. conversations, heads: of the branches. rows: of their list. removed:
    branches of which others show entries. started_by: what started the tree, if it is a child.
    """

    def __init__(self, group_item: Item) -> None:
        """Raises FormatError unless the item is the GROUP of a live tree at rest."""
        self.group_item = group_item
        self.group = items.group(group_item)
        require_written(group_item, items.group_item(_at_rest(self.group)))
        self.items: dict[Key, Item] = {}
        self.members: dict[str, Member] = {}
        self.transfer: Transfer | None = None
        self.names: list[Name] = []
        self.started_by: StartedBy | None = None
        self.conversations: dict[str, Conversation] = {}
        self.heads: dict[str, Head] = {}
        self.paths: dict[str, Path] = {}
        self.rows: dict[Key, Item] = {}
        self.removed: dict[str, Remnant] = {}
        self.contexts: dict[tuple[str, str], ClientContext] = {}

    @property
    def group_id(self) -> str:
        return self.group.group_id

    @property
    def used_at(self) -> str:
        """When the tree was created or last appended to."""
        both = [(one, self.heads[of]) for of, one in self.conversations.items() if of in self.heads]
        return max([self.group.created_at, *(one.used_at(head) for one, head in both)])

    def add(self, item: Item) -> None:
        """Add an item.

        Raises BrokenTreeError for one that no tree of this id has, and FormatError for one that
        forklore would write in another way.
        """
        key = items.key(item)
        kind, of = kind_of(key), key.sort.partition("#")[2]
        if key in self.items:
            raise BrokenTreeError(f"{key.sort} comes twice")
        blank = Conversation(of, self.group_id, self.group.created_at)
        match kind:
            case Kind.NAME if key.partition != self.group_id:
                name = items.name(item)
                self.names.append(name)
                written = items.name_item(name)
            case Kind.CHILD if key == self.group.child_key:
                self.started_by = StartedBy(keys.in_child(key.sort), _started_by(item))
                place = ListKey(self.group.created_at, self.group_id)
                child_key = keys.child(key.partition, self.started_by.conversation_id, place)
                written = items.child_item(child_key, self.started_by)
            case _ if key.partition != self.group_id:
                raise BrokenTreeError(f"{key.partition[:60]} is no item of the tree")
            case Kind.MEM:
                member = items.member(item)
                self.members[member.user_id] = member
                written = items.member_item(self.group_id, member)
            case Kind.XFER:
                self.transfer = items.transfer(item)
                written = _offer_item(self.transfer)
            case Kind.CONV:
                self.conversations[of] = items.conversation(item)
                written = items.conversation_item(self.conversations[of]) | _changes(item)
            case Kind.HEAD:
                self.heads[of] = items.head(item)._replace(answer=None)
                written = items.head_item(blank, self.heads[of]) | _changes(item)
            case Kind.PATH:
                self.paths[of] = items.path(item)
                written = items.path_item(blank, self.paths[of])
            case Kind.TREE:
                self.rows[key] = written = item  # `check` knows what it must be
            case Kind.GONE:
                self.removed[of] = items.remnant(item)
                written = items.remnant_item(self.removed[of])
            case Kind.CTX:
                of_client = keys.in_context(key.sort)
                self.contexts[of_client] = items.context(item)
                written = context_item(self.group_id, *of_client, self.contexts[of_client])
            case _:
                raise BrokenTreeError(f"{key.sort[:60]} does not belong here")
        require_written(item, written)
        self.items[key] = item

    def shown_before(self) -> dict[str, EntryId]:
        """Return where the entries end that forks show, by the conversation that owns them."""
        ends: dict[str, EntryId] = {}
        for conversation_id in self.conversations:
            for owner, stop in bounds_of(inherited(self.paths.get(conversation_id, ()))).items():
                ends[owner] = max(ends.get(owner, FIRST), stop)
        return ends

    def named_only(self) -> set[str]:
        """Return the conversations that a fork or the transfer names, and the tree has no more."""
        points = (one.fork_point for one in self.conversations.values())
        named = {point.conversation_id for point in points if point is not None}
        if self.transfer is not None:
            named.add(self.transfer.conversation_id)
        return named - self.conversations.keys() - self.removed.keys() - {self.group_id}

    def check(self) -> None:
        """Raise BrokenTreeError if the items do not belong together."""
        group, branches = self.group, self.conversations.keys()
        owners = [member.user_id for member in self.members.values() if member.level is AccessLevel.OWNER]
        if owners != [group.owner] or len(self.members) != group.members:
            raise BrokenTreeError("the members were changed, or GROUP does not count them")
        if self.heads.keys() != branches or len(branches) != group.conversations:
            raise BrokenTreeError("a branch was removed, or GROUP does not count them")
        if group.current not in branches:
            raise BrokenTreeError("the current branch was removed")
        if self.removed.keys() != self.shown_before().keys() - branches:
            raise BrokenTreeError("a branch was removed of which others show entries")
        known = branches | self.removed.keys()
        if not (self.paths.keys() | {of for of, _ in self.contexts}) <= known or not all(
            map(ids.is_uuid, known)
        ):
            raise BrokenTreeError("an item is of no branch")
        rows = (items.tree_item(one, self._path(of)) for of, one in self.conversations.items())
        if self.rows != {items.key(row): row for row in rows}:
            raise BrokenTreeError("the list of branches, or a path, cannot be read yet")
        if any(gone != self._remnant(gone) for gone in self.removed.values()):
            raise BrokenTreeError("a removed branch does not agree with its path")
        if any(
            head.floor != floor_of(self._path(of)) or head.owner != group.owner
            for of, head in self.heads.items()
        ):
            raise BrokenTreeError("HEAD does not agree with the path, or names another owner")
        if (group.child_key is None) != (self.started_by is None):
            raise BrokenTreeError("what started the tree is being deleted")
        if any(
            one.started_by != (self.started_by if one.is_root else None)
            for one in self.conversations.values()
        ):
            raise BrokenTreeError("a branch was started by something else than the tree")
        if not all(is_user_id(client_id) for _, client_id in self.contexts):
            raise BrokenTreeError("a context is no client's")
        if any(
            name.conversation_id not in branches
            or name.ref.owner.user_id not in self.members
            or not is_name(name.ref.name)
            for name in self.names
        ):
            raise BrokenTreeError("a name is none, is no member's, or of no branch")
        if self.transfer is not None and not self.is_offer(self.transfer):
            raise BrokenTreeError("a transfer is an offer of the owner to another member")

    def is_offer(self, transfer: Transfer) -> bool:
        """Tell whether the owner offers the tree to another member."""
        owner = self.group.owner
        return transfer.from_user_id == owner != transfer.to_user_id and transfer.to_user_id in self.members

    def _path(self, conversation_id: str) -> Path:
        return self.paths.get(conversation_id, ())

    def _remnant(self, gone: Remnant) -> Remnant:
        """Return what stays of a removed branch with its path."""
        created_at = gone.record.created_at if gone.record else self.group.created_at
        branch = Conversation(gone.conversation_id, self.group_id, created_at)
        path = self._path(gone.conversation_id)
        return Remnant.of(branch, path, removed_at=gone.removed_at, nonce=gone.nonce)


def context_item(group_id: str, conversation_id: str, client_id: str, held: ClientContext) -> Item:
    """Return the item of what a client holds of the context."""
    epoch = {"epoch": held.epoch.number, "first": held.epoch.first, "digest": held.epoch.digest}
    key = keys.context(group_id, conversation_id, client_id)
    return items.key_of(key) | items.present({**epoch, "last": held.last, "count": held.entries})


def _at_rest(group: Group) -> Group:
    """Return a live tree without children that nothing is being done with."""
    return Group(
        group.group_id,
        group.owner,
        group.created_at,
        conversations=group.conversations,
        members=group.members,
        version=group.version,
        promoted=group.promoted,
        promotions=group.promotions,
        used_at=group.used_at,
        child_key=group.child_key,
    )


def _offer_item(transfer: Transfer) -> Item:
    """Return the item of a transfer in its tree, without the mark of the request."""
    minted = transfer._replace(created_at=ids.created_at(EntryId(transfer.transfer_id)))
    of_tree, *_ = items.transfer_items(minted, nonce="")
    return {name: held for name, held in of_tree.items() if name != "nonce"}


def _changes(item: Item) -> Item:
    return items.present({"changes": items.changes(item) or None})


def _started_by(child: Item) -> EntryId | None:
    entry_id = items.child_row(child).started_by
    return EntryId(entry_id) if entry_id else None


class Counted:
    """The entries of a tree, counted while they are read, and compared with what HEADs say."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._ends = outline.shown_before()
        self._numbers: dict[tuple[str, Channel], int] = {}
        self._firsts: dict[str, EntryId] = {}
        self._lasts: dict[str, EntryId] = {}
        self._contexts: dict[tuple[str, str], EntryId] = {}
        self._keys: set[bytes] = set()
        self.entries = 0

    def has(self, stored: StoredEntry) -> bool:
        """Tell whether an entry is of a branch, or is one of a removed branch that others show."""
        owner = stored.entry.conversation_id
        if owner in self._outline.heads:
            return stored.entry_id <= self._outline.heads[owner].last
        return owner in self._outline.removed and stored.entry_id < self._ends.get(owner, FIRST)

    def take(self, stored: StoredEntry) -> None:
        """Count an entry that belongs to the tree.

        Raises BrokenTreeError for one with the key of another one of the conversation.
        """
        entry, owner = stored.entry, stored.entry.conversation_id
        if entry.key is not None:
            digest = hashlib.sha256(f"{owner} {entry.key}".encode()).digest()[:16]  # takes less memory
            if digest in self._keys:
                raise BrokenTreeError(f"two entries of {owner} have one key")
            self._keys.add(digest)
        self.entries += 1
        self._numbers[owner, entry.channel] = self._numbers.get((owner, entry.channel), 0) + 1
        self._firsts.setdefault(owner, entry.entry_id)
        self._lasts[owner] = entry.entry_id
        if entry.channel is Channel.CONTEXT and owner in self._outline.heads:
            self._contexts[owner, entry.client_id or ""] = entry.entry_id

    def check(self) -> None:
        """Raise BrokenTreeError unless each branch has the entries that its HEAD counts."""
        for of, head in self._outline.heads.items():
            counted = tuple(self._numbers.get((of, channel), 0) for channel in Channel)
            bounds = self._firsts.get(of), self._lasts.get(of, head.floor)
            if counted != (head.history, head.context) or bounds != (head.first, head.last):
                raise BrokenTreeError(f"entries of {of} cannot be read, or do not agree with HEAD")
        held = {key: one.last for key, one in self._outline.contexts.items() if key[0] in self._outline.heads}
        if held != self._contexts:
            raise BrokenTreeError("a context does not agree with its entries")
