"""What the service takes of messages and titles, and how an import makes its keys and times."""

import hashlib
import math
import re
from collections.abc import Container, Iterable, Mapping
from datetime import UTC, datetime
from types import NoneType
from typing import Any, NamedTuple, TypeGuard

from forklore.client import jsontext
from forklore.client.errors import InputError
from forklore.client.generated.limits import (
    ELEMENTS_MAX,
    ENTRY_BYTES_MAX,
    ESCAPED_BYTES_MAX,
    KEY_CHARACTERS_MAX,
    TITLE_CHARACTERS_MAX,
    escaped_size,
)
from forklore.importing.foreign_trees import Reason

CONTENT_DEPTH_MAX = 60  # of 64 in a body, in which the content stands in an entry of a list
METADATA_DEPTH_MAX = 56  # below `metadata.source` of a body
TEXT_BYTES_MAX = ENTRY_BYTES_MAX - 100_000
"""Of a message's text in one entry, as escaped: beside it there is room for a source."""
_LISTS = ("attachments", "events")
_PARTS = (*_LISTS, "source")
"""Members of an element that are no words of its author's: the first two are lists."""
_OF_PART = {Reason.TOO_LARGE: Reason.PART_TOO_LARGE, Reason.TOO_DEEP: Reason.PART_TOO_DEEP}
_NUMBER = re.compile(r"-?[0-9]{9,16}(?:\.[0-9]+)?")
"""A time as text that is no date: those of eight digits are."""
_MILLISECONDS_FROM = 100_000_000_000
"""As seconds it would be in the year 5138."""
_YEAR_10000_S = 253_402_300_800
_EMPTY = (NoneType, str, list, dict)
"""Values of these types say nothing if they are false: a zero and `false` do."""


def problem_of(content: Any) -> Reason | None:
    """Return why the service would refuse an entry's content; None if it would not."""
    written = _written(content)
    return written if isinstance(written, Reason) else None


def _written(content: Any) -> str | Reason:
    """Return an entry's content as JSON text; why the service would refuse it, if it would."""
    try:
        text = jsontext.write(content)
    except InputError:  # all other content of a JSON file can be written
        return Reason.TOO_DEEP if _depth(content) > CONTENT_DEPTH_MAX else Reason.SURROGATE
    brackets = text.count("[") + text.count("{")
    if brackets > CONTENT_DEPTH_MAX and _depth(content) > CONTENT_DEPTH_MAX:
        return Reason.TOO_DEEP
    if isinstance(content, list) and len(content) > ELEMENTS_MAX:
        return Reason.TOO_LARGE
    if len(text) * ESCAPED_BYTES_MAX <= ENTRY_BYTES_MAX:
        return text
    return Reason.TOO_LARGE if escaped_size(text) > ENTRY_BYTES_MAX else text


class Stored(NamedTuple):
    """An element that the service takes, and as JSON text the content that holds it alone."""

    element: dict[str, Any]
    written: str


def storable(element: dict[str, Any]) -> tuple[list[Stored], list[Reason]]:
    """Return a message as elements that the service takes, and what was changed for that.

    The words stay: a text that is too large goes on in further elements. A half of a surrogate pair
    becomes U+FFFD. Of the other parts the largest, or the deepest, are left out, as many as it
    takes. Nothing is returned if nothing is left to say.
    """
    first, *more = _texts_that_fit(element.get("text", ""))
    if not more:
        stored, changes = _storable(element)
        return ([] if stored is None else [stored]), changes
    events = [
        {name: value for name, value in event.items() if name != "textAt"}
        for event in element.get("events", ())
        if set(event) != {"type", "textAt"}
    ]
    beginning, changes = _storable({**kept({**element, "events": events}), "text": first})
    role = kept({"role": element.get("role")})
    said = [beginning, *(_storable({**role, "text": text})[0] for text in more)]
    return [one for one in said if one is not None], [Reason.SPLIT, *changes]


def _texts_that_fit(text: str) -> list[str]:
    """Return a text in pieces that an entry has room for."""
    if len(text) * ESCAPED_BYTES_MAX <= TEXT_BYTES_MAX or escaped_size(text) <= TEXT_BYTES_MAX:
        return [text]
    half = len(text) // 2
    return [*_texts_that_fit(text[:half]), *_texts_that_fit(text[half:])]


def _storable(element: dict[str, Any]) -> tuple[Stored | None, list[Reason]]:
    changes: list[Reason] = []
    while isinstance(problem := _written([element]), Reason):
        if problem is Reason.SURROGATE:
            changes.append(problem)
            element = without_halves(element)
            continue
        parts = [(name, part) for name in _LISTS for part in element.get(name, ())]
        parts += [("source", element["source"])] if "source" in element else []
        if not parts:
            return None, [problem]
        left = _less_deep(parts) if problem is Reason.TOO_DEEP else _smaller(element, parts)
        changes += [_OF_PART[problem]] * (len(parts) - len(left))
        lists = {name: [part for of, part in left if of == name] for name in _LISTS}
        words = {name: value for name, value in element.items() if name not in _PARTS}
        source = next((part for of, part in left if of == "source"), _time_in(element))
        element = {**words, **kept({**lists, "source": source})}
        if not any(element.get(name) for name in ("text", *_LISTS)):
            return None, [problem]
    return Stored(element, problem), changes


def _time_in(element: Mapping[str, Any]) -> dict[str, Any]:
    """Return of an element's source when it was said."""
    source = element.get("source", {})
    return {"createdAt": source["createdAt"]} if len(source) > 1 and "createdAt" in source else {}


def _less_deep(parts: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the parts without the deepest one."""
    deepest = max(range(len(parts)), key=lambda at: _depth(parts[at][1]) - (parts[at][0] == "source"))
    return parts[:deepest] + parts[deepest + 1 :]


def _smaller(element: dict[str, Any], parts: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the parts without the largest ones, so that the element fits."""
    sizes = [escaped_size(jsontext.write(part)) for _, part in parts]
    excess = escaped_size(jsontext.write([element])) - ENTRY_BYTES_MAX
    dropped: set[int] = set()
    for at in sorted(range(len(parts)), key=lambda at: -sizes[at]):
        if excess <= 0:
            break
        excess -= sizes[at]
        dropped.add(at)
    return [part for at, part in enumerate(parts) if at not in dropped]


def storable_metadata(
    about: Mapping[str, Any], bytes_max: int, first: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return metadata as the service takes it, and the names of the members that are left out.

    The largest members and those that nest too deep go. first: members that come first, and stay if
    they fit.
    """
    held = without_halves({**first, **{name: value for name, value in about.items() if name not in first}})
    lost = [name for name, value in held.items() if _depth(value) > METADATA_DEPTH_MAX]
    sizes = {name: len(jsontext.write([name, held[name]]).encode()) for name in held.keys() - set(lost)}
    for name in sorted(sizes, key=lambda name: (name in first, -sizes[name])):
        if sum(sizes.values()) <= bytes_max:
            break
        lost.append(name)
        del sizes[name]
    return {name: value for name, value in held.items() if name not in lost}, lost


def without_halves(value: Any) -> Any:
    """Return a JSON value with U+FFFD for each half of a surrogate pair."""
    if isinstance(value, str):
        return jsontext.HALVES.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {without_halves(name): without_halves(held) for name, held in value.items()}
    return [without_halves(held) for held in value] if isinstance(value, list) else value


def _depth(value: Any) -> int:
    """Return how many arrays and objects nest in each other in a value of a JSON file.

    >>> _depth("a"), _depth([]), _depth({"a": [{}]})
    (0, 1, 3)
    """
    levels, level = 0, [value]
    while level := [one for one in level if isinstance(one, (dict, list))]:
        levels += 1
        level = [held for one in level for held in (one.values() if isinstance(one, dict) else one)]
    return levels


def is_unicode(text: str) -> bool:
    """Return whether the text can be written as UTF-8 (a JSON escape can name a lone surrogate)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_id(raw: Any) -> TypeGuard[str]:
    """Return whether a record can be known by this: a text that can be written as UTF-8."""
    return isinstance(raw, str) and raw != "" and is_unicode(raw)


def is_title(raw: Any) -> bool:
    """Return whether the service takes a title as it is."""
    return isinstance(raw, str) and len(raw) <= TITLE_CHARACTERS_MAX and is_unicode(raw)


def title_of(raw: Any) -> str | None:
    """Return a title that the service takes: on one line, not blank, not too long; else None."""
    if not isinstance(raw, str):
        return None
    title = " ".join(raw.encode(errors="replace").decode().split())
    return title[:TITLE_CHARACTERS_MAX] or None


def time_of(raw: Any) -> str | None:
    """Return a time as RFC 3339 in UTC with milliseconds; None for what is no time.

    raw: seconds, milliseconds or microseconds since 1970, also as text; or RFC 3339; or such a time
    as MongoDB writes it, in an object.

    >>> time_of(1700000000.5)
    '2023-11-14T22:13:20.500Z'
    >>> time_of("2024-02-29T12:00:00.123456+02:00")
    '2024-02-29T10:00:00.123Z'
    >>> time_of("1700000000"), time_of({"$date": {"$numberLong": "1700000000500"}})
    ('2023-11-14T22:13:20.000Z', '2023-11-14T22:13:20.500Z')
    """
    while isinstance(raw, dict) and len(raw) == 1:
        raw = raw.get("$date", raw.get("$numberLong"))
    try:
        if isinstance(raw, str) and not _NUMBER.fullmatch(raw):
            time = datetime.fromisoformat(raw)
            at = time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
        else:
            seconds = float(raw)
            for _ in range(2):
                seconds /= 1000 if seconds >= _MILLISECONDS_FROM else 1
            if isinstance(raw, bool) or not math.isfinite(seconds) or not 0 <= seconds < _YEAR_10000_S:
                return None
            at = datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def keys_for(message_ids: Iterable[str]) -> list[str]:
    """Return a key for each message, all different: its id, where the service takes that as a key.

    A longer id, or one with other characters, becomes a hash. An id that comes again gets a number.

    >>> keys_for(["a", "b", "a", "é"])[:3]
    ['a', 'b', 'a~2']
    """
    keys: dict[str, None] = {}
    times: dict[str, int] = {}
    for message_id in message_ids:
        first = key = _key_of(message_id)
        while key in keys:
            times[first] = times.get(first, 1) + 1
            key = _key_of(f"{first}~{times[first]}")
        keys[key] = None
    return list(keys)


def _key_of(message_id: str) -> str:
    if 1 <= len(message_id) <= KEY_CHARACTERS_MAX and message_id.isascii() and message_id.isprintable():
        return message_id
    return f"sha256:{hashlib.sha256(message_id.encode(errors='surrogatepass')).hexdigest()}"


def kept(members: Mapping[str, Any], without: Container[str] = ()) -> dict[str, Any]:
    """Return the members that say something: no null, no empty text, no empty list or object.

    without: the names of others that are left out.
    """
    return {
        name: value
        for name, value in members.items()
        if (value or not isinstance(value, _EMPTY)) and name not in without
    }
