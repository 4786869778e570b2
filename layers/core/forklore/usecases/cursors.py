"""The cursor of a list as the API has read it: a place in the list, or an invalid cursor.

A use case first checks access and then rejects an invalid cursor. So reading a cursor raises nothing.
"""

from dataclasses import dataclass
from typing import TypeVar

from forklore.errors import InvalidCursorError

Place = TypeVar("Place")


@dataclass(frozen=True, slots=True)
class InvalidCursor:
    """A cursor that does not belong to the list."""


def valid(cursor: Place | InvalidCursor) -> Place:
    """Return the place that a cursor names. Raises InvalidCursorError for an invalid cursor."""
    if isinstance(cursor, InvalidCursor):
        raise InvalidCursorError
    return cursor
