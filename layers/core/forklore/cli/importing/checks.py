"""What the service takes of messages and titles, and how an import makes its keys and times."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from forklore.cli.importing.values import Reason
from forklore.client import jsontext
from forklore.client.errors import InputError

CONTENT_BYTES_MAX = 2_500_000  # of one entry, escaped
CONTENT_DEPTH_MAX = 60  # of 64 in a body, in which the content stands in an entry of a list
ELEMENTS_MAX = 1_000
KEY_CHARACTERS_MAX = 128
TITLE_CHARACTERS_MAX = 500
METADATA_BYTES_MAX = 16_384
_YEAR_10000_S = 253_402_300_800


def problem_of(content: Any) -> Reason | None:
    """Return why the service would refuse an entry's content; None if it would not."""
    if _depth(content) > CONTENT_DEPTH_MAX:
        return Reason.TOO_DEEP
    if isinstance(content, list) and len(content) > ELEMENTS_MAX:
        return Reason.TOO_LARGE
    try:
        text = jsontext.write(content)
    except InputError:  # all other content of a JSON file can be written
        return Reason.SURROGATE
    return Reason.TOO_LARGE if escaped_size(text) > CONTENT_BYTES_MAX else None


def _depth(value: Any) -> int:
    """Return how many arrays and objects nest in each other in a value of a JSON file.

    >>> _depth("a"), _depth([]), _depth({"a": [{}]})
    (0, 1, 3)
    """
    levels, level = 0, [value]
    while level := [one for one in level if isinstance(one, Mapping | list)]:
        levels += 1
        level = [held for one in level for held in (one.values() if isinstance(one, Mapping) else one)]
    return levels


def escaped_size(text: str) -> int:
    """Return the bytes of `text` inside a JSON string in ASCII. The service counts so.

    >>> escaped_size('["é"]')
    12
    """
    return len(json.dumps(text)) - 2


def is_unicode(text: str) -> bool:
    """Return whether the text can be written as UTF-8 (a JSON escape can name a lone surrogate)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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

    raw: seconds since 1970, or RFC 3339.

    >>> time_of(1700000000.5)
    '2023-11-14T22:13:20.500Z'
    >>> time_of("2024-02-29T12:00:00.123456+02:00")
    '2024-02-29T10:00:00.123Z'
    """
    try:
        if isinstance(raw, str):
            time = datetime.fromisoformat(raw)
            at = time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
        else:
            seconds = float(raw)
            if isinstance(raw, bool) or not math.isfinite(seconds) or not 0 <= seconds < _YEAR_10000_S:
                return None
            at = datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


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


def kept(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that say something: no null, no empty text, no empty list or object."""
    return {name: value for name, value in members.items() if value not in (None, "", [], {})}
