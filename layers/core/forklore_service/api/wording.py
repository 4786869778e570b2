"""Messages about wrong fields, in the words of the API and of JSON."""

from collections.abc import Collection, Mapping
from typing import Any

import pydantic

from forklore_service.errors import brief

_MESSAGES = {
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
    "too_short": "the number of its {parts} must be at least {min_length}",
    "too_long": "the number of its {parts} must be at most {max_length}",
}
"""Messages by pydantic's type of error; the names in braces come from the error's context."""
_PARTS = {"List": "elements", "Dictionary": "members"}
_NO_NAMES = frozenset({"one", "batch", "[key]"})
"""Parts of pydantic's paths that are not names in the request."""
_MESSAGE = '{"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": "hi"}]}'
MESSAGE_HINTS: Mapping[str, str] = {
    "role": f"a message is an entry: {_MESSAGE}",
    "text": f"a message is an entry: {_MESSAGE}",
    "messages": f'messages are entries: {{"entries": [{_MESSAGE}]}}',
}
"""Field names of messages in other APIs, each with the form of a message in this API."""
_CONTEXT = '{"contentType": "application/json", "content": [{"role": "user", "content": "hi"}]}'
CONTEXT_HINTS: Mapping[str, str] = dict.fromkeys(
    ("role", "text", "messages", "entries"), f"the whole context is the array content: {_CONTEXT}"
)
"""The same names, each with the form of a context in a sync."""


class InnerError(ValueError):
    """An error in one field inside a value. path: where the field is in the value."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def describe(error: pydantic.ValidationError) -> tuple[str, str]:
    """Return the path of the first wrong field and a message. An empty path is the whole value.

    pydantic holds the errors of validators where the garbage collector does not look. Their
    tracebacks would hold the request, which holds the error, for good; so they are taken away.
    """
    errors = error.errors(include_input=False, include_url=False)
    for one in errors:
        if isinstance(cause := one.get("ctx", {}).get("error"), BaseException):
            cause.__traceback__ = cause.__context__ = None
    first = errors[0]
    context: dict[str, Any] = first.get("ctx", {})
    where = [str(part) for part in first["loc"] if part not in _NO_NAMES]
    cause = context.get("error")
    if isinstance(cause, InnerError) and cause.path:
        where.append(cause.path)
    return ".".join(where), _message(first["type"], first["msg"], context)


def _message(kind: str, message: str, context: dict[str, Any]) -> str:
    if kind in _MESSAGES:
        parts = _PARTS.get(context.get("field_type", ""), "parts")
        return _MESSAGES[kind].format(parts=parts, **context)
    return message.removeprefix("Value error, ") if kind == "value_error" else "is not what it must be"


def unknown(
    names: Collection[str], known: Collection[str], hints: Mapping[str, str], nothing: str
) -> InnerError:
    """Return an error about one of the unknown `names`, the one with the most helpful message.

    names: at least one; in order, like `known`. hints: messages about some names. nothing: the
    message where no name is known.
    """
    plain = {_plainly(one): one for one in known}
    for name in names:
        if name in hints:
            return InnerError(name, hints[name])
    for name in names:
        if _plainly(name) in plain:
            return InnerError(name, f"is spelled {plain[_plainly(name)]}")
    name = next(iter(names))
    help_text = f"known here: {', '.join(known)}" if known else nothing
    return InnerError(name, f"{brief(name)} is unknown; {help_text}")


def _plainly(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
