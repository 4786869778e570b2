"""The models of query parameters and bodies about members and transfers."""

from typing import Annotated, ClassVar, Literal

import pydantic

from forklore_service.api import fields
from forklore_service.api.requests import Request, Watched
from forklore_service.limits import LINK_DAYS_MAX
from forklore_service.usecases.people.transfers import Role

Children = Annotated[
    Literal["include", "keep"],
    pydantic.Field(
        description="Whether a removal or a lower level is also for the conversations that were started here."
    ),
]


class MemberInPath(Request):
    """For a path that names the member."""

    hints: ClassVar = {"userId": "the path names the member already"}

    children: Children = "include"


class ListMembers(Watched):
    """A page of the members, oldest first."""

    limit: fields.Limit200 = 50
    after_cursor: fields.Cursor | None = None


class OneMember(Request):
    """Which member."""

    user_id: Annotated[str, fields.USER_ID_SCHEMA]
    children: Children = "include"


class PinConversation(Request):
    """Where the pin stands among yours."""

    after_conversation_id: (
        Annotated[
            fields.NamedId,
            pydantic.Field(
                description="A conversation of the pinned tree before it; without it, it is first."
            ),
        ]
        | None
    ) = None


Grantable = Literal["manager", "writer", "reader"]


class ShareConversation(Request):
    """A user, and what they may do."""

    user_id: fields.UserId
    access_level: Grantable
    children: Annotated[
        Literal["include", "keep"],
        pydantic.Field(
            description="Whether the user is let into the conversations that were started here, too."
        ),
    ] = "keep"


class UpdateMembership(Request):
    """What the member may do from now on."""

    access_level: Grantable


class CreateLink(Request):
    """What people without an account read by the link, and for how many days."""

    days: Annotated[int, pydantic.Field(ge=1, le=LINK_DAYS_MAX), fields.WHOLE] = 7
    up_to_entry_id: fields.Cursor | None = None
    all_forks: fields.Truth = False
    user_ids: fields.Truth = False
    keep_on_transfer: fields.Truth = False

    @pydantic.model_validator(mode="after")
    def _is_one_kind(self) -> "CreateLink":
        if self.all_forks and self.up_to_entry_id is not None:
            raise ValueError("upToEntryId is of one conversation, and allForks is of all")
        return self


class AddNote(Request):
    """What is noted on an entry: a text, a score, or both; or that it is pinned."""

    model_config = pydantic.ConfigDict(json_schema_extra={"minProperties": 1})

    text: fields.NoteText | None = None
    score: fields.NoteScore | None = None
    pinned: fields.Truth = False

    @pydantic.model_validator(mode="after")
    def _says_something(self) -> "AddNote":
        if (self.text is None and self.score is None) != self.pinned:
            raise ValueError("a note has a text or a score, or it is a pin and has neither")
        return self


class ListNotes(Watched):
    """A page of the notes on what a conversation shows, on one entry, or on the fork tree."""

    entry_id: fields.NamedId | None = None
    all_forks: fields.Truth = False
    limit: fields.Limit200 = 50
    after_cursor: fields.Cursor | None = None


class RequestTransfer(Request):
    """Whose fork tree to offer, named by any of its conversations, and to whom."""

    conversation_id: fields.NamedId
    new_owner_user_id: fields.UserId
    user_id: str | None = None


class ListTransfers(Watched):
    """Which of the caller's pending transfers to list."""

    role: Annotated[Role, fields.one_of(Role)] = Role.ALL
    limit: fields.Limit200 = 50
    after_cursor: fields.Cursor | None = None
