"""A tree as an export has it, and whether its items belong together. Pure.

What the table holds of a tree elsewhere follows from these items: pointers, keys of entries, rows
of users' lists, and copies of a transfer. An import makes them.
"""

from forklore_local.fsck.shapes import Kind, kind_of
from forklore_local.porting.failures import BrokenTreeError
from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import Path, bounds_of, floor_of, inherited
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.model import Channel, Conversation, Head, StoredEntry, Transfer
from forklore_service.domain.names import Name
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import ChildRow, ClientContext, ForkRecord, Member
from forklore_service.storage import items
from forklore_service.storage.connection import Item


class Outline:
    """A tree without its entries. It is kept in memory, so a tree's limits bound it.

    items: all but GROUP. conversations, heads: of the branches. rows: of their list, each with the
    record of where a fork leaves. removed: branches of which others show entries. started_by: the
    row of a child in the list of what started it.
    """

    def __init__(self, group_item: Item) -> None:
        self.group_item = group_item
        self.group = items.group(group_item)
        self.items: dict[Key, Item] = {}
        self.members: dict[str, Member] = {}
        self.transfer: Transfer | None = None
        self.names: list[Name] = []
        self.started_by: ChildRow | None = None
        self.conversations: dict[str, Conversation] = {}
        self.heads: dict[str, Head] = {}
        self.paths: dict[str, Path] = {}
        self.rows: dict[ListKey, ForkRecord | None] = {}
        self.removed: dict[str, Remnant] = {}
        self.contexts: dict[tuple[str, str], ClientContext] = {}

    @property
    def group_id(self) -> str:
        return self.group.group_id

    def add(self, item: Item) -> None:
        """Add an item. Raises BrokenTreeError for one that no tree of this id has."""
        key = items.key(item)
        kind, of = kind_of(key), key.sort.partition("#")[2]
        if key in self.items:
            raise BrokenTreeError(f"{key.sort} comes twice")
        match kind:
            case Kind.NAME if key.partition != self.group_id:
                self.names.append(items.name(item))
            case Kind.CHILD if key == self.group.child_key:
                self.started_by = items.child_row(item)
            case _ if key.partition != self.group_id:
                raise BrokenTreeError(f"{key.partition[:60]} is no item of the tree")
            case Kind.MEM:
                member = items.member(item)
                self.members[member.user_id] = member
            case Kind.XFER:
                self.transfer = items.transfer(item)
            case Kind.CONV:
                self.conversations[of] = items.conversation(item)
            case Kind.HEAD:
                self.heads[of] = items.head(item)
            case Kind.PATH:
                self.paths[of] = items.path(item)
            case Kind.TREE:
                place = keys.list_key(key.sort)
                self.rows[place] = None if place.conversation_id == self.group_id else items.fork_record(item)
            case Kind.GONE:
                self.removed[of] = items.remnant(item)
            case Kind.CTX:
                self.contexts[keys.in_context(key.sort)] = items.context(item)
            case _:
                raise BrokenTreeError(f"{key.sort[:60]} does not belong here")
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
        if self.rows != {
            ListKey(one.created_at, one.conversation_id): self._record(one)
            for one in self.conversations.values()
        }:
            raise BrokenTreeError("the list of branches, or a path, cannot be read yet")
        if any(head.floor != floor_of(self.paths.get(of, ())) for of, head in self.heads.items()):
            raise BrokenTreeError("HEAD does not agree with the path")
        if (group.child_key is None) != (self.started_by is None):
            raise BrokenTreeError("what started the tree is being deleted")
        if any(
            name.conversation_id not in branches or name.ref.owner.user_id not in self.members
            for name in self.names
        ):
            raise BrokenTreeError("a name is no member's, or of no branch")
        if self.transfer is not None and not self.is_offer(self.transfer):
            raise BrokenTreeError("a transfer is an offer of the owner to another member")

    def is_offer(self, transfer: Transfer) -> bool:
        """Tell whether the owner offers this tree to another member."""
        is_own = transfer.group_id == self.group_id and ids.is_uuid(transfer.conversation_id)
        is_minted = ids.is_entry_id(transfer.transfer_id) and (
            ids.created_at(EntryId(transfer.transfer_id)) == transfer.created_at
        )
        return is_own and is_minted and self._is_to_member(transfer)

    def _is_to_member(self, transfer: Transfer) -> bool:
        owner = self.group.owner
        return transfer.from_user_id == owner != transfer.to_user_id and transfer.to_user_id in self.members

    def _record(self, one: Conversation) -> ForkRecord | None:
        return None if one.is_root else ForkRecord.of(one, self.paths.get(one.conversation_id, ()))


class Counted:
    """The entries of a tree, counted while they are read, and compared with what HEADs say."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._ends = outline.shown_before()
        self._numbers: dict[tuple[str, Channel], int] = {}
        self._firsts: dict[str, EntryId] = {}
        self._lasts: dict[str, EntryId] = {}
        self._contexts: dict[tuple[str, str], EntryId] = {}
        self.entries = 0

    def has(self, stored: StoredEntry) -> bool:
        """Tell whether an entry is of a branch, or is one of a removed branch that others show."""
        owner = stored.entry.conversation_id
        if owner in self._outline.heads:
            return stored.entry_id <= self._outline.heads[owner].last
        return owner in self._outline.removed and stored.entry_id < self._ends.get(owner, FIRST)

    def take(self, stored: StoredEntry) -> None:
        """Count an entry that belongs to the tree."""
        entry, owner = stored.entry, stored.entry.conversation_id
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
