"""Cursors of lists: a place in a list, bound to that list by a digest. A cursor grants no access.

Reading never raises: what is not a cursor of the list becomes an InvalidCursor, which the use case
rejects after its access checks. Cursors of entries are entry ids and are not made here.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from forklore_service.domain.ids import FIRST, LAST, EntryId, is_entry_id, is_uuid
from forklore_service.domain.jsontext import check_value
from forklore_service.domain.keys import ListKey, is_user_file, list_key
from forklore_service.domain.listing import ListPlace, Walk
from forklore_service.domain.matching import SCORE_DECIMALS, Query, Weights
from forklore_service.domain.meaning import Scale
from forklore_service.domain.names import NameOwner, NameRef, is_name
from forklore_service.domain.notes import NoteRef
from forklore_service.domain.users import is_user_id
from forklore_service.domain.vectors import Near
from forklore_service.errors import ValidationError
from forklore_service.usecases.reading import search
from forklore_service.usecases.shared.cursors import InvalidCursor

_DIGEST_BYTES = 6
SCORES, COUNT_MAX = 10**SCORE_DECIMALS, 1 << 53
"""Cursors hold whole numbers: a score as so many parts, and none beyond."""
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CREATED_AT = re.compile(_TIME, re.ASCII)
_LIST_KEY = re.compile(rf"({_TIME})#({_ID})", re.ASCII)
_PLACE = re.compile(rf"({_TIME}#{_ID})(?:/({_TIME}#{_ID}))?((?:,{_TIME}#{_ID}(?:,{_ID})*)?)", re.ASCII)
"""A tree, perhaps a conversation in it, and perhaps a walk with the trees that it has shown."""


def to_position(cursor: str | None) -> EntryId | None:
    """Return the position that a cursor of entries names; None without a cursor.

    What cannot be an entry's id becomes a position that no entry has. The use case rejects it after
    its access checks.
    """
    if cursor is None:
        return None
    return EntryId(cursor) if is_entry_id(cursor) else LAST


def of_list_key(resource: str, key: ListKey | None) -> str | None:
    """Return the cursor of a place in the list `resource`; None for the end."""
    return None if key is None else _encode(resource, key.sort)


def to_list_key(resource: str, cursor: str | None) -> ListKey | InvalidCursor | None:
    """Return the place that a cursor of `resource` names; None without a cursor."""
    if cursor is None:
        return None
    match = _LIST_KEY.fullmatch(_decode(resource, cursor) or "")
    return ListKey(match[1], match[2]) if match else InvalidCursor()


def to_list_key_or_id(resource: str, cursor: str | None) -> ListKey | str | InvalidCursor | None:
    """Return the place that a cursor names, or the id of a conversation that was sent instead.

    The use case checks that the conversation is in the list.
    """
    return cursor if _is_id(cursor) else to_list_key(resource, cursor)


def of_member(resource: str, place: tuple[str, str] | None) -> str | None:
    """Return the cursor of a member, (createdAt, user id); None for the end."""
    return None if place is None else _encode(resource, "#".join(place))


def to_member(resource: str, cursor: str | None) -> tuple[str, str] | InvalidCursor | None:
    """Return the member that a cursor of `resource` names; None without a cursor."""
    if cursor is None:
        return None
    created_at, _, user_id = (_decode(resource, cursor) or "").partition("#")
    return (created_at, user_id) if _CREATED_AT.fullmatch(created_at) else InvalidCursor()


def of_name(resource: str, ref: NameRef | None) -> str | None:
    """Return the cursor of a name; None for the end."""
    return None if ref is None else _encode(resource, json.dumps([ref.owner.client_id, ref.name]))


def to_name(resource: str, cursor: str | None, *, user_id: str) -> NameRef | InvalidCursor | None:
    """Return the name of a user that a cursor of `resource` names; None without a cursor."""
    if cursor is None:
        return None
    try:
        client_id, name = check_value(_decode(resource, cursor) or "").value
    except (TypeError, ValueError, ValidationError):  # not two of them, or no JSON
        return InvalidCursor()
    is_client = client_id is None or is_user_id(client_id)
    if not is_client or not isinstance(name, str) or not is_name(name):
        return InvalidCursor()
    return NameRef(NameOwner(user_id, client_id), name)


def of_note(resource: str, ref: NoteRef | None) -> str | None:
    """Return the cursor of a note; None for the end."""
    return None if ref is None else _encode(resource, "#".join(ref))


def to_note(resource: str, cursor: str | None) -> NoteRef | InvalidCursor | None:
    """Return the note that a cursor of `resource` names; None without a cursor."""
    if cursor is None:
        return None
    told = (_decode(resource, cursor) or "").split("#")
    if len(told) != len(NoteRef._fields) or not is_uuid(told[0]) or not all(map(_is_position, told[1:])):
        return InvalidCursor()
    return NoteRef(told[0], EntryId(told[1]), EntryId(told[2]))


def of_user_file(resource: str, row: str | None) -> str | None:
    """Return the cursor of an attachment among those of its user; None for the end."""
    return None if row is None else _encode(resource, row)


def to_user_file(resource: str, cursor: str | None) -> str | InvalidCursor | None:
    """Return the attachment that a cursor of `resource` names; None without a cursor."""
    if cursor is None:
        return None
    row = _decode(resource, cursor) or ""
    return row if is_user_file(row) else InvalidCursor()


def of_place(resource: str, place: ListPlace | None) -> str | None:
    """Return the cursor of a place in a user's list of conversations; None for the end."""
    if place is None:
        return None
    conversation = f"/{place.conversation.sort}" if place.conversation else ""
    walk = ",".join(["", place.walk.began.sort, *place.walk.shown]) if place.walk else ""
    return _encode(resource, place.tree.sort + conversation + walk)


def to_place(resource: str, cursor: str | None) -> ListPlace | str | InvalidCursor | None:
    """Return the place that a cursor names, or the id of a conversation, as `to_list_key_or_id`."""
    if cursor is None or _is_id(cursor):
        return cursor
    match = _PLACE.fullmatch(_decode(resource, cursor) or "")
    if match is None:
        return InvalidCursor()
    _, *walk = match[3].split(",")
    return ListPlace(
        list_key(match[1]),
        list_key(match[2]) if match[2] else None,
        Walk(list_key(walk[0]), tuple(walk[1:])) if walk else None,
    )


def of_search(resource: str, cursor: search.SearchCursor | None) -> str | None:
    """Return the cursor of a place in a search; None for the end."""
    if cursor is None:
        return None
    told: list[Any] = [_told_place(cursor.place)]
    if (ranking := cursor.ranking) is not None:
        entries, with_word, characters, having = ranking.weights
        told += [ranking.before, _told_place(ranking.end), [entries, with_word, characters, *having]]
        told += [[round(one * SCORES) for one in ranking.scale], round(ranking.score * SCORES)]
        told.append(_told_place(ranking.last))
        bounds = [ranking.further, ranking.through]
        while bounds and bounds[-1] is None:
            bounds.pop()
        told += [one and [round(one[0] * SCORES), one[1]] for one in bounds]
    return _encode(resource, json.dumps(told, separators=(",", ":")))


def to_search(resource: str, cursor: str | None, query: Query) -> search.SearchCursor | InvalidCursor | None:
    """Return where a cursor of `resource` goes on with a query; None without a cursor."""
    if cursor is None:
        return None
    try:
        place, *ranked = check_value(_decode(resource, cursor) or "").value
        if not ranked:
            return search.SearchCursor(_place_in(place))
        before, end, (entries, with_word, characters, *having), scale, score, last, *bounds = ranked
        counts = (entries, with_word, characters, *having, *map(abs, scale), abs(score))
        is_counted = all(type(one) is int and 0 <= one < COUNT_MAX for one in counts)
        last_place, weights = _place_in(last), Weights(entries, with_word, characters, tuple(having))
        best, nearest, furthest = (one / SCORES for one in scale)
        further, through = _bounds_in(*bounds)
        if (
            (last_place is None and further is None)
            or not is_counted
            or not _is_position(before)
            or not weights.fit(query)
        ):
            return InvalidCursor()
    except (TypeError, ValueError, ValidationError):  # another number of them, or no JSON
        return InvalidCursor()
    ranking = search.Ranking(
        EntryId(before),
        _place_in(end),
        weights,
        Scale(best, nearest, furthest),
        score / SCORES,
        last_place,
        further,
        through,
    )
    return search.SearchCursor(_place_in(place), ranking)


def _bounds_in(further: Any = None, through: Any = None) -> tuple[Near | None, Near | None]:
    """Raises TypeError or ValueError for what is none."""
    return _near_in(further), _near_in(through)


def _near_in(told: Sequence[Any] | None) -> Near | None:
    """Return how near an entry is. Raises TypeError or ValueError for anything else."""
    if told is None:
        return None
    near, entry_id = told
    if type(near) is not int or abs(near) > 2 * SCORES or not _is_position(entry_id):
        raise ValueError("no nearness")
    return near / SCORES, EntryId(entry_id)


def _told_place(place: search.SearchPlace | None) -> str | None:
    return place and "/".join([place.tree.sort, *([place.entry_id] if place.entry_id else [])])


def _place_in(told: str | None) -> search.SearchPlace | None:
    """Return a place of a search. Raises ValueError for anything else."""
    if told is None:
        return None
    tree, _, entry_id = told.partition("/")
    match = _LIST_KEY.fullmatch(tree)
    if match is None or (entry_id and not _is_position(entry_id)):
        raise ValueError("no place")
    return search.SearchPlace(ListKey(match[1], match[2]), EntryId(entry_id) if entry_id else None)


def _is_position(text: str) -> bool:
    return is_entry_id(text) and text > FIRST


def _is_id(cursor: str | None) -> bool:
    return cursor is not None and is_uuid(cursor)


def _encode(resource: str, text: str) -> str:
    return base64.urlsafe_b64encode(_digest(resource) + text.encode()).decode().rstrip("=")


def _decode(resource: str, cursor: str) -> str | None:
    """Return the text in a cursor of `resource`; None for anything else."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        digest, text = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:].decode()
    except ValueError:  # base64's own error is one
        return None
    return text if digest == _digest(resource) else None


def _digest(resource: str) -> bytes:
    return hashlib.sha256(resource.encode()).digest()[:_DIGEST_BYTES]
