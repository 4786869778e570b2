"""The query that a question becomes."""

import re

HITS = 5
"""So many entries answer a question, if not told otherwise."""
QUERY_CHARACTERS = 500
_MARKS = re.compile(r'(?<!\S)\+|"')


def asked(question: str) -> str:
    """Return the query of a question: no mark in it demands, and its end is cut off if it is long.

    >>> asked('what did "we" say  of +20 %?')
    'what did we say of 20 %?'
    """
    return (
        " ".join(_MARKS.sub(" ", question).split())[:QUERY_CHARACTERS].strip() or question[:QUERY_CHARACTERS]
    )
