"""The models of answers. The API document is made from them, and tests check answers against them.

Their docstrings are descriptions in the API document.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel

from forklore.api.fields import TIME_PATTERN, UUID_PATTERN
from forklore.domain.alternatives import ALTERNATIVES_MAX


class Result(BaseModel):
    """The base of the models: camelCase names, no unknown fields."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", defer_build=True)


Time = Field(pattern=TIME_PATTERN)
Id = Field(pattern=UUID_PATTERN)
Cursor = Field(description="The position to go on from; null where the list ends.")
_ABSENT: Any = None
"""The default of a member that is another model and may be absent."""


class Health(Result):
    """The service answers."""

    status: Literal["ok"]


class Metrics(Result):
    """Sums over the appends, on top of what a fork started with."""

    entries: int
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cost_usd: float


class Conversation(Result):
    """A conversation as its member sees it."""

    id: str = Id
    title: str | None
    owner_user_id: str
    access_level: Literal["owner", "manager", "writer", "reader"]
    is_current: bool
    agent_id: str = Field(default="")
    tags: dict[str, str]
    metadata: dict[str, Any]
    created_at: str = Time
    updated_at: str = Time
    last_message_preview: str = Field(default="", max_length=100)
    forked_at_conversation_id: str = Field(default="", pattern=UUID_PATTERN)
    forked_at_entry_id: str = Field(default="", pattern=UUID_PATTERN)
    forked_at_position: Literal["before", "after", "blank"] = Field(default="before")
    started_by_conversation_id: str = Field(default="", pattern=UUID_PATTERN)
    started_by_entry_id: str = Field(default="", pattern=UUID_PATTERN)
    metrics: Metrics


class ConversationPage(Result):
    """Conversations in the list's order."""

    data: list[Conversation]
    after_cursor: str | None = Cursor


class Conversations(Result):
    """Equal forks that were made together."""

    data: list[Conversation]


class Forked(RootModel[Conversation | Conversations]):
    """The fork, or with `count` in the request `data` with all of them."""


class AdminConversation(Conversation):
    """A conversation as an auditor sees it. `clientId`: the client that its context is bound to."""

    client_id: str = Field(default="")


class AdminConversationPage(Result):
    """Conversations in the list's order."""

    data: list[AdminConversation]
    after_cursor: str | None = Cursor


class Fork(Result):
    """A conversation of a fork tree."""

    conversation_id: str = Id
    title: str | None
    forked_at_conversation_id: str = Field(default="", pattern=UUID_PATTERN)
    forked_at_entry_id: str = Field(default="", pattern=UUID_PATTERN)
    forked_at_position: Literal["before", "after", "blank"] = Field(default="before")
    is_current: bool
    created_at: str = Time


class ForkPage(Result):
    """The conversations of a fork tree, oldest first."""

    data: list[Fork]
    after_cursor: str | None = Cursor


class Entry(Result):
    """What was appended."""

    id: str = Id
    conversation_id: str = Id
    user_id: str
    client_id: str = Field(default="")
    agent_id: str = Field(default="")
    channel: Literal["history", "context"]
    epoch: int = Field(default=1, ge=1)
    key: str = Field(default="", max_length=128)
    content_type: str
    content: list[Any]
    erased: bool = Field(default=False, description="Whether the author was erased. Then `content` is empty.")
    usage: dict[str, Any] = Field(default_factory=dict)
    merged_from_conversation_id: str = Field(default="", pattern=UUID_PATTERN)
    merged_up_to_entry_id: str = Field(default="", pattern=UUID_PATTERN)
    copied_from_conversation_id: str = Field(default="", pattern=UUID_PATTERN)
    copied_from_entry_id: str = Field(default="", pattern=UUID_PATTERN)
    created_at: str = Time


class Synced(Result):
    """What a sync did. `epoch` is null when there is no context, `entry` when nothing was written."""  # noqa: W505 (the API shows it)

    epoch: int | None
    no_op: bool
    epoch_incremented: bool
    entry: Entry | None


NOTHING_SYNCED = Synced.model_construct(epoch=None, no_op=True, epoch_incremented=False, entry=None)
PresentContext: Any = Field(
    default_factory=lambda: NOTHING_SYNCED,
    description="What became of the request's `context`; left out without one.",
)


class AppendedEntry(Entry):
    """The entry that was appended."""

    context: Synced = PresentContext


class Entries(Result):
    """Entries appended together, in order."""

    data: list[Entry]
    context: Synced = PresentContext


class Appended(RootModel[AppendedEntry | Entries]):
    """The entry, or with `entries` in the request `data` with all of them."""


class ListedEntry(Entry):
    """What was appended. `alternatives`: the conversations that go on differently before it."""

    alternatives: list[str] = Field(default_factory=list, max_length=ALTERNATIVES_MAX)


class EntryPage(Result):
    """Entries, oldest first. `alternativesAtEnd`: those that go on where this one ends."""

    data: list[ListedEntry]
    after_cursor: str | None = Cursor
    before_cursor: str | None = Cursor
    alternatives_at_end: list[str] = Field(default_factory=list, max_length=ALTERNATIVES_MAX)


class Base(Result):
    """The last history entry that both conversations show; null: there is none."""

    entry_id: str | None


class ComparedBranch(Result):
    """What a conversation shows of the history after the base, oldest first."""

    conversation_id: str = Id
    data: list[Entry]
    after_cursor: str | None = Cursor


class Comparison(Result):
    """Where two conversations part, and how each goes on: first the one in the path."""

    base: Base
    branches: list[ComparedBranch]


class Ancestor(Result):
    """A conversation that is shown in part, up to `inheritedUpToEntryId`."""

    conversation_id: str = Id
    title: str = Field(default="")
    removed: bool = Field(default=True)
    inherited_up_to_entry_id: str = Field(default="", pattern=UUID_PATTERN)


class Ancestors(Result):
    """Whose entries a conversation shows, the oldest first; the last one is the conversation."""

    data: list[Ancestor]


class Hit(Result):
    """An entry that has all words of the query. `highlights`: its text around the words."""

    conversation_id: str = Id
    conversation_title: str | None
    entry_id: str = Id
    created_at: str = Time
    highlights: list[str]
    entry: Entry = _ABSENT


class SearchPage(Result):
    """Hits: the newest tree first, and in each tree the newest entry first."""

    data: list[Hit]
    after_cursor: str | None = Cursor


class Membership(Result):
    """What a user may do in a fork tree."""

    conversation_id: str = Id
    user_id: str
    access_level: Literal["owner", "manager", "writer", "reader"]
    created_at: str = Time


class MembershipPage(Result):
    """The members of a fork tree, oldest first."""

    data: list[Membership]
    after_cursor: str | None = Cursor


class Transfer(Result):
    """An ownership that is offered."""

    id: str = Id
    conversation_id: str = Id
    from_user_id: str
    to_user_id: str
    created_at: str = Time


class TransferPage(Result):
    """Pending transfers, oldest first."""

    data: list[Transfer]
    after_cursor: str | None = Cursor


class Name(Result):
    """A name and where it points.

    `deleted`: you cannot see the conversation any more. It is deleted, or you are no member.
    """

    name: str
    conversation_id: str = Id
    revision: int = Field(ge=1)
    data: dict[str, Any]
    created_at: str = Time
    updated_at: str = Time
    deleted: bool = Field(default=False)


class NamePage(Result):
    """Names in the order of their UTF-8 bytes."""

    data: list[Name]
    after_cursor: str | None = Cursor


class AdminName(Name):
    """A name as an auditor sees it, with whose it is. `deleted`: the conversation is deleted."""

    user_id: str
    client_id: str = Field(default="")


class AdminNamePage(Result):
    """Names of a user: those without a client, then client by client."""

    data: list[AdminName]
    after_cursor: str | None = Cursor


class Erasure(Result):
    """The erasure of a user: what stands for the user now, and how many things were changed."""

    id: str = Id
    state: Literal["running", "done"]
    pseudonym: str
    trees: int = Field(ge=0, description="Trees that were deleted because the user owned them.")
    memberships: int = Field(ge=0, description="Memberships that were ended.")
    entries: int = Field(ge=0, description="Entries of other users' trees that were erased.")
    passes: int = Field(
        ge=1, description="How often the table was read, or is being read. The last time finds nothing."
    )
    created_at: str = Time
    finished_at: str = Field(default="", pattern=TIME_PATTERN)


class ErrorDetails(BaseModel):
    """What exactly is wrong. Some errors add members of their own, such as `lastEntryId`."""

    model_config = ConfigDict(extra="allow")

    message: str
    field: str = ""
    reason: str = ""


class Error(BaseModel):
    """The one shape of every error."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")

    code: str
    error: str
    request_id: str
    details: ErrorDetails = Field(default_factory=lambda: ErrorDetails(message=""))
