"""What a caller may be called, and which roles there are."""

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


def has_controls(text: str) -> bool:
    """Tell whether a control character (Unicode category Cc) is in `text`."""
    return any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text)
