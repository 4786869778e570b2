"""The models of query parameters and bodies about conversations."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from forklore_service.api import fields
from forklore_service.api.requests import Described, ListPage, MoveName, Request, Watched
from forklore_service.domain.listing import Ancestry, Archived, Mode, Order
from forklore_service.limits import SCORES_AT_ONCE
from forklore_service.usecases.deletion.branch_removal import Scope


class CreateConversation(Described):
    """A conversation without entries; without an `id`, one is made."""

    id: fields.NewId | None = None
    user_id: str | None = None
    agent_id: fields.AgentId | None = None


class UpdateConversation(Described):
    """What to replace; `title: null` clears it."""

    user_id: str | None = None


class Scored(Request):
    """A conversation of the fork tree, and its score; without one, its score is taken away."""

    conversation_id: fields.NamedId
    score: fields.Score | None = None


class SetScores(Request):
    """The scores of some conversations of a fork tree, each named once."""

    scores: Annotated[list[Scored], Field(min_length=1, max_length=SCORES_AT_ONCE)]

    @model_validator(mode="after")
    def _each_once(self) -> "SetScores":
        if len({one.conversation_id for one in self.scores}) < len(self.scores):
            raise ValueError("scores names a conversation twice")
        return self


class ListConversations(Watched):
    """Which of the caller's conversations to list."""

    mode: Annotated[Mode, fields.one_of(Mode)] = Mode.LATEST_FORK
    order: Annotated[Order, fields.one_of(Order)] = Order.USED
    ancestry: Annotated[Ancestry, fields.one_of(Ancestry)] = Ancestry.ROOTS
    archived: Annotated[Archived, fields.one_of(Archived)] = Archived.EXCLUDE
    pinned: fields.Truth = False
    query: Annotated[str, Field(max_length=500)] | None = None
    agent_id: fields.AgentId | None = None
    tag: fields.TagFilter | None = None
    created_since: fields.Time | None = None
    limit: fields.Limit200 = 20
    after_cursor: fields.Cursor | None = None


class SearchConversations(Request):
    """What to search for: words to rank by; `+word` and `"some words"` must occur in an entry."""

    query: fields.SearchQuery
    conversation_id: fields.NamedId | None = None
    limit: Annotated[int, Field(ge=1, le=200), fields.WHOLE] | None = None
    after_cursor: fields.Cursor | None = None
    search_type: fields.SearchTypes | None = None
    include_entry: bool | None = None
    around: Annotated[int, Field(ge=0, le=3), fields.WHOLE] | None = None
    min_score: float | None = None


class DeleteConversation(Request):
    """What to delete: the conversation's whole fork tree, or this branch of it alone."""

    scope: Annotated[Scope, fields.one_of(Scope)] = Scope.TREE
    for_good: fields.Truth = False


class ForkConversation(Described):
    """A fork before or after an entry, named by `atEntryId` or `atKey`; without one at the head."""

    id: fields.NewId | None = None
    user_id: str | None = None
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


class ListForks(ListPage):
    """Which page of a tree's conversations; with `missing` none of a tree that does not exist."""

    missing: Literal["empty"] | None = None


class ListChildren(ListPage):
    """Which of the started conversations to list, oldest first."""

    started_by_entry_id: fields.NamedId | None = None
