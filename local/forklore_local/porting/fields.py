"""The fields of values that a line has as they are: each under its own name, as its type says."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from forklore_local.porting.lines import Line, Raw
from forklore_service.domain.model import Description, Entry, Json
from forklore_service.domain.spelling import camel, json_fields

_TAKE: Mapping[Any, Callable[[Line, str], Any]] = {
    str: Line.text,
    str | None: Line.text_or_none,
    bool: Line.flag,
    int | None: Line.number_or_none,
    Mapping[str, str]: Line.texts,
    Json: Line.raw,
    Json | None: Line.raw,
}
"""What takes a member of a line, by the type of the field."""


class PlainFields:
    """The plain fields of a kind of values: those that are not `others`."""

    def __init__(self, of: type[NamedTuple], others: Iterable[str] = ()) -> None:
        self._json = json_fields(of)
        self._defaults: Mapping[str, Any] = of._field_defaults
        self._takes = [
            (field, camel(field), _TAKE[held])
            for field, held in of.__annotations__.items()
            if field not in others
        ]

    def members(self, value: NamedTuple) -> dict[str, Any]:
        """Return the members of a value's line. What has its default is left out."""
        held = {name: (field, getattr(value, field)) for field, name, _ in self._takes}
        return {
            name: Raw(one) if field in self._json else dict(one) if isinstance(one, Mapping) else one
            for name, (field, one) in held.items()
            if field not in self._defaults or one != self._defaults[field]
        }

    def read(self, line: Line) -> dict[str, Any]:
        """Return the fields that a line has. Raises FormatError as the line does."""
        read = {field: take(line, name) for field, name, take in self._takes}
        return {field: held for field, held in read.items() if held is not None}


DESCRIPTION = PlainFields(Description)
ENTRY = PlainFields(
    Entry,
    others=(
        *("entry_id", "conversation_id", "user_id", "channel", "content"),
        *("after", "turn", "merged_from", "copied_from"),
    ),
)
"""The others are checked, or they are several members."""
