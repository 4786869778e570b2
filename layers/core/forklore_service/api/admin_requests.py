"""The models of query parameters and bodies of administration."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from forklore_service.api import fields
from forklore_service.api.conversation_requests import ListConversations, SearchConversations
from forklore_service.api.entry_requests import EntriesPage
from forklore_service.api.naming import OneName
from forklore_service.api.requests import ListPage, Request
from forklore_service.domain.listing import Archived, Order
from forklore_service.domain.model import Caller
from forklore_service.domain.names import NameOwner, NameRef


class Justified(Request):
    """Why an auditor or admin asks; a deployment can require it."""

    justification: Annotated[str, Field(max_length=1000)] | None = None


class OfAnyUser(Justified):
    """Whose trees to look at; without `userId` everybody's."""

    user_id: fields.UserId | None = None


class AdminListConversations(ListConversations, OfAnyUser):
    """Which conversations to list; without `userId` those of every tree."""

    order: ClassVar[Order] = Order.CREATED  # type: ignore[misc]  # all trees are listed by creation
    query: ClassVar[None] = None  # type: ignore[misc]  # an auditor finds conversations by their users
    archived: ClassVar[Archived] = Archived.INCLUDE  # type: ignore[misc]  # it is a member's own matter
    pinned: ClassVar[bool] = False  # type: ignore[misc]  # as well


class AdminSearchConversations(SearchConversations):
    """What to search for; without `userId` in every tree."""

    user_id: fields.UserId | None = None


class AdminListEntries(EntriesPage, Justified):
    """Which entries to list, of all clients and epochs.

    At most one of afterCursor, beforeCursor and tail.
    """

    @property
    def epoch(self) -> Literal["all"]:
        return "all"


class EraseUser(Request):
    """Whom to erase."""

    user_id: fields.UserId


class AdminOneName(OneName, Justified):
    """Which name of which user; without `clientId` one that belongs to no client."""

    user_id: fields.UserId
    client_id: fields.UserId | None = None

    def of(self, caller: Caller) -> NameRef:  # noqa: ARG002
        """Return the name, whoever asks."""
        return NameRef(NameOwner(self.user_id, self.client_id), self.name)


class AdminDeleteName(AdminOneName):
    """Which name of which user, and perhaps the revision that it must have."""

    expect_revision: fields.RevisionInQuery | None = None


class ListAttachments(ListPage, Justified):
    """Whose attachments to list."""

    user_id: fields.UserId


class AdminListTrash(ListPage, Justified):
    """Whose deleted fork trees to list."""

    user_id: fields.UserId


class AdminListNames(ListPage, Justified):
    """Whose names to list: those of all clients."""

    user_id: fields.UserId
