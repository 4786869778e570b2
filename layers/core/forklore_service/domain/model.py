"""The values that forklore is about. Times are RFC 3339 text; JSON that callers own stays text."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, NamedTuple

from forklore_service.domain.ids import FIRST, EntryId, created_at

Json = Annotated[str, "JSON"]
"""JSON text exactly as it was sent."""
NO_TAGS: Mapping[str, str] = MappingProxyType({})


class Channel(StrEnum):
    """What a conversation shows people, and what an agent keeps for itself."""

    HISTORY = "history"
    CONTEXT = "context"


class ForkPosition(StrEnum):
    """Where a fork leaves its source: before or after the anchor, or with nothing at all."""

    BEFORE = "before"
    AFTER = "after"
    BLANK = "blank"


class JobKind(StrEnum):
    """The kinds of unfinished work that a tree may have.

    TRANSFER: the tree has a new owner, and its HEADs do not all name them yet. MEMBERS: the tree
    took something from a member, and its children may not all have done so yet. PRUNE: a branch was
    removed, and what nobody shows of it may still be there. ERASURE: not about one tree; a user is
    being erased. UPLOAD: about an attachment, which may be one that no entry names.
    """

    DELETION = "delete"
    CREATION = "create"
    TRANSFER = "transfer"
    MEMBERS = "members"
    PRUNE = "prune"
    ERASURE = "erase"
    UPLOAD = "upload"


TREE_JOBS = (JobKind.DELETION, JobKind.CREATION, JobKind.TRANSFER)
"""The kinds of work that a whole tree may have, beside MEMBERS, of which GROUP tells."""


class Caller(NamedTuple):
    """Who sends a request.

    client_id: the app whose API key was sent; None for a plain user. bypasses_membership: acts as
    an auditor or admin, without memberships and for the context of all clients.
    """

    user_id: str
    client_id: str | None = None
    roles: frozenset[str] = frozenset()
    bypasses_membership: bool = False


class TokenUsage(NamedTuple):
    """What model calls used; cost in billionths of a dollar."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cost_nano_usd: int = 0

    @classmethod
    def total(cls, usages: Iterable["TokenUsage"]) -> "TokenUsage":
        return cls(*map(sum, zip(cls(), *usages, strict=True)))


class Metrics(NamedTuple):
    """Sums over a conversation's appends, on top of what its fork started with."""

    entries: int = 0
    usage: TokenUsage = TokenUsage()


class LastEntries(NamedTuple):
    """The last history entry and the last context entry that a conversation shows.

    The context entry may be of any client.
    """

    history: EntryId | None = None
    context: EntryId | None = None

    @property
    def last(self) -> EntryId | None:
        """The later one of the two."""
        return max((one for one in (self.history, self.context) if one is not None), default=None)

    def of(self, channel: Channel) -> EntryId | None:
        return self.history if channel is Channel.HISTORY else self.context

    def moved(self, channel: Channel, entry_id: EntryId) -> "LastEntries":
        """Return what is shown last once an entry was appended."""
        is_history = channel is Channel.HISTORY
        return LastEntries(entry_id, self.context) if is_history else LastEntries(self.history, entry_id)


NOTHING = LastEntries()


class Tip(NamedTuple):
    """Where the next entry of a conversation goes. last: the last own entry, or the floor.

    lasts: the last entries shown before that next one.
    """

    last: EntryId
    lasts: LastEntries = NOTHING


class Turn(NamedTuple):
    """A history entry with the context entries that were appended together with it.

    A fork never splits a turn. first, last: its first and last entry. before, after: what the
    conversation shows last before the turn and after it.
    """

    first: EntryId
    last: EntryId
    before: LastEntries
    after: LastEntries


class EntryRef(NamedTuple):
    """A conversation, and an entry that it shows; None: no entry in particular."""

    conversation_id: str
    entry_id: EntryId | None


class Attached(NamedTuple):
    """An attachment that an entry names. name: as the entry calls it.

    url, url_expires_at: where its bytes are, for some minutes. They are made for an answer, and are
    not stored.
    """

    attachment_id: str
    name: str
    content_type: str
    size: int
    url: str | None = None
    url_expires_at: str | None = None


class Entry(NamedTuple):
    """What was appended, never edited. usage: what the model call used, as the caller says.

    after: what the conversation showed last when the entry was appended.
    turn: for an entry of a turn of several entries. key: the caller's name for the entry.
    merged_from: the branch that the entry sums up, and the last entry of it. copied_from: the
    original. indexed_content: the text by which a search finds the entry, beside its content.
    metadata: what its author keeps beside it.
    is_erased: whether its author was erased. Then it has no content.
    attachments: the files that its content names.
    """

    entry_id: EntryId
    conversation_id: str
    user_id: str
    channel: Channel
    content_type: str
    content: Json
    client_id: str | None = None
    agent_id: str | None = None
    epoch: int | None = None
    usage: Json | None = None
    after: LastEntries = NOTHING
    turn: Turn | None = None
    key: str | None = None
    merged_from: EntryRef | None = None
    copied_from: EntryRef | None = None
    indexed_content: str | None = None
    metadata: Json | None = None
    is_erased: bool = False
    attachments: tuple[Attached, ...] = ()

    @property
    def begins(self) -> EntryId:
        """The first entry of its turn."""
        return self.turn.first if self.turn else self.entry_id

    @property
    def ends(self) -> EntryId:
        """The last entry of its turn."""
        return self.turn.last if self.turn else self.entry_id

    @property
    def lasts_before(self) -> LastEntries:
        """What the conversation shows last before the entry's turn."""
        return self.turn.before if self.turn else self.after

    @property
    def lasts_after(self) -> LastEntries:
        """What the conversation shows last after the entry's turn."""
        return self.turn.after if self.turn else self.after.moved(self.channel, self.entry_id)


class EntryLayout(NamedTuple):
    """What there is beside an entry's item.

    chunks: how many BLOB items hold its body. attachment_ids: what it names, each with a REF item.
    """

    entry_id: EntryId
    chunks: int
    attachment_ids: tuple[str, ...] = ()


class StoredEntry(NamedTuple):
    """An entry as it is stored: its content is still packed in a body, and empty in `entry`.

    chunks: how many BLOB items hold the body; 0: it is in `body`.
    escaped_bytes: about how many bytes of an answer the entry takes.
    nonce: of the request that has written it.
    """

    entry: Entry
    body: bytes
    chunks: int
    escaped_bytes: int
    nonce: str

    @property
    def entry_id(self) -> EntryId:
        return self.entry.entry_id

    @property
    def layout(self) -> EntryLayout:
        named = tuple(one.attachment_id for one in self.entry.attachments)
        return EntryLayout(self.entry_id, self.chunks, named)


class ForkPoint(NamedTuple):
    """Where a fork was made, as the request said. entry_id None: it inherits nothing."""

    conversation_id: str
    entry_id: EntryId | None
    position: ForkPosition


class StartedBy(NamedTuple):
    """What started a child: a conversation, and the entry of it, if one was named."""

    conversation_id: str
    entry_id: EntryId | None


class Description(NamedTuple):
    """What callers say of a conversation, when they make it and later.

    An item and an answer have each field under its own name in camelCase.
    Items and lines leave out a field that has its default.
    """

    title: str | None = None
    tags: Mapping[str, str] = NO_TAGS
    metadata: Json = "{}"


NO_DESCRIPTION = Description()
"""The description of a conversation of which nothing is said."""


class Words(NamedTuple):
    """A text with the user who said it. by: empty if somebody chose the text as a title.

    Titles and previews are made of what users say. They name the user wherever they are copied to,
    so that an erasure finds them.
    """

    text: str
    by: str

    def beginning(self, characters_max: int) -> "Words":
        return self._replace(text=self.text[:characters_max])


class Conversation(NamedTuple):
    """What is written once or seldom.

    client_id: the client that its context is bound to. titled_by: whose words the title is; empty
    if somebody chose it.
    """

    conversation_id: str
    group_id: str
    created_at: str
    described: Description = NO_DESCRIPTION
    agent_id: str | None = None
    client_id: str | None = None
    fork_point: ForkPoint | None = None
    started_by: StartedBy | None = None
    titled_by: str = ""

    @property
    def is_root(self) -> bool:
        return self.conversation_id == self.group_id

    @property
    def title(self) -> Words | None:
        title = self.described.title
        return None if title is None else Words(title, self.titled_by)

    def used_at(self, head: "Head") -> str:
        """Return when it was created or last appended to."""
        return max(self.created_at, head.appended_at)

    def titled(self, title: Words | None) -> "Conversation":
        """Return the conversation, with this title if it has none."""
        if title is None or self.described.title is not None:
            return self
        return self._replace(described=self.described._replace(title=title.text), titled_by=title.by)


class Transfer(NamedTuple):
    """An offered ownership. conversation_id: the one that the sender named; any of the tree."""

    transfer_id: str
    group_id: str
    conversation_id: str
    from_user_id: str
    to_user_id: str
    created_at: str


class Answering(NamedTuple):
    """An answer that was begun in a conversation, and not ended. Its log says how far it is.

    after: the entry that it follows; None: nothing is shown before it. user_id: who writes it.
    """

    answer_id: str
    after: EntryId | None
    user_id: str
    since: str


class Head(NamedTuple):
    """What every append moves.

    changed_at: when the conversation was made, or changed by anything but an append.
    floor: all own entries come after it.
    first: the first own entry. last: the last own entry, or the floor.
    lasts: of the view. history, context: counts of own entries. untitled: it never had a title.
    promoted_at: when an append, or its creation, has last made it the current branch.
    answer: the one that is being written.
    """

    owner: str
    changed_at: str
    floor: EntryId = FIRST
    first: EntryId | None = None
    last: EntryId = FIRST
    lasts: LastEntries = NOTHING
    history: int = 0
    context: int = 0
    metrics: Metrics = Metrics()
    untitled: bool = False
    preview: Words | None = None
    promoted_at: str | None = None
    answer: Answering | None = None

    @property
    def tip(self) -> Tip:
        return Tip(self.last, self.lasts)

    @property
    def last_history(self) -> EntryId | None:
        return self.lasts.history

    @property
    def own_entries(self) -> int:
        return self.history + self.context

    @property
    def appended_at(self) -> str:
        """When it was last appended to; empty without own entries."""
        return created_at(self.last) if self.own_entries else ""

    @property
    def updated_at(self) -> str:
        """When it was last appended to or changed.

        It never goes back, even if a clock was ahead.
        """
        return max(self.changed_at, self.appended_at)
