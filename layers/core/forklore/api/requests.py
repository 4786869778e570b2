"""The models of query parameters and bodies. An unknown field is an error.

Docstrings of bodies are descriptions in the API document.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    RootModel,
    Tag,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel

from forklore.api import fields, wording
from forklore.domain.jsontext import JsonText
from forklore.domain.listing import Ancestry, Mode
from forklore.domain.model import Caller, Channel, TokenUsage
from forklore.domain.names import NameMove, NameRef
from forklore.usecases.removal import Scope
from forklore.usecases.transfers import Role

KEPT_AS_TEXT = frozenset({"content", "data", "metadata", "usage"})
"""Body fields that are kept as the text that was sent, because answers repeat them exactly."""
BODY_CHARACTERS_MAX = 5_500_000
"""A longer body is refused before it is read. An answer holds at most 5 MB of content."""

BATCH_ENTRIES_MAX = 50


class Request(BaseModel):
    """The base of all models: camelCase names, strict types, no unknown fields."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        strict=True,
        frozen=True,
        arbitrary_types_allowed=True,
        defer_build=True,
    )
    hints: ClassVar[Mapping[str, str]] = {}
    """Messages about unknown names that are likely mistakes."""
    others: ClassVar[tuple[str, ...]] = ()
    """Names that are known, but choose another model."""
    nothing: ClassVar[str] = "this operation takes no fields in its body"

    @model_validator(mode="before")
    @classmethod
    def _knows_all_names(cls, values: Any) -> Any:
        """Refuse unknown names first: a missing field may be there under a misspelled name."""
        if isinstance(values, Mapping):
            known = [field.alias or name for name, field in cls.model_fields.items()] + [*cls.others]
            names = [name for name in values if name not in known]
            if names:
                raise wording.unknown(names, known, cls.hints, cls.nothing)
        return values


class NoFields(Request):
    """Nothing at all."""


class NoParameters(NoFields):
    """An empty query."""

    nothing = "this operation takes no other parameters"


class MemberInPath(NoParameters):
    """An empty query, for a path that names the member."""

    hints: ClassVar = {"userId": "the path names the member already"}


class UsageFields(Request):
    """What a model call used."""

    input_tokens: fields.Tokens = 0
    output_tokens: fields.Tokens = 0
    cached_input_tokens: fields.Tokens = 0
    cost_usd: fields.Cost = Decimal(0)


def _usage(value: Any) -> Any:
    if not isinstance(value, JsonText):
        raise ValueError("must be a JSON object")
    if len(value.text.encode()) > fields.USAGE_BYTES_MAX:
        raise ValueError(f"must be at most {fields.USAGE_BYTES_MAX} bytes of JSON")
    try:
        UsageFields.model_validate(value.value)
    except ValidationError as error:
        path, message = wording.describe(error)
        raise wording.InnerError(path, message) from None
    return value


_USAGE_SCHEMA = WithJsonSchema(
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **{
                name: {"type": "integer", "minimum": 0, "maximum": fields.INTEGER_MAX}
                for name in ("inputTokens", "outputTokens", "cachedInputTokens")
            },
            "costUsd": fields.COST_SCHEMA,
        },
    }
)


def usage_of(text: JsonText | None) -> TokenUsage:
    """Return the token usage that an entry adds to the metrics."""
    if text is None:
        return TokenUsage()
    used = UsageFields.model_validate(text.value)
    return TokenUsage(
        used.input_tokens,
        used.output_tokens,
        used.cached_input_tokens,
        int(used.cost_usd.scaleb(fields.COST_DECIMALS_MAX)),
    )


class CreateConversation(Request):
    """A conversation without entries; without an `id`, one is made."""

    id: fields.NewId | None = None
    user_id: str | None = None
    title: fields.Title | None = None
    tags: fields.Tags | None = None
    metadata: fields.Metadata | None = None
    agent_id: fields.AgentId | None = None


class UpdateConversation(Request):
    """What to replace; `title: null` clears it."""

    title: fields.Title | None = None
    user_id: str | None = None
    tags: fields.Tags | None = None
    metadata: fields.Metadata | None = None


class ListConversations(Request):
    """Which of the caller's conversations to list."""

    mode: Annotated[Mode, fields.one_of(Mode)] = Mode.LATEST_FORK
    ancestry: Annotated[Ancestry, fields.one_of(Ancestry)] = Ancestry.ROOTS
    query: Annotated[str, Field(max_length=500)] | None = None
    agent_id: fields.AgentId | None = None
    tag: fields.TagFilter | None = None
    limit: fields.Limit200 = 20
    after_cursor: fields.Cursor | None = None


class MoveName(Request):
    """A name of yours that points to the new fork from now on.

    `expectRevision`: the revision that you know; 0: the name must be new.
    """

    name: fields.Name
    expect_revision: fields.Revision | None = None

    def of(self, caller: Caller) -> NameMove:
        """Return what happens to the name, which is the caller's."""
        return NameMove(NameRef.of(caller, self.name), self.expect_revision)


class SearchConversations(Request):
    """What to search for: all words of the `query` must occur in an entry."""

    query: fields.SearchQuery
    limit: Annotated[int, Field(ge=1, le=200), fields.WHOLE] | None = None
    after_cursor: fields.Cursor | None = None
    search_type: fields.SearchTypes | None = None
    include_entry: bool | None = None


class DeleteConversation(Request):
    """What to delete: the conversation's whole fork tree, or this branch of it alone."""

    scope: Annotated[Scope, fields.one_of(Scope)] = Scope.TREE


class ForkConversation(Request):
    """A fork before or after an entry, named by `atEntryId` or `atKey`; without one at the head."""

    id: fields.NewId | None = None
    user_id: str | None = None
    title: fields.Title | None = None
    tags: fields.Tags | None = None
    metadata: fields.Metadata | None = None
    agent_id: fields.AgentId | None = None
    at_entry_id: fields.NamedId | None = None
    at_key: fields.EntryKey | None = None
    position: Literal["before", "after"] | None = None
    reset_metrics: bool | None = None
    name: MoveName | None = None
    promote: bool | None = None
    count: fields.ForkCount | None = None

    @model_validator(mode="after")
    def _position_needs_entry(self) -> "ForkConversation":
        if self.at_entry_id is not None and self.at_key is not None:
            raise ValueError("atEntryId and atKey exclude each other")
        if self.position is not None and self.at_entry_id is None and self.at_key is None:
            raise ValueError("position needs atEntryId or atKey; without one the fork is at the head")
        return self

    @model_validator(mode="after")
    def _count_makes_equal_forks(self) -> "ForkConversation":
        if self.count is not None and (self.id is not None or self.promote or self.name is not None):
            raise ValueError("count makes equal forks, so it goes without id, promote and name")
        return self


class ListPage(Request):
    """A page of a list, oldest first."""

    limit: fields.Limit200 = 20
    after_cursor: fields.Cursor | None = None


class ListChildren(ListPage):
    """Which of the started conversations to list, oldest first."""

    started_by_entry_id: fields.NamedId | None = None


class ListMembers(Request):
    """A page of the members, oldest first."""

    limit: fields.Limit200 = 50
    after_cursor: fields.Cursor | None = None


class OneMember(Request):
    """Which member."""

    user_id: Annotated[str, fields.USER_ID_SCHEMA]


Grantable = Literal["manager", "writer", "reader"]


class ShareConversation(Request):
    """A user, and what they may do."""

    user_id: fields.UserId
    access_level: Grantable


class UpdateMembership(Request):
    """What the member may do from now on."""

    access_level: Grantable


class RequestTransfer(Request):
    """Whose fork tree to offer, named by any of its conversations, and to whom."""

    conversation_id: fields.NamedId
    new_owner_user_id: fields.UserId
    user_id: str | None = None


class ListTransfers(Request):
    """Which of the caller's pending transfers to list."""

    role: Annotated[Role, fields.one_of(Role)] = Role.ALL
    limit: fields.Limit200 = 50
    after_cursor: fields.Cursor | None = None


class EntryFields(Request):
    """One entry. Without a `channel` it goes to history and its content is opaque."""

    hints = wording.MESSAGE_HINTS

    channel: fields.ChannelName | None = None
    content_type: fields.ContentType
    content: fields.Content
    user_id: str | None = None
    agent_id: fields.AgentId | None = None
    epoch: fields.Epoch | None = None
    key: fields.EntryKey | None = None
    usage: Annotated[JsonText, BeforeValidator(_usage), _USAGE_SCHEMA] | None = None
    indexed_content: fields.IndexedContent | None = None
    merged_from_conversation_id: fields.NamedId | None = None
    merged_up_to_entry_id: fields.NamedId | None = None

    @model_validator(mode="after")
    def _merged_from_a_conversation(self) -> "EntryFields":
        if self.merged_up_to_entry_id is not None and self.merged_from_conversation_id is None:
            raise ValueError("mergedUpToEntryId needs mergedFromConversationId")
        return self


class PresentContext(Request):
    """An agent's whole present context."""

    hints = wording.CONTEXT_HINTS

    content_type: fields.ContentType
    content: fields.Content
    agent_id: fields.AgentId | None = None


class NewByAppend(Request):
    """What the conversation is, if the append creates it: a fork, a child or a root.

    `forkedAtEntryId` is the entry that the fork is `before` (then it is the first one that the fork
    does not inherit) or `after`; `forkedAtPosition` = `head` inherits everything. For a
    conversation that exists, the fields of a fork or a child must be the ones that it was created
    with, and `title`, `tags` and `metadata` change nothing.
    """

    forked_at_conversation_id: fields.NamedId | None = None
    forked_at_entry_id: fields.NamedId | None = None
    forked_at_position: Literal["before", "after", "head"] | None = None
    started_by_conversation_id: fields.NamedId | None = None
    started_by_entry_id: fields.NamedId | None = None
    title: fields.Title | None = None
    tags: fields.Tags | None = None
    metadata: fields.Metadata | None = None
    promote: bool | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> "NewByAppend":
        if self.promote and self.forked_at_conversation_id is None:
            raise ValueError("promote needs forkedAtConversationId")
        if self.forked_at_entry_id is not None and self.forked_at_conversation_id is None:
            raise ValueError("forkedAtEntryId needs forkedAtConversationId")
        if self.forked_at_position is not None and self.forked_at_conversation_id is None:
            raise ValueError("forkedAtPosition needs forkedAtConversationId")
        if self.forked_at_position is not None and (self.forked_at_position == "head") != (
            self.forked_at_entry_id is None
        ):
            raise ValueError("forkedAtPosition is before or after forkedAtEntryId, or head without it")
        if self.started_by_entry_id is not None and self.started_by_conversation_id is None:
            raise ValueError("startedByEntryId needs startedByConversationId")
        if self.forked_at_conversation_id is not None and self.started_by_conversation_id is not None:
            raise ValueError("forkedAt… and startedBy… exclude each other")
        return self


class AppendFields(NewByAppend):
    """What an append has beside its entries.

    `context` is the agent's whole present context. It is synced after the entries.
    """

    context: PresentContext | None = None

    @property
    def drafts(self) -> list[EntryFields]:
        raise NotImplementedError

    @model_validator(mode="after")
    def _has_one_context(self) -> "AppendFields":
        entry_keys = [one.key for one in self.drafts if one.key is not None]
        if len(set(entry_keys)) < len(entry_keys):
            raise ValueError("each key is for one entry")
        if self.context is not None and any(one.channel is Channel.CONTEXT for one in self.drafts):
            raise ValueError("context stands beside entries of the history only")
        return self


class _MovesName(AppendFields):
    name: MoveName | None = None

    @model_validator(mode="after")
    def _name_needs_fork(self) -> "_MovesName":
        if self.name is not None and self.forked_at_conversation_id is None:
            raise ValueError("name needs forkedAtConversationId: only a fork takes a name")
        return self


class AppendEntry(EntryFields, _MovesName):
    """One entry to append."""

    others = ("entries",)
    is_batch: ClassVar[bool] = False

    @property
    def drafts(self) -> list[EntryFields]:
        return [self]


EntriesField = Annotated[list[EntryFields], Field(min_length=1, max_length=BATCH_ENTRIES_MAX)]


class AppendEntries(_MovesName):
    """Entries to append, all or none, in order."""

    entries: EntriesField
    is_batch: ClassVar[bool] = True

    @property
    def drafts(self) -> list[EntryFields]:
        return self.entries


class SyncContext(Request):
    """The agent's whole present context, as one entry."""

    hints = wording.CONTEXT_HINTS

    channel: fields.ContextOnly | None = None
    content_type: fields.ContentType
    content: fields.Content
    user_id: str | None = None
    agent_id: fields.AgentId | None = None
    usage: Annotated[JsonText, BeforeValidator(_usage), _USAGE_SCHEMA] | None = None


def shape_of_append(body: Any) -> str:
    """Return which model a body of an append has."""
    return "batch" if isinstance(body, Mapping) and "entries" in body else "one"


class Append(RootModel[AppendEntry | AppendEntries]):
    """One entry, or several at once."""

    root: Annotated[
        Annotated[AppendEntry, Tag("one")] | Annotated[AppendEntries, Tag("batch")],
        Discriminator(shape_of_append),
    ]


class EntryOfKey(Request):
    """The key of an entry."""

    key: fields.EntryKey


class MergeConversation(Request):
    """Which entries of another branch to copy; without `afterEntryId` those after the last one that
    both branches show.
    """

    from_conversation_id: fields.NamedId
    after_entry_id: fields.NamedId | None = None
    up_to_entry_id: fields.NamedId | None = None


class CopyConversation(Request):
    """A conversation of your own; without `upToEntryId` with everything that the source shows."""

    id: fields.NewId | None = None
    title: fields.Title | None = None
    up_to_entry_id: fields.NamedId | None = None


class EntriesPage(Request):
    """Which entries to list. At most one of afterCursor, beforeCursor and tail."""

    channel: fields.ChannelName | None = None
    limit: fields.Limit1000 = 50
    after_cursor: fields.Cursor | None = None
    before_cursor: fields.Cursor | None = None
    tail: fields.Truth = False
    up_to_entry_id: fields.Cursor | None = None
    all_forks: fields.Truth = False
    forks: Literal["all"] | None = None
    own: fields.Truth = False
    alternatives: fields.Truth = False

    @model_validator(mode="after")
    def _of_one_view(self) -> "EntriesPage":
        if (self.all_forks or self.forks is not None) and (self.own or self.alternatives):
            raise ValueError("own and alternatives are of one conversation, and allForks is of all")
        return self

    @model_validator(mode="after")
    def _one_page_start(self) -> "EntriesPage":
        if (self.after_cursor is not None) + (self.before_cursor is not None) + self.tail > 1:
            raise ValueError("afterCursor, beforeCursor and tail exclude each other")
        return self


class Compare(Request):
    """With which conversation of the tree to compare; `limit` is for each of the two."""

    with_: Annotated[str, Field(max_length=1000, alias="with")]
    limit: fields.Limit1000 = 50


class ListEntries(EntriesPage):
    """Which entries to list. At most one of afterCursor, beforeCursor and tail."""

    epoch: fields.EpochChoice | None = None

    @model_validator(mode="after")
    def _epoch_of_context(self) -> "ListEntries":
        if self.epoch is not None and self.channel is not Channel.CONTEXT:
            raise ValueError("epoch goes with channel=context only")
        return self


# Administration


class Justified(Request):
    """Why an auditor or admin asks; a deployment can require it."""

    justification: Annotated[str, Field(max_length=1000)] | None = None


class AdminListConversations(Justified):
    """Which conversations to list; without `userId` those of every tree."""

    user_id: fields.UserId | None = None
    mode: Annotated[Mode, fields.one_of(Mode)] = Mode.LATEST_FORK
    ancestry: Annotated[Ancestry, fields.one_of(Ancestry)] = Ancestry.ROOTS
    agent_id: fields.AgentId | None = None
    tag: fields.TagFilter | None = None
    limit: fields.Limit200 = 20
    after_cursor: fields.Cursor | None = None


class AdminSearchConversations(SearchConversations):
    """What to search for; without `userId` in every tree."""

    user_id: fields.UserId | None = None


class AdminDeleteConversation(DeleteConversation, Justified):
    """What to delete: the conversation's whole fork tree, or this branch of it alone."""


class AdminListPage(ListPage, Justified):
    """A page of a list, oldest first."""


class AdminEntryOfKey(EntryOfKey, Justified):
    """The key of an entry."""


class AdminListChildren(ListChildren, Justified):
    """Which of the started conversations to list, oldest first."""


class AdminListMembers(ListMembers, Justified):
    """A page of the members, oldest first."""


class AdminCompare(Compare, Justified):
    """With which conversation of the tree to compare; `limit` is for each of the two."""


class AdminListEntries(EntriesPage, Justified):
    """Which entries to list, of all clients and epochs.

    At most one of afterCursor, beforeCursor and tail.
    """

    @property
    def epoch(self) -> Literal["all"]:
        return "all"
