"""The base of the models of query parameters and bodies, and those that several rooms use.

An unknown field is an error. Each function loads only the models of its own operations.

Docstrings of bodies are descriptions in the API document.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, RootModel, model_validator
from pydantic.alias_generators import to_camel

from forklore_service.api import fields, wording
from forklore_service.domain.jsontext import JsonText
from forklore_service.domain.model import NO_DESCRIPTION, Caller, Description
from forklore_service.domain.names import NameMove, NameRef

KEPT_AS_TEXT = frozenset({"content", "data", "metadata", "usage"})
"""Body fields that are kept as the text that was sent, because answers repeat them exactly."""

NOT_FILTERS = frozenset({"limit", "after_cursor", "wait", "justification", "user_id"})
"""Parameters of lists that leave nothing out of them, and the user whose list it is."""


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
    not_compared: ClassVar[frozenset[str]] = frozenset()
    """Fields that do not count when a request is compared with an earlier one under its key."""
    other_names: ClassVar[tuple[str, ...]] = ()
    """Names that are known, but choose another model."""
    no_field_message: ClassVar[str] = "this operation takes no fields in its body"

    @property
    def filters(self) -> list[Any]:
        """The values of the parameters that choose what a list holds, and not a page of it."""
        return [getattr(self, name) for name in type(self).model_fields if name not in NOT_FILTERS]

    @model_validator(mode="before")
    @classmethod
    def _knows_all_names(cls, values: Any) -> Any:
        """Refuse unknown names first: a missing field may be there under a misspelled name."""
        if isinstance(values, Mapping):
            known = _known_to(cls)
            names = [name for name in values if name not in known]
            if names:
                raise wording.unknown(names, known, cls.hints, cls.no_field_message)
        return values


@cache
def _known_to(model: type[Request]) -> list[str]:
    """Return the names that a model knows, as bodies and queries spell them."""
    return [field.alias or name for name, field in model.model_fields.items()] + [*model.other_names]


class OneOf(RootModel[Any]):
    """The base of the models of bodies that have more than one shape. `root`: one of these."""

    model_config = ConfigDict(defer_build=True)


class NoFields(Request):
    """Nothing at all."""


class NoParameters(NoFields):
    """An empty query."""

    no_field_message = "this operation takes no other parameters"


class Watched(Request):
    """What somebody may watch. `wait` changes when the answer comes, and nothing else."""

    wait: fields.Wait = 0


class ListPage(Watched):
    """A page of a list, oldest first."""

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
        said = {}
        for name in Description._fields:
            held = getattr(self, name)
            is_cleared = held is None and getattr(NO_DESCRIPTION, name) is None
            if name in self.model_fields_set and (held is not None or is_cleared):
                said[name] = held.text if isinstance(held, JsonText) else held
        return said
