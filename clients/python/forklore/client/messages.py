"""Messages of the history, as their authors say them."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from forklore.client.errors import InputError
from forklore.client.generated.results import Entry
from forklore.client.spoken import HISTORY, ROLES, is_parts

Role = Literal["user", "human", "ai", "assistant", "system", "tool"]
"""Who says a message. The service knows four: `user`, `ai`, `system` and `tool`."""
Said = str | Sequence[Mapping[str, Any]]
"""What a message says: its text, or its parts, as providers of models send them."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def message(role: str, text: Said) -> list[dict[str, Any]]:
    """Return the content of a history entry. Raises InputError for a role that there is not.

    >>> message("user", "Hello")
    [{'role': 'USER', 'text': 'Hello'}]
    >>> message("user", [{"type": "text", "text": "Hello"}])
    [{'role': 'USER', 'content': [{'type': 'text', 'text': 'Hello'}]}]
    """
    given: Sequence[tuple[str, object]] = (("role", role), ("text", "" if is_parts(text) else text))
    for field, value in given:
        if not isinstance(value, str):
            raise InputError(f"{field} is a str, not {type(value).__name__}", details={"field": field})
    known = ROLES.get(role.lower())
    if known is None:
        raise InputError(f"role is one of {', '.join(ROLES)}, not {role!r}", details={"field": "role"})
    return [{"role": known, "text": text} if isinstance(text, str) else {"role": known, "content": [*text]}]


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
    return entry.role


def text_of(entry: Entry) -> str | None:
    """Return the text of a message, or that of its parts; None for an entry without one."""
    return entry.text


def said_at(entry: Entry) -> str:
    """Return when an entry was said: an imported one at its source, if that is known."""
    first = entry.content[0] if entry.channel == HISTORY and entry.content else None
    source = first.get("source") if isinstance(first, Mapping) else None
    return time_in(source, "createdAt") or entry.created_at


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
