"""A page of a list, and its cursor after the API has read it: a place, or an invalid cursor.

Reading a cursor raises nothing, because a use case must check access before it rejects an invalid
cursor.
"""

from typing import Generic, NamedTuple, TypeVar

from forklore_service.errors import InvalidCursorError

Row = TypeVar("Row")
Place = TypeVar("Place")


class PageOf(NamedTuple, Generic[Row, Place]):
    """Rows in the order of their list. resume: the place to continue after; None at the end."""

    rows: list[Row]
    resume: Place | None


class InvalidCursor:
    """A cursor that does not belong to the list."""


def valid(cursor: Place | InvalidCursor) -> Place:
    """Return the place that a cursor names. Raises InvalidCursorError for an invalid cursor."""
    if isinstance(cursor, InvalidCursor):
        raise InvalidCursorError
    return cursor
