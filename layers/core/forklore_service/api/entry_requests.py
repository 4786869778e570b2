"""The models of query parameters and bodies about entries."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from forklore_service.api import fields, wording
from forklore_service.api.requests import Described, MoveName, OneOf, Request, Watched
from forklore_service.domain.jsontext import JsonText
from forklore_service.domain.model import Channel, TokenUsage
from forklore_service.limits import APPEND_ENTRIES_MAX

COST_DECIMALS = 9
"""Of a cost in the metrics, which are exact sums."""


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
Usage = Annotated[JsonText, BeforeValidator(_usage), _USAGE_SCHEMA]


def usage_of(text: JsonText) -> TokenUsage:
    """Return the token usage that an entry adds to the metrics, its cost rounded to them."""
    used = UsageFields.model_validate(text.value)
    return TokenUsage(
        used.input_tokens,
        used.output_tokens,
        used.cached_input_tokens,
        round(used.cost_usd.scaleb(COST_DECIMALS)),
    )


class ContentFields(Request):
    """What an entry and a present context both have."""

    content_type: fields.ContentType
    content: fields.Content
    agent_id: fields.AgentId | None = None


class EntryFields(ContentFields):
    """One entry. Without a `channel` it goes to history and its content is opaque."""

    hints = wording.MESSAGE_HINTS

    channel: fields.ChannelName | None = None
    user_id: str | None = None
    epoch: fields.Epoch | None = None
    key: fields.EntryKey | None = None
    usage: Usage | None = None
    metadata: fields.Metadata | None = None
    indexed_content: fields.IndexedContent | None = None
    merged_from_conversation_id: fields.NamedId | None = None
    merged_up_to_entry_id: fields.NamedId | None = None

    @model_validator(mode="after")
    def _merged_from_a_conversation(self) -> "EntryFields":
        if self.merged_up_to_entry_id is not None and self.merged_from_conversation_id is None:
            raise ValueError("mergedUpToEntryId needs mergedFromConversationId")
        return self


class PresentContext(ContentFields):
    """An agent's whole present context."""

    hints = wording.CONTEXT_HINTS
    not_compared = frozenset({"based_on_entry_id"})

    based_on_entry_id: fields.NamedId | None = None


class NewByAppend(Described):
    """What the conversation is, if the append creates it: a fork, a child or a root.

    `forkedAtEntryId` is the entry that the fork is `before` (then it is the first one that the fork
    does not inherit) or `after`, and `forkedAtKey` names it by its key; `forkedAtPosition` = `head`
    inherits everything. For a conversation that exists, the fields of a fork or a child must be the
    ones that it was created with, and its description changes nothing. With `promote` it becomes
    its tree's current branch, also if it exists.
    """

    forked_at_conversation_id: fields.NamedId | None = None
    forked_at_entry_id: fields.NamedId | None = None
    forked_at_key: fields.EntryKey | None = None
    forked_at_position: Literal["before", "after", "head"] | None = None
    started_by_conversation_id: fields.NamedId | None = None
    started_by_entry_id: fields.NamedId | None = None
    promote: bool | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> "NewByAppend":
        anchors = (self.forked_at_entry_id is not None) + (self.forked_at_key is not None)
        if anchors and self.forked_at_conversation_id is None:
            raise ValueError("forkedAtEntryId and forkedAtKey need forkedAtConversationId")
        if anchors > 1:
            raise ValueError("forkedAtEntryId and forkedAtKey exclude each other")
        if self.forked_at_position is not None and self.forked_at_conversation_id is None:
            raise ValueError("forkedAtPosition needs forkedAtConversationId")
        if self.forked_at_position is not None and (self.forked_at_position == "head") == (anchors > 0):
            raise ValueError("forkedAtPosition is before or after an entry, or head without one")
        if self.started_by_entry_id is not None and self.started_by_conversation_id is None:
            raise ValueError("startedByEntryId needs startedByConversationId")
        if self.forked_at_conversation_id is not None and self.started_by_conversation_id is not None:
            raise ValueError("forkedAt… and startedBy… exclude each other")
        return self


class AppendFields(NewByAppend):
    """What an append has beside its entries.

    `context` is the agent's whole present context. It is synced after the entries. `answerId` is
    the answer that becomes these entries, and ends with them.
    """

    not_compared = frozenset(NewByAppend.model_fields) - {"promote"} | {"name"}
    # An append is the same whether it makes the conversation or finds it, by an id or by a name.

    context: PresentContext | None = None
    answer_id: fields.NamedId | None = None

    @property
    def drafts(self) -> list[EntryFields]:
        raise NotImplementedError

    @model_validator(mode="after")
    def _is_one_append(self) -> "AppendFields":
        entry_keys = [one.key for one in self.drafts if one.key is not None]
        if len(set(entry_keys)) < len(entry_keys):
            raise ValueError("each key is for one entry")
        if self.context is not None and any(one.channel is Channel.CONTEXT for one in self.drafts):
            raise ValueError("context stands beside entries of the history only")
        if self.answer_id is not None and self.started_by_conversation_id is not None:
            raise ValueError(
                "answerId is an answer of the same fork tree, and startedBy… begins another tree"
            )
        return self


class _MovesName(AppendFields):
    name: MoveName | None = None

    @model_validator(mode="after")
    def _name_needs_fork(self) -> "_MovesName":
        if self.name is not None and self.forked_at_conversation_id is None:
            raise ValueError("name needs forkedAtConversationId: only a fork takes a name")
        return self


class OneEntry(EntryFields, AppendFields):
    """An append of one entry, whose fields stand in the body. So its `metadata` is the entry's."""

    other_names = ("entries",)
    not_compared = AppendFields.not_compared - {"metadata"}
    is_batch: ClassVar[bool] = False

    @property
    def drafts(self) -> list[EntryFields]:
        return [self]

    @property
    def said(self) -> dict[str, Any]:
        return {name: held for name, held in super().said.items() if name != "metadata"}


class AppendEntry(OneEntry, _MovesName):
    """One entry to append. `metadata` is that of the entry."""


EntriesField = Annotated[list[EntryFields], Field(min_length=1, max_length=APPEND_ENTRIES_MAX)]


class AppendEntries(_MovesName):
    """Entries to append, all or none, in order."""

    entries: EntriesField
    is_batch: ClassVar[bool] = True

    @property
    def drafts(self) -> list[EntryFields]:
        return self.entries


class SyncContext(PresentContext):
    """The agent's whole present context, as one entry."""

    channel: fields.ContextOnly | None = None
    user_id: str | None = None
    usage: Usage | None = None


def shape_of_append(body: Any) -> str:
    """Return which model a body of an append has."""
    return "batch" if isinstance(body, Mapping) and "entries" in body else "one"


class Append(OneOf):
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
    both branches show. Of these, the conversation gets what it has not got yet; with `again` all.

    `withContext`: the agent's context as the other branch shows it becomes that of the
    conversation.
    """

    from_conversation_id: fields.NamedId
    after_entry_id: fields.NamedId | None = None
    up_to_entry_id: fields.NamedId | None = None
    again: bool | None = None
    with_context: bool | None = None


class CopyConversation(Request):
    """A conversation of your own; without `upToEntryId` with everything that the source shows."""

    id: fields.NewId | None = None
    title: fields.Title | None = None
    up_to_entry_id: fields.NamedId | None = None


class CopyTree(Request):
    """A tree of your own. `id`: of its root."""

    id: fields.NewId | None = None


def _require_one_start(page: "EntriesPage | ListLinkedEntries") -> None:
    """Raise ValueError if a page begins at several places."""
    if (page.after_cursor is not None) + (page.before_cursor is not None) + page.tail > 1:
        raise ValueError("afterCursor, beforeCursor and tail exclude each other")


class EntriesPage(Watched):
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
    view: Literal["full", "line"] = "full"

    @model_validator(mode="after")
    def _is_one_page(self) -> "EntriesPage":
        if (self.all_forks or self.forks is not None) and (self.own or self.alternatives):
            raise ValueError("own and alternatives are of one conversation, and allForks is of all")
        _require_one_start(self)
        return self


class OpenLink(Request):
    """`conversationId`: another branch, of a link that shows the whole fork tree."""

    conversation_id: fields.NamedId | None = None


class ListLinkedEntries(OpenLink):
    """Which entries to list. At most one of afterCursor, beforeCursor and tail.

    `conversationId`: of a link that shows the whole fork tree.
    """

    limit: fields.Limit200 = 50
    after_cursor: fields.Cursor | None = None
    before_cursor: fields.Cursor | None = None
    tail: fields.Truth = False

    @model_validator(mode="after")
    def _is_one_page(self) -> "ListLinkedEntries":
        _require_one_start(self)
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
