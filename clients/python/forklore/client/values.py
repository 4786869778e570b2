"""What results have in common: they are made from an answer's fields, and keep unknown ones."""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Self, cast

from forklore.client.errors import UnexpectedAnswerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """The base of all results.

    extra: members that this version of the client does not know, under the names of the answer.
    """

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """For each member that holds other results, what makes them."""

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the result that an answer's fields describe.

        Raises UnexpectedAnswerError if a member is missing that every answer has.
        """
        if not isinstance(given, Mapping):
            raise UnexpectedAnswerError(f"the answer holds no object where {cls.__name__} is expected")
        rest, known = dict(given), {}
        for name, wire, is_required in _members(cast("Hashable", cls)):
            if wire in rest:
                held = rest.pop(wire)
                made = cls.INNER.get(name)
                known[name] = held if made is None or held is None else made(held)
            elif is_required:
                raise UnexpectedAnswerError(f"the answer has no {wire} where {cls.__name__} is expected")
        return cls(**known, extra=rest)


def many(one: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what makes a tuple of results from an array."""

    def made(given: Any) -> tuple[Any, ...]:
        if not isinstance(given, list):
            raise UnexpectedAnswerError("the answer holds no array where one is expected")
        return tuple(map(one, given))

    return made


def wire_name(name: str) -> str:
    """Return a member's name in JSON.

    >>> wire_name("created_at"), wire_name("with_")
    ('createdAt', 'with')
    """
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name.rstrip("_"))


@cache
def _members(cls: Hashable) -> list[tuple[str, str, bool]]:
    """Return each member's name, its name in JSON, and whether every answer has it."""
    return [
        (each.name, wire_name(each.name), each.default is MISSING and each.default_factory is MISSING)
        for each in fields(cast("type[Value]", cls))
        if each.name != "extra"
    ]
