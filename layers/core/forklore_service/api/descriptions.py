"""What a body says of the conversation that it creates or changes."""

from typing import Any

from forklore_service.api import fields
from forklore_service.api.requests import Request
from forklore_service.domain.jsontext import JsonText
from forklore_service.domain.model import NO_DESCRIPTION, Description


class Described(Request):
    """The fields of a description, as all bodies have them that make or change a conversation."""

    title: fields.Title | None = None
    tags: fields.Tags | None = None
    metadata: fields.Metadata | None = None

    @property
    def said(self) -> dict[str, Any]:
        """The fields of the description that the body names.

        A null clears a field that is null by default. It is as good as nothing for any other field.
        """
        sent = {name: getattr(self, name) for name in Description._fields if name in self.model_fields_set}
        held = {name: one.text if isinstance(one, JsonText) else one for name, one in sent.items()}
        return {
            name: one
            for name, one in held.items()
            if one is not None or getattr(NO_DESCRIPTION, name) is None
        }
