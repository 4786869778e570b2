"""What an entry can hold of a framework's values: one rule for all adapters."""

import json
import re
from collections.abc import Mapping
from typing import Any

from forklore.client import jsontext
from forklore.client.errors import InputError, TooLargeError
from forklore.client.generated.limits import ENTRY_BYTES_MAX, NAME_BYTES_MAX, escaped_size

LEVELS_MAX = 40
"""Of a value; the service takes 64 of a whole request."""
CROWD, CROWD_CHARACTERS = 3_900, 30
"""How many arrays and objects, and how small, make a crowd. The service takes 200,000 of them in a
body: 50 entries of 3,900, or 5 MB of which each has 30 characters, are fewer."""
TEXT_CHARACTERS_MAX = 8_000
"""Of a text for people. The whole value is beside it."""
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")
LONG_NUMBER = re.compile("[0-9]{309}")
"""Only such a whole number is larger than a double. It may also stand in a text."""
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
    is_odd = (
        HALVES.search(text) or LONG_NUMBER.search(text) or levels_of(value) > LEVELS_MAX or _is_crowded(text)
    )
    return json.dumps(value) if is_odd else value


def _is_crowded(text: str) -> bool:
    """Return whether a value has very many small arrays and objects."""
    count = text.count("[") + text.count("{")
    return count > CROWD and len(text) < count * CROWD_CHARACTERS


def restored(stored: Any) -> Any:
    """Return an object of which `storable` has made what is given.

    Raises ValueError for a text that is none.
    """
    try:
        return json.loads(stored) if isinstance(stored, str) else stored
    except RecursionError as error:
        raise ValueError("a stored object nests too deep") from error


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
    return escaped_size(jsontext.write(content))


def checked_size(what: str, content: Any, bytes_max: int = ENTRY_BYTES_MAX) -> int:
    """Return the bytes of a content. Raises TooLargeError with `what` if they are too many."""
    size = size_of(content)
    if size > bytes_max:
        raise TooLargeError(f"{what} has {size:,} bytes as escaped JSON, and at most {bytes_max:,} fit")
    return size


def checked_name(what: str, prefix: str, given: object) -> str:
    """Return the name of a session. Raises InputError for an id that no name can hold.

    >>> checked_name("thread_id", "langgraph/", 42)
    'langgraph/42'
    """
    name = f"{prefix}{given}"
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = NAME_BYTES_MAX + 1
    if size > NAME_BYTES_MAX or CONTROLS.search(name):
        told = f"has at most {NAME_BYTES_MAX - len(prefix.encode())} bytes of UTF-8 and no control character"
        raise InputError(f"{what} {told}, unlike {shortened(repr(given), 80)}", details={"field": what})
    return name


def shortened(text: str, characters_max: int = TEXT_CHARACTERS_MAX) -> str:
    """Return a text that UTF-8 can hold, or the beginning of a long one.

    >>> shortened("a\\ud83d"), shortened("Lisbon", 3)
    ('a?', 'Li…')
    """
    kept = text if len(text) <= characters_max else text[: characters_max - 1] + "…"
    return kept.encode(errors="replace").decode()
