"""Cursors of lists: a position, bound to the list that it is a position of. They grant nothing.

Cursors of entries are entry ids and need no spelling of their own.
"""

import base64
import binascii
import hashlib
import re

from forklore.domain.ids import is_uuid
from forklore.domain.keys import ListKey
from forklore.errors import InvalidCursorError
from forklore.usecases.lists import Place

_DIGEST_BYTES = 6
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_AT = re.compile(_TIME, re.ASCII)
_LISTED = re.compile(rf"({_TIME})#({_ID})", re.ASCII)


def _write(resource: str, positions: list[ListKey]) -> str:
    text = "/".join(position.sort for position in positions)
    return base64.urlsafe_b64encode(_digest(resource) + text.encode()).decode().rstrip("=")


def _text(resource: str, cursor: str) -> str:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        digest, text = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:].decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidCursorError from error
    if digest != _digest(resource):
        raise InvalidCursorError
    return text


def _read(resource: str, cursor: str) -> list[ListKey]:
    matches = [_LISTED.fullmatch(part) for part in _text(resource, cursor).split("/")]
    if not all(matches):
        raise InvalidCursorError
    return [ListKey(match[1], match[2]) for match in matches if match]


def _digest(resource: str) -> bytes:
    return hashlib.sha256(resource.encode()).digest()[:_DIGEST_BYTES]


def of_listed(resource: str, listed: ListKey | None) -> str | None:
    """Return the cursor of a place in the list `resource`; None for the end."""
    return None if listed is None else _write(resource, [listed])


def to_listed(resource: str, cursor: str | None) -> ListKey | None:
    """Return the place that a cursor names. Raises InvalidCursorError unless it is one of `resource`."""
    if cursor is None:
        return None
    positions = _read(resource, cursor)
    if len(positions) != 1:
        raise InvalidCursorError
    return positions[0]


def of_member(resource: str, place: tuple[str, str] | None) -> str | None:
    """Return the cursor of a member, (createdAt, user id); None for the end."""
    if place is None:
        return None
    return base64.urlsafe_b64encode(_digest(resource) + "#".join(place).encode()).decode().rstrip("=")


def to_member(resource: str, cursor: str | None) -> tuple[str, str] | None:
    """Return the place that a cursor names. Raises InvalidCursorError unless it is one of `resource`."""
    if cursor is None:
        return None
    created_at, _, user_id = _text(resource, cursor).partition("#")
    if not _AT.fullmatch(created_at):
        raise InvalidCursorError
    return created_at, user_id


def to_listed_or_id(resource: str, cursor: str | None) -> ListKey | str | None:
    """Return the place that a cursor names, or the id of a conversation that was sent in its place.

    An id is no cursor of one list: who reads the list looks whether it is in it.
    Raises InvalidCursorError unless it is a cursor of `resource` or an id.
    """
    return cursor if _is_id(cursor) else to_listed(resource, cursor)


def _is_id(cursor: str | None) -> bool:
    return cursor is not None and is_uuid(cursor)


def of_place(resource: str, place: Place | None) -> str | None:
    """Return the cursor of a place in a user's list of conversations; None for the end."""
    if place is None:
        return None
    return _write(resource, [place.tree, *([place.conversation] if place.conversation else [])])


def to_place(resource: str, cursor: str | None) -> Place | str | None:
    """Return the place that a cursor names, or the id of a conversation, as `to_listed_or_id`."""
    if cursor is None or _is_id(cursor):
        return cursor
    positions = _read(resource, cursor)
    if len(positions) > 2:
        raise InvalidCursorError
    return Place(positions[0], positions[1] if len(positions) == 2 else None)
