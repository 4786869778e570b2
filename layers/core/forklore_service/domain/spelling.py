"""How the fields of values are spelled in items and on the wire."""

from typing import NamedTuple

from forklore_service.domain.model import Json


def camel(field: str) -> str:
    """Return the name of a field in camelCase. `is_` is left out.

    >>> camel("agent_id"), camel("title"), camel("is_erased")
    ('agentId', 'title', 'erased')
    """
    first, *rest = field.removeprefix("is_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def json_fields(of: type[NamedTuple]) -> frozenset[str]:
    """Return the fields that hold JSON text."""
    return frozenset(name for name, held in of.__annotations__.items() if held in (Json, Json | None))
