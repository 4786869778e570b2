"""What is told of a field that is wrong, in the words of the API and of JSON."""

from collections.abc import Collection
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
    "too_short": "must hold at least {min_length}",
    "too_long": "must hold at most {max_length}",
}
"""What is told of each kind of error of pydantic, with what its context holds."""
_MESSAGE = '{"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": "hi"}]}'
_SHAPES = {
    "role": f"a message is an entry: {_MESSAGE}",
    "text": f"a message is an entry: {_MESSAGE}",
    "messages": f'messages are entries: {{"entries": [{_MESSAGE}]}}',
}
"""Names of other APIs' messages, and how a message is spelled here."""


class UnknownNameError(ValueError):
    """A field or parameter that there is none of."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def told(error: pydantic.ValidationError) -> tuple[str, str]:
    """Return the path of the first wrong field, empty for the whole, and what is wrong with it."""
    first = error.errors(include_input=False, include_url=False)[0]
    context: dict[str, Any] = first.get("ctx", {})
    where = [str(part) for part in first["loc"] if part not in ("one", "batch")]
    cause = context.get("error")
    if isinstance(cause, UnknownNameError):
        where.append(cause.name)
    return ".".join(where), _message(first["type"], first["msg"], context)


def _message(kind: str, message: str, context: dict[str, Any]) -> str:
    if kind in _TOLD:
        return _TOLD[kind].format(**context)
    return message.removeprefix("Value error, ") if kind == "value_error" else "is not what it must be"


def unknown(name: str, known: Collection[str]) -> UnknownNameError:
    """Return the error of a name that there is none of, with those that there are. known: in order."""
    plain = {_plainly(one): one for one in known}
    if _plainly(name) in plain:
        message = f"is spelled {plain[_plainly(name)]}"
    elif name in _SHAPES and "content" in known:
        message = _SHAPES[name]
    elif known:
        message = f"{brief(name)} is unknown here; there are {', '.join(known)}"
    else:
        message = f"{brief(name)} is unknown here; nothing is taken"
    return UnknownNameError(name, message)


def _plainly(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
