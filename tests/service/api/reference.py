"""What docs/api.md says of each operation."""

import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "api.md"
TABLE = "All operations"
"""The section that lists all operations, and says nothing of their fields."""


@cache
def sections() -> dict[str, str]:
    """Return the prose of each section of the second or third level, without code, by its title."""
    prose = re.sub(r"^```.*?^```$", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    parts = re.split(r"^###? (.+)$", prose, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def said_of(operation: str) -> str:
    """Return the sections that name an operation, without the table of all operations."""
    return "\n".join(
        text for title, text in sections().items() if title != TABLE and f"`{operation}`" in text
    )


def names_in(text: str) -> set[str]:
    """Return the words that a text shows as code.

    >>> sorted(names_in("`tail=true` and `id`, no tail; `DELETE …?userId=`"))
    ['DELETE', 'id', 'tail', 'true', 'userId']
    """
    return {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}
