"""What a caller may be called, which roles there are, and how settings list and match both."""

import fnmatch
import re
from typing import TypeGuard

USER_BYTES_MAX = 255
ADMIN, AUDITOR, INDEXER = "admin", "auditor", "indexer"
ROLES = frozenset({ADMIN, AUDITOR, INDEXER})


def is_user_id(value: object) -> TypeGuard[str]:
    """Tell whether `value` is non-blank text of at most 255 bytes without control characters.

    Ids of clients follow the same rule.

    >>> is_user_id("zoë"), is_user_id(" "), is_user_id("a\\nb"), is_user_id(5)
    (True, False, False, False)
    """
    if not isinstance(value, str) or not value.strip():
        return False
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return False
    return size <= USER_BYTES_MAX and not has_controls(value)


def read_list(text: str) -> list[str]:
    """Return the parts between commas, stripped of blanks and without empty ones.

    >>> read_list("a, b,,c ")
    ['a', 'b', 'c']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def read_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern in which `*` matches any text, also an empty one. The rest matches itself.

    Matching takes no longer for a user id that almost fits: fnmatch's patterns do not backtrack.

    >>> bool(read_pattern("ops-*").fullmatch("ops-7")), bool(read_pattern("a.b").fullmatch("axb"))
    (True, False)
    """
    return re.compile(fnmatch.translate(re.sub(r"([?[])", r"[\1]", text)))


def has_controls(text: str) -> bool:
    """Tell whether a control character (Unicode category Cc) is in `text`."""
    return any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text)
