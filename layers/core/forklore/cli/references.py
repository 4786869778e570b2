"""How conversations and entries are named on the command line.

A conversation is its id, which is a UUID, or else a name. An entry is

* its id,
* `@KEY`, the key that its author gave it,
* `-1` for the last entry of the history that the conversation shows, `-2` for the one before, and
  so on.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forklore.cli.exits import NOT_FOUND, CommandError

if TYPE_CHECKING:
    from forklore.client.results import Entry
    from forklore.client.synchronous.conversation import Conversation

FROM_END_MAX = 1000
"""How far from the end an entry can be named: so many are on one page of a list."""
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_FROM_END = re.compile(r"-([0-9]{1,9})")


def is_id(text: str) -> bool:
    """Tell whether a text is an id, and so no name.

    >>> is_id("019ca8ad-fa20-7000-8000-000000000005"), is_id("trip")
    (True, False)
    """
    return _UUID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class ById:
    """An entry by its id."""

    entry_id: str


@dataclass(frozen=True, slots=True)
class ByKey:
    """An entry by the key of its author's."""

    key: str


@dataclass(frozen=True, slots=True)
class FromEnd:
    """An entry by its place, 1 for the last one."""

    place: int


def read_reference(text: str) -> ById | ByKey | FromEnd:
    """Return what a reference to an entry means. Raises CommandError for anything else.

    >>> read_reference("@q1"), read_reference("-2")
    (ByKey(key='q1'), FromEnd(place=2))
    """
    if is_id(text):
        return ById(text.lower())
    if text.startswith("@") and len(text) > 1:
        return ByKey(text[1:])
    found = _FROM_END.fullmatch(text)
    if found and 1 <= int(found[1]) <= FROM_END_MAX:
        return FromEnd(int(found[1]))
    if text.startswith("--"):
        raise CommandError(f"no such option: {text}")
    raise CommandError(f"an entry is an id, @KEY, or -1 to -{FROM_END_MAX} from the end, not {text!r}")


def entry_id_of(conversation: "Conversation", text: str) -> str:
    """Return the id of an entry; look it up unless it is one.

    Raises CommandError for what cannot be a reference, and if there is no such entry.
    """
    reference = read_reference(text)
    if isinstance(reference, ById):
        return reference.entry_id
    return entry_of(conversation, text).id


def entry_of(conversation: "Conversation", text: str) -> "Entry":
    """Return the entry that a reference stands for.

    Raises CommandError for what cannot be a reference, and if there is no such entry.
    """
    match read_reference(text):
        case ById(entry_id):
            return conversation.entry(entry_id)
        case ByKey(key):
            return conversation.entry_of(key)
        case FromEnd(place):
            last = conversation.entries(backward=True, channel="history", page_entries=place)
            found = last.list(limit=place)
            if len(found) < place:
                raise CommandError(f"the history has no entry {text}: it has {len(found)}", NOT_FOUND)
            return found[-1]
