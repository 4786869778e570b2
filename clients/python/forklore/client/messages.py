"""Messages of the history, as their authors say them."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeGuard

from forklore.client.errors import InputError
from forklore.client.generated.results import Entry

HISTORY, CONTEXT = "history", "context"
Role = Literal["user", "human", "ai", "assistant", "system", "tool"]
"""Who says a message. The service knows four: `user`, `ai`, `system` and `tool`."""
Said = str | Sequence[Mapping[str, Any]]
"""What a message says: its text, or its parts, as providers of models send them."""
ROLES: Mapping[str, str] = {
    "user": "USER",
    "human": "USER",
    "ai": "AI",
    "assistant": "AI",
    "system": "SYSTEM",
    "tool": "TOOL",
}
"""What the service calls the author of a message, by what callers say, in any case of letters."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def message(role: str, text: Said) -> list[dict[str, Any]]:
    """Return the content of a history entry. Raises InputError for a role that there is not.

    >>> message("user", "Hello")
    [{'role': 'USER', 'text': 'Hello'}]
    >>> message("user", [{"type": "text", "text": "Hello"}])
    [{'role': 'USER', 'content': [{'type': 'text', 'text': 'Hello'}]}]
    """
    given: Sequence[tuple[str, object]] = (("role", role), ("text", "" if _is_parts(text) else text))
    for field, value in given:
        if not isinstance(value, str):
            raise InputError(f"{field} is a str, not {type(value).__name__}", details={"field": field})
    known = ROLES.get(role.lower())
    if known is None:
        raise InputError(f"role is one of {', '.join(ROLES)}, not {role!r}", details={"field": "role"})
    return [{"role": known, "text": text} if isinstance(text, str) else {"role": known, "content": [*text]}]


def _is_parts(given: object) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    return isinstance(given, list | tuple) and bool(given) and all(isinstance(one, Mapping) for one in given)


def elements(given: Any, field: str = "content") -> list[Any]:
    """Return the elements of a content. Raises InputError for what is no list.

    >>> elements(("a", 1))
    ['a', 1]
    """
    if not isinstance(given, list | tuple):
        raise InputError(f"{field} is a list, not {type(given).__name__}", details={"field": field})
    return list(given)


def role_of(entry: Entry) -> str | None:
    """Return the author of a message: `user`, `ai`, `system` or `tool`; None for another entry."""
    held = _first(entry).get("role")
    return ROLES.get(held.lower(), "").lower() or None if isinstance(held, str) else None


def text_of(entry: Entry) -> str | None:
    """Return the text of a message, or that of its parts; None for an entry without one."""
    return text_in(_first(entry))


def text_in(element: Any) -> str | None:
    """Return the text of an element, or that of its parts; None for an element without one.

    >>> text_in({"content": [{"type": "text", "text": "What"}, {"type": "text", "text": "is it?"}]})
    'What\\nis it?'
    """
    held = element if isinstance(element, Mapping) else {}
    own, parts = held.get("text"), held.get("content")
    said = parts if _is_parts(parts) and not own else [held]
    texts = [one["text"] for one in said if isinstance(one.get("text"), str)]
    return "\n".join(texts) if texts else None


def said_at(entry: Entry) -> str:
    """Return when an entry was said: an imported one at its source, if that is known."""
    return time_in(_first(entry).get("source"), "createdAt") or entry.created_at


def time_in(source: Any, name: str) -> str | None:
    """Return a time that an import has kept under a name; None if there is none.

    >>> [time_in({"at": f"2019-02-{day}T09:15:00.000Z"}, "at") for day in (28, 30)]
    ['2019-02-28T09:15:00.000Z', None]
    """
    held = source.get(name) if isinstance(source, Mapping) else None
    if not isinstance(held, str) or not _TIME.fullmatch(held):
        return None
    try:
        datetime.strptime(held, "%Y-%m-%dT%H:%M:%S.%f%z")
    except ValueError:  # such as the 30th of February
        return None
    return held


def id_of(entry: Entry | str) -> str:
    """Return the id of an entry that is named by itself or by its id.

    Raises InputError for anything else, such as a conversation, which has an id, too.
    """
    given: object = entry
    if not isinstance(given, str | Entry):
        raise InputError(f"an entry is named by itself or its id, not by {type(given).__name__}")
    return given if isinstance(given, str) else given.id


def _first(entry: Entry) -> Mapping[str, Any]:
    first = entry.content[0] if entry.channel == HISTORY and entry.content else None
    return first if isinstance(first, Mapping) else {}
