"""The cursor of a list after the API has read it: a place in the list, or an invalid cursor.

Reading a cursor raises nothing, because a use case must check access before it rejects an invalid
cursor.
"""

from typing import TypeVar

from forklore_service.errors import InvalidCursorError

Place = TypeVar("Place")


class InvalidCursor:
    """A cursor that does not belong to the list."""


def valid(cursor: Place | InvalidCursor) -> Place:
    """Return the place that a cursor names. Raises InvalidCursorError for an invalid cursor."""
    if isinstance(cursor, InvalidCursor):
        raise InvalidCursorError
    return cursor
