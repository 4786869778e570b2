"""What an entry can hold of a framework's values: one rule for all adapters."""

import json
import re
from collections.abc import Mapping
from typing import Any

from forklore.client import jsontext
from forklore.client.errors import TooLargeError

ENTRY_BYTES_MAX = 2_500_000
"""Of the content of an entry, as `size_of` counts."""
APPEND_ENTRIES_MAX = 50
LEVELS_MAX = 40
"""Of a value; the service takes 64 of a whole request."""
TEXT_CHARACTERS_MAX = 8_000
"""Of a text for people. The whole value is beside it."""
HALVES = re.compile("[\ud800-\udfff]")
"""Of surrogate pairs: JavaScript writes them alone, UTF-8 cannot."""


def storable(value: Any) -> Any:
    """Return an object as it is, or as JSON text if the service cannot take it.

    Raises TypeError or ValueError for what JSON cannot hold at all.

    >>> storable({"a": 1}), storable({"a": "\\ud83d"}), storable({"a": float("inf")})
    ({'a': 1}, '{"a": "\\\\ud83d"}', '{"a": Infinity}')
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:  # not a number, or infinite
        return json.dumps(value)
    return json.dumps(value) if HALVES.search(text) or levels_of(value) > LEVELS_MAX else value


def restored(stored: Any) -> Any:
    """Return an object of which `storable` has made what is given."""
    return json.loads(stored) if isinstance(stored, str) else stored


def levels_of(value: Any) -> int:
    """Return how many objects and lists stand inside each other.

    >>> levels_of("x"), levels_of({"a": [{}]})
    (0, 3)
    """
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return 0
    return 1 + max(map(levels_of, value), default=0)


def size_of(content: Any) -> int:
    """Return the bytes of a content as the service counts them: as JSON text inside JSON text."""
    return len(json.dumps(jsontext.write(content))) - 2


def checked_size(what: str, content: Any, bytes_max: int = ENTRY_BYTES_MAX) -> int:
    """Return the bytes of a content. Raises TooLargeError with `what` if they are too many."""
    size = size_of(content)
    if size > bytes_max:
        raise TooLargeError(f"{what} has {size:,} bytes as escaped JSON, and at most {bytes_max:,} fit")
    return size


def shortened(text: str, characters_max: int = TEXT_CHARACTERS_MAX) -> str:
    """Return a text that UTF-8 can hold, or the beginning of a long one.

    >>> shortened("a\\ud83d"), shortened("Lisbon", 3)
    ('a?', 'Li…')
    """
    kept = text if len(text) <= characters_max else text[: characters_max - 1] + "…"
    return kept.encode(errors="replace").decode()
