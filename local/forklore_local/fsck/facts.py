"""What the checker keeps of the items: enough to compare them, and no content."""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.links import ReaderLink
from forklore_service.domain.model import ForkPoint, Head, StartedBy, TokenUsage, Transfer, Turn
from forklore_service.domain.notes import NoteRef
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import Group, Member, State


class ContextEntry(NamedTuple):
    """A context entry. hashes: of its elements; None: its body is in BLOB items, or was erased."""

    entry_id: str
    client_id: str | None
    epoch: int | None
    hashes: tuple[bytes, ...] | None


NO_USAGE = TokenUsage()


@dataclass(slots=True)
class Own:
    """A conversation's own entries. They are in order after a call of `sort`.

    after: by entry, the (history, context) entries that it names as shown last before it.
    turns: by entry of a turn of several entries, the turn that it names.
    usage: the sum of the entries' usage. keys: by key, the entry that has it.
    """

    history: list[str] = field(default_factory=list)
    context: list[ContextEntry] = field(default_factory=list)
    after: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    usage: TokenUsage = NO_USAGE
    keys: dict[str, str] = field(default_factory=dict)

    def sort(self) -> None:
        self.history.sort()
        self.context.sort(key=lambda entry: entry.entry_id)

    def __len__(self) -> int:
        return len(self.history) + len(self.context)

    @property
    def first(self) -> str | None:
        firsts = [*self.history[:1], *(t.entry_id for t in self.context[:1])]
        return min(firsts, default=None)

    @property
    def last(self) -> str | None:
        lasts = [*self.history[-1:], *(t.entry_id for t in self.context[-1:])]
        return max(lasts, default=None)

    def holds(self, entry_id: str) -> bool:
        at = bisect_left(self.context, entry_id, key=lambda entry: entry.entry_id)
        is_context = at < len(self.context) and self.context[at].entry_id == entry_id
        return is_context or self.has_history(entry_id)

    def has_history(self, entry_id: str) -> bool:
        at = bisect_left(self.history, entry_id)
        return at < len(self.history) and self.history[at] == entry_id


NOTHING = Own()


@dataclass(frozen=True, slots=True)
class Conv:
    """The values of a CONV item that are compared. changes: as its HEAD counts them, too.

    names_answer: whether it names an answer, whose log goes with the tree.
    """

    created_at: str
    client_id: str | None
    fork_point: ForkPoint | None
    started_by: StartedBy | None
    has_title: bool
    changes: int
    names_answer: bool


@dataclass(slots=True)
class Kept:
    """The hidden items of a branch in the trash, as far as they are there.

    at: the marks that they have. record: its key in the local index.
    """

    at: set[str] = field(default_factory=set)
    conversation: Conv | None = None
    head: Head | None = None
    place: ListKey | None = None
    record: str | None = None


@dataclass(frozen=True, slots=True)
class Ctx:
    """The values of a CTX item that are compared."""

    epoch: int
    first: str
    last: str
    count: int
    digest: bytes | None


@dataclass(slots=True)
class Tree:
    """Everything in a tree's partition.

    listing: the tree's keys in the index of all trees.
    conversations, paths (packed), heads, changes (as HEAD counts them), own: by conversation.
    contexts: by conversation and escaped client. keyed: by conversation and key, the entry that KEY
    names.
    chunked: how many chunks the body has, by entry, for bodies that lie in BLOB items.
    naming: by entry, the attachments that it names. naming_by: the author of each such entry.
    vectors: by conversation and entry, the model of each of its vectors, by the piece, the
    bytes of it, and the shelf. erased: the entries that were erased.
    records: by live conversation, its key in the local index. remnants: by removed branch. kept: by
    branch in the trash.
    links: for readers, those that have not ended. notes: on entries.
    to_prune: the branches that have a job. gone: conversations that items name, and that may have
    been removed from the tree without a trace but their ids.
    """

    group_id: str
    group: Group | None = None
    listing: tuple[str | None, str | None] = None, None
    conversations: dict[str, Conv] = field(default_factory=dict)
    paths: dict[str, bytes] = field(default_factory=dict)
    heads: dict[str, Head] = field(default_factory=dict)
    shut: set[str] = field(default_factory=set)
    changes: dict[str, int] = field(default_factory=dict)
    contexts: dict[tuple[str, str], Ctx] = field(default_factory=dict)
    keyed: dict[tuple[str, str], str] = field(default_factory=dict)
    vectors: dict[tuple[str, str], dict[int, tuple[str, int, str | None]]] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)
    listed: set[ListKey] = field(default_factory=set)
    records: dict[str, str | None] = field(default_factory=dict)
    remnants: dict[str, Remnant] = field(default_factory=dict)
    kept: dict[str, Kept] = field(default_factory=dict)
    to_prune: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    members: dict[str, Member] = field(default_factory=dict)
    links: dict[str, ReaderLink] = field(default_factory=dict)
    notes: set[NoteRef] = field(default_factory=set)
    transfer: Transfer | None = None
    own: dict[str, Own] = field(default_factory=dict)
    chunked: dict[str, int] = field(default_factory=dict)
    naming: dict[str, tuple[str, ...]] = field(default_factory=dict)
    naming_by: dict[str, str] = field(default_factory=dict)

    @property
    def is_live(self) -> bool:
        return self.group is not None and self.group.state is State.LIVE

    @property
    def is_kept(self) -> bool:
        """Tell whether the tree is live, in the trash or on its way back."""
        return self.group is not None and self.group.is_kept

    @property
    def is_deleting(self) -> bool:
        return self.group is not None and self.group.state is State.DELETING

    @property
    def was_never_live(self) -> bool:
        """Tell whether the tree is being created, or its creation was given up."""
        return self.group is not None and (self.group.state is State.CREATING or self.group.never_live)

    # A deletion removes all HEADs, then entries, members, the transfer and the rest, in this order.
    # So each kind is complete as long as any item of an earlier kind exists.

    @property
    def keeps_entries(self) -> bool:
        """Tell whether no entry has been removed yet."""
        return not self.is_deleting or bool(self.heads)

    @property
    def keeps_members(self) -> bool:
        return not self.was_never_live and (self.keeps_entries or bool(self.own))

    @property
    def keeps_transfer(self) -> bool:
        return self.keeps_members or (bool(self.members) and not self.was_never_live)

    @property
    def keeps_rest(self) -> bool:
        return self.keeps_transfer or (self.transfer is not None and not self.was_never_live)

    @property
    def is_erased(self) -> bool:
        """Tell whether a deletion has removed everything but GROUP. Perhaps also CHILD."""
        lists = (
            self.conversations,
            self.remnants,
            self.kept,
            self.listed,
            self.contexts,
            self.keyed,
            self.paths,
        )
        rest = self.transfer or self.members or self.vectors or self.links or self.notes or any(lists)
        return self.is_deleting and not (self.keeps_rest or rest)

    def knows(self, conversation_id: str) -> bool:
        """Tell whether a conversation is live, or a remnant."""
        return conversation_id in self.conversations or conversation_id in self.remnants

    def was_removed(self, conversation_id: str) -> bool:
        """Tell whether a conversation was removed, as far as items can show it."""
        return conversation_id in self.remnants or conversation_id in self.gone

    def is_in_trash(self, conversation_id: str) -> bool:
        """Tell whether a branch was removed and can be restored."""
        remnant = self.remnants.get(conversation_id)
        return remnant is not None and remnant.in_trash

    def may_be_pruned(self, conversation_id: str) -> bool:
        """Tell whether a branch was removed for good."""
        return conversation_id in self.remnants and not self.is_in_trash(conversation_id)

    def is_doomed(self, entry_id: str) -> bool:
        """Tell whether a worker may be removing an entry of a removed branch."""
        return any(self.own_of(one).holds(entry_id) for one in self.to_prune & self.remnants.keys())

    def own_of(self, conversation_id: str) -> Own:
        return self.own.get(conversation_id, NOTHING)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an IDEM item refers to."""

    key: Key
    group_id: str
    conversation_id: str
    entry_ids: tuple[EntryId, ...]


def is_time(text: str) -> bool:
    """Tell whether `text` is a time in forklore's format."""
    try:
        return ids.timestamp(ids.milliseconds(text)) == text
    except (ValueError, OverflowError, TypeError):
        return False
