"""The models of query parameters and bodies about answers that are written piece by piece."""

from pydantic import model_validator

from forklore_service.api import fields
from forklore_service.api.requests import Request, Watched


class BeginAnswer(Request):
    """Which entry the answer follows: the one that is named, or the last one of the history."""

    id: fields.NewId | None = None
    after_entry_id: fields.NamedId | None = None
    after_key: fields.EntryKey | None = None
    agent_id: fields.AgentId | None = None
    take_over: fields.Truth | None = None

    @model_validator(mode="after")
    def _follows_one(self) -> "BeginAnswer":
        if self.after_entry_id is not None and self.after_key is not None:
            raise ValueError("afterEntryId and afterKey exclude each other")
        return self


class AppendToAnswer(Request):
    """The next piece: it stands at the position just after `after`."""

    after: fields.PositionInLog
    content: fields.Content


class GetAnswer(Watched):
    """After which position the pieces are wanted."""

    after: fields.PositionInQuery = 0
