"""What is told of a field that is wrong, in the words of the API and of JSON."""

from collections.abc import Collection, Mapping
from typing import Any

import pydantic

from forklore.errors import brief

_TOLD = {
    "missing": "must be given",
    "string_type": "must be text",
    "string_unicode": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "too_short": "the number of its {held} must be at least {min_length}",
    "too_long": "the number of its {held} must be at most {max_length}",
}
"""What is told of each kind of error of pydantic, with what its context holds."""
_HELD = {"List": "elements", "Dictionary": "members"}
_NO_NAMES = frozenset({"one", "batch", "[key]"})
"""Parts of pydantic's paths that no caller has sent."""
_MESSAGE = '{"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": "hi"}]}'
MESSAGE_HINTS: Mapping[str, str] = {
    "role": f"a message is an entry: {_MESSAGE}",
    "text": f"a message is an entry: {_MESSAGE}",
    "messages": f'messages are entries: {{"entries": [{_MESSAGE}]}}',
}
"""Names of other APIs' messages, and how a message is spelled here."""
_CONTEXT = '{"contentType": "application/json", "content": [{"role": "user", "content": "hi"}]}'
CONTEXT_HINTS: Mapping[str, str] = dict.fromkeys(
    ("role", "text", "messages", "entries"), f"the whole context is the array content: {_CONTEXT}"
)
"""The same names, and how a context is spelled in a sync."""


class InnerError(ValueError):
    """Something is wrong with one member of a value. path: where it is in the value."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def told(error: pydantic.ValidationError) -> tuple[str, str]:
    """Return the path of the first wrong field, empty for the whole, and what is wrong with it."""
    first = error.errors(include_input=False, include_url=False)[0]
    context: dict[str, Any] = first.get("ctx", {})
    where = [str(part) for part in first["loc"] if part not in _NO_NAMES]
    cause = context.get("error")
    if isinstance(cause, InnerError) and cause.path:
        where.append(cause.path)
    return ".".join(where), _message(first["type"], first["msg"], context)


def _message(kind: str, message: str, context: dict[str, Any]) -> str:
    if kind in _TOLD:
        held = _HELD.get(context.get("field_type", ""), "parts")
        return _TOLD[kind].format(held=held, **context)
    return message.removeprefix("Value error, ") if kind == "value_error" else "is not what it must be"


def unknown(
    names: Collection[str], known: Collection[str], hints: Mapping[str, str], nothing: str
) -> InnerError:
    """Return the error of names that are not known: of the one that most can be said about.

    names: at least one; in order, as `known` is. hints: what is told of some names. nothing: what is told
    where no name is known.
    """
    plain = {_plainly(one): one for one in known}
    for name in names:
        if name in hints:
            return InnerError(name, hints[name])
    for name in names:
        if _plainly(name) in plain:
            return InnerError(name, f"is spelled {plain[_plainly(name)]}")
    name = next(iter(names))
    told = f"known here: {', '.join(known)}" if known else nothing
    return InnerError(name, f"{brief(name)} is unknown; {told}")


def _plainly(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
