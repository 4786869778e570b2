"""What is kept of the items: enough to compare them, and no content."""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from forklore.domain import ids
from forklore.domain.ids import EntryId
from forklore.domain.keys import Key, ListKey
from forklore.domain.model import ForkPoint, Head, StartedBy, TokenUsage, Transfer
from forklore.domain.tree import Group, Member, State


class Thought(NamedTuple):
    """A context entry."""

    entry_id: str
    client_id: str | None
    epoch: int | None


NO_USAGE = TokenUsage()


@dataclass(slots=True)
class Own:
    """A conversation's own entries, in order once `sort` was called.

    after: what each names as shown last before it: a history and a context entry. usage: their sum.
    """

    history: list[str] = field(default_factory=list)
    context: list[Thought] = field(default_factory=list)
    after: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    usage: TokenUsage = NO_USAGE

    def sort(self) -> None:
        self.history.sort()
        self.context.sort(key=lambda thought: thought.entry_id)

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
        at = bisect_left(self.context, entry_id, key=lambda thought: thought.entry_id)
        is_context = at < len(self.context) and self.context[at].entry_id == entry_id
        return is_context or self.has_history(entry_id)

    def has_history(self, entry_id: str) -> bool:
        at = bisect_left(self.history, entry_id)
        return at < len(self.history) and self.history[at] == entry_id


NOTHING = Own()


@dataclass(frozen=True, slots=True)
class Conv:
    """What CONV says."""

    created_at: str
    client_id: str | None
    fork_point: ForkPoint | None
    started_by: StartedBy | None
    has_title: bool


@dataclass(frozen=True, slots=True)
class Ctx:
    """What CTX says."""

    epoch: int
    first: str
    last: str
    count: int


@dataclass(slots=True)
class Tree:
    """All that lies in a tree's partition.

    listing: its place in the index of all trees. conversations, paths (packed), heads, own: by conversation.
    contexts: by conversation and escaped client. chunked: entries whose body lies elsewhere, with its chunks.
    """

    group_id: str
    group: Group | None = None
    listing: tuple[str | None, str | None] = None, None
    conversations: dict[str, Conv] = field(default_factory=dict)
    paths: dict[str, bytes] = field(default_factory=dict)
    heads: dict[str, Head] = field(default_factory=dict)
    contexts: dict[tuple[str, str], Ctx] = field(default_factory=dict)
    listed: set[ListKey] = field(default_factory=set)
    members: dict[str, Member] = field(default_factory=dict)
    transfer: Transfer | None = None
    own: dict[str, Own] = field(default_factory=dict)
    chunked: dict[str, int] = field(default_factory=dict)

    @property
    def is_live(self) -> bool:
        return self.group is not None and self.group.state is State.LIVE

    @property
    def is_dying(self) -> bool:
        return self.group is not None and self.group.state is State.DELETING

    @property
    def is_unborn(self) -> bool:
        """Tell whether it is being made, or was given up before it was."""
        return self.group is not None and (self.group.state is State.CREATING or self.group.never_live)

    # A deletion closes all HEADs, then removes entries, members, the transfer and the rest, in that order:
    # what comes later is whole for as long as anything of what comes before is there.

    @property
    def keeps_entries(self) -> bool:
        """Tell whether no entry can have been removed yet."""
        return not self.is_dying or bool(self.heads)

    @property
    def keeps_members(self) -> bool:
        return not self.is_unborn and (self.keeps_entries or bool(self.own))

    @property
    def keeps_transfer(self) -> bool:
        return self.keeps_members or (bool(self.members) and not self.is_unborn)

    @property
    def keeps_rest(self) -> bool:
        return self.keeps_transfer or (self.transfer is not None and not self.is_unborn)

    @property
    def is_erased(self) -> bool:
        """Tell whether a deletion has removed all but its own item, and so perhaps its CHILD."""
        rest = (self.conversations, self.listed, self.contexts, self.paths, self.members, self.transfer)
        return self.is_dying and not (self.keeps_rest or any(rest))

    def own_of(self, conversation_id: str) -> Own:
        return self.own.get(conversation_id, NOTHING)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an IDEM item points at."""

    key: Key
    group_id: str
    conversation_id: str
    entry_ids: tuple[EntryId, ...]


def is_time(text: str) -> bool:
    """Tell whether `text` is a time as forklore spells it."""
    try:
        return ids.timestamp(ids.milliseconds(text)) == text
    except (ValueError, OverflowError, TypeError):
        return False
