"""What a body says of the conversation that it creates."""

from collections.abc import Mapping
from typing import Protocol

from forklore.domain.jsontext import JsonText
from forklore.domain.names import NameMove
from forklore.usecases.steps.requests import Description


class Describes(Protocol):
    """A body with the fields that a caller gives a new conversation."""

    @property
    def title(self) -> str | None: ...
    @property
    def tags(self) -> Mapping[str, str] | None: ...
    @property
    def metadata(self) -> JsonText | None: ...


def described_by(body: Describes, *, name: NameMove | None = None) -> Description:
    """Return the description. name: points to the conversation from then on."""
    return Description(body.title, body.tags or {}, body.metadata.text if body.metadata else "{}", name)
