"""How conversations and entries are named on the command line.

A conversation is its id, which is a UUID, or else a name, or else a part of an id. An entry is

* its id, or a part of it,
* `@KEY`, the key that its author gave it,
* `-1` for the last entry of the history that the conversation shows, `-2` for the one before, and
  so on; `HEAD`, `HEAD~1` and so on as git says it.

A part of an id is its beginning or its end, of PART_MIN characters or more. An id begins with the
time, and ends with what tells it from others of the same minute.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forklore.cli.exits import NOT_FOUND, CommandError

if TYPE_CHECKING:
    from forklore.client.generated.results import Entry
    from forklore.client.generated.synchronous.conversation import Conversation

FROM_END_MAX = 1000
"""How far from the end an entry can be named: so many are on one page of a list."""
PART_MIN = 8
_PATTERN = "-".join("x" * letters for letters in (8, 4, 4, 4, 12))
_ALMOST = re.compile(r"\w{7,9}-\w{3,5}-\w{3,5}-\w{3,5}-\w{11,13}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_FROM_END = re.compile(r"-([0-9]{1,9})")
_HEAD = re.compile(r"HEAD(?:~([0-9]{0,9}))?")


def is_id(text: str) -> bool:
    """Tell whether a text is an id, and so no name.

    >>> is_id("019ca8ad-fa20-7000-8000-000000000005"), is_id("trip")
    (True, False)
    """
    return _UUID.fullmatch(text) is not None


def check_name(text: str | None) -> None:
    """Raise CommandError for a name that would be read as an id."""
    if text is not None and is_id(text):
        raise CommandError("a name cannot look like an id")


def is_part(text: str) -> bool:
    """Tell whether a text can be the beginning or the end of an id.

    >>> is_part("019CA8AD-fa"), is_part("00000005"), is_part("2026-11-24"), is_part("cafe")
    (True, True, False, False)
    """
    count = len(text)
    if not PART_MIN <= count < len(_PATTERN):
        return False
    return re.sub("[0-9a-fA-F]", "x", text) in (_PATTERN[:count], _PATTERN[-count:])


def resembles_id(text: str) -> bool:
    """Tell whether a text is an id, a part of one, or one with a slip of the keys.

    >>> resembles_id("019ca8ad-fa20-7000-8000-00000000000"), resembles_id("trip-2026-11-24")
    (True, False)
    """
    return is_id(text) or is_part(text) or _ALMOST.fullmatch(text) is not None


def id_with(part: str, ids: Iterable[str], what: str) -> str:
    """Return the only one of some ids that begins or ends with `part`.

    what: what has such ids, in words. Raises CommandError if there are none or several, or if it is
    too short to be meant.
    """
    if not is_id(part) and not is_part(part):
        raise CommandError(f"{part!r} is neither an id of {what} nor {PART_MIN} characters of one", NOT_FOUND)
    wanted = part.lower()
    fitting = [one for one in ids if one.startswith(wanted) or one.endswith(wanted)]
    if not fitting:
        raise CommandError(f"{part!r} neither begins nor ends an id of {what}", NOT_FOUND)
    if len(fitting) > 1:
        more = ", …" if len(fitting) > 2 else ""
        raise CommandError(f"{part!r} is a part of several ids: {', '.join(fitting[:2])}{more}")
    return fitting[0]


@dataclass(frozen=True, slots=True)
class ById:
    """An entry by its id."""

    entry_id: str


@dataclass(frozen=True, slots=True)
class ByKey:
    """An entry by the key of its author's."""

    key: str


@dataclass(frozen=True, slots=True)
class ByPart:
    """An entry by a part of its id."""

    part: str


@dataclass(frozen=True, slots=True)
class FromEnd:
    """An entry by its place, 1 for the last one."""

    place: int


def read_reference(text: str) -> ById | ByKey | ByPart | FromEnd:
    """Return what a reference to an entry means. Raises CommandError for anything else.

    >>> read_reference("@q1"), read_reference("-2")
    (ByKey(key='q1'), FromEnd(place=2))
    """
    if is_id(text):
        return ById(text.lower())
    if is_part(text):
        return ByPart(text)
    if text.startswith("@") and len(text) > 1:
        return ByKey(text[1:])
    place = _place(text)
    if place is not None and 1 <= place <= FROM_END_MAX:
        return FromEnd(place)
    if text.startswith("--"):
        raise CommandError(f"no such option: {text}")
    raise CommandError(
        f"an entry is an id or {PART_MIN} characters of one, @KEY, or -1 to -{FROM_END_MAX} from the end, "
        f"not {text!r}"
    )


def _place(text: str) -> int | None:
    """Return the place from the end that a text names; None if it names none."""
    if found := _FROM_END.fullmatch(text):
        return int(found[1])
    if found := _HEAD.fullmatch(text):
        back = found[1]
        return 1 if back is None else 1 + int(back or "1")
    return None


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
        case ByPart(part):
            last = {entry.id: entry for entry in _last(conversation, FROM_END_MAX)}
            return last[id_with(part, last, f"the last {FROM_END_MAX:,} entries")]
        case FromEnd(place):
            found = _last(conversation, place)
            if len(found) < place:
                raise CommandError(f"the history has no entry {text}: it has {len(found)}", NOT_FOUND)
            return found[-1]


def _last(conversation: "Conversation", count: int) -> "Sequence[Entry]":
    """Return the last entries of the history, the last one first."""
    return conversation.entries(backward=True, channel="history", page_entries=count).list(limit=count)
