"""The records of an export, as values. `to_line.py` writes them and `from_line.py` reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from forklore_service.domain.ancestry import Path, inherited
from forklore_service.domain.ancestry import bounds_of as stops_of
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.model import (
    Conversation,
    Entry,
    Head,
    Transfer,
)
from forklore_service.domain.names import Name
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import ClientContext, ForkRecord, Member

FORMAT, VERSION = "forklore-table", 1


class Kind(StrEnum):
    """The types of the lines."""

    HEADER = "header"
    TREE = "tree"
    MEMBER = "member"
    TRANSFER = "transfer"
    NAME = "name"
    CONVERSATION = "conversation"
    REMOVED = "removed"
    ENTRY = "entry"
    CONTEXT = "context"
    END = "end"
    TOTAL = "total"


@dataclass(frozen=True, slots=True)
class Header:
    """The first line. export_id: what tells one export from another.

    scope: what was asked for: `everything`, or `owner` or `tree` and an id.
    """

    export_id: str
    exported_at: str
    scope: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Parent:
    """What started a tree: a conversation of another tree, and the entry, if one was named."""

    group_id: str
    conversation_id: str
    entry_id: EntryId | None = None


@dataclass(frozen=True, slots=True)
class TreeStart:
    """A tree. promoted: the branch that was promoted last.

    version, promotions: how often what they count has changed. They tell later events from earlier
    ones. used_at: when a branch was last promoted or removed.
    """

    group_id: str
    owner: str
    created_at: str
    promoted: str | None = None
    parent: Parent | None = None
    version: int = 1
    promotions: int = 0
    used_at: str | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A live conversation, with what appends change, and with what it shows of others.

    The tree says what started a root.
    """

    conversation: Conversation
    head: Head
    path: Path = ()

    @property
    def id(self) -> str:
        return self.conversation.conversation_id


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed branch of which others show entries. created_at: None for a root."""

    conversation_id: str
    created_at: str | None
    removed_at: str
    path: Path = ()

    def remnant(self, group_id: str, nonce: str) -> Remnant:
        """Return what stays of it."""
        record = None
        if self.created_at is not None:
            fork = Conversation(self.conversation_id, group_id, self.created_at)
            record = ForkRecord.of(fork, self.path, is_removed=True)
        return Remnant(group_id, self.conversation_id, self.removed_at, nonce, record)


@dataclass(frozen=True, slots=True)
class EntryLine:
    """An entry. size: the bytes that it takes in an answer."""

    entry: Entry
    size: int


@dataclass(frozen=True, slots=True)
class ContextLine:
    """A client's latest epoch in a conversation."""

    conversation_id: str
    client_id: str
    context: ClientContext


@dataclass(frozen=True, slots=True)
class End:
    """The last line of a tree. sha256: of the bytes of its lines before this one."""

    group_id: str
    conversations: int
    entries: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Total:
    """The last line. sha256: of the digests of all trees, one after another."""

    trees: int
    conversations: int
    entries: int
    sha256: str


Record = (
    Header | TreeStart | Member | Transfer | Name | Branch | Removed | EntryLine | ContextLine | End | Total
)  # fmt: skip


@dataclass(slots=True)
class Outline:
    """A tree without its entries. It is kept in memory, so a tree's limits bound it."""

    start: TreeStart
    members: list[Member] = field(default_factory=list)
    transfer: Transfer | None = None
    names: list[Name] = field(default_factory=list)
    branches: dict[str, Branch] = field(default_factory=dict)
    removed: dict[str, Removed] = field(default_factory=dict)

    @property
    def group_id(self) -> str:
        return self.start.group_id

    def records(self) -> list[Record]:
        """Return the records in the order of the lines."""
        transfers = [self.transfer] if self.transfer else []
        branches, removed = self.branches.values(), self.removed.values()
        return [self.start, *self.members, *transfers, *self.names, *branches, *removed]

    def paths(self) -> dict[str, Path]:
        """Return what the live branches and the removed ones show of others."""
        live = {one.id: one.path for one in self.branches.values()}
        return live | {one.conversation_id: one.path for one in self.removed.values()}

    def shown_before(self) -> dict[str, EntryId]:
        """Return where the entries end that forks show, by the conversation that owns them."""
        ends: dict[str, EntryId] = {}
        for branch in self.branches.values():
            for owner, stop in stops_of(inherited(branch.path)).items():
                ends[owner] = max(ends.get(owner, FIRST), stop)
        return ends

    def has(self, entry_id: EntryId, of: str, ends: Mapping[str, EntryId]) -> bool:
        """Tell whether an entry of the conversation `of` belongs to the tree. ends: `shown_before`.

        Those of a removed branch do that others show.
        """
        if of in self.branches:
            return entry_id <= self.branches[of].head.last
        return of in self.removed and entry_id < ends.get(of, FIRST)
