"""The words of the page."""

import re

ISOLATES = "[\u2068\u2069]*"
"""They stand around the names that others gave, so that none turns the sentence around."""


def words(text: str) -> re.Pattern[str]:
    """Return a pattern that finds a text as a person reads it."""
    parts = [r"\s+" if one == " " else re.escape(one) for one in text]
    return re.compile(ISOLATES.join(parts))
