"""The lines of an export: one item of the table on each, as JSON. See `docs/formats.md`.

Text and numbers stand as they are, bytes in hexadecimal digits. An entry has its content as text,
where the table has it packed, perhaps in several items.
"""

import json
from collections.abc import Mapping
from typing import Any

from forklore_local.fsck.shapes import SHAPES, Kind, kind_of
from forklore_local.porting.failures import FormatError, decoding
from forklore_service.domain import ids, jsontext
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Entry, StoredEntry
from forklore_service.errors import ValidationError
from forklore_service.storage import items
from forklore_service.storage.connection import Item

CONTENT, INDEXED = "content", "indexedContent"
PACKED = ("body", "chunks", "indexed")
"""The attributes of an entry that its line has as CONTENT and INDEXED."""
_JSON = (CONTENT, "metadata", "usage", "data")
"""What callers own."""
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def line_of(members: Mapping[str, Any]) -> bytes:
    """Return a line with its line end.

    >>> line_of({"type": "end", "path": b"\\x01"})
    b'{"type":"end","path":"01"}\\n'
    """
    spelled = {name: held.hex() if isinstance(held, bytes) else held for name, held in members.items()}
    return f"{_encode(spelled)}\n".encode()


def item_line(item: Item) -> bytes:
    """Return the line of an item. Raises FormatError if forklore writes no such item."""
    _check(item)
    return line_of(dict(sorted(items.plain(item).items())))


def entry_line(item: Item, entry: Entry) -> bytes:
    """Return the line of an entry. entry: the same with its content. Raises FormatError."""
    _check(item)
    members = {name: held for name, held in items.plain(item).items() if name not in PACKED}
    indexed = {} if entry.indexed_content is None else {INDEXED: entry.indexed_content}
    return line_of(dict(sorted({**members, CONTENT: entry.content, **indexed}.items())))


def members_of(line: bytes) -> dict[str, Any]:
    """Return the members of a line. Raises FormatError for anything but one object."""
    try:
        members = json.loads(line)
        _encode(members).encode()
    except (ValueError, RecursionError) as error:
        raise FormatError("it is no JSON object") from error
    if not isinstance(members, dict):
        raise FormatError("it is no JSON object")
    return members


def item_of(members: Mapping[str, Any]) -> Item:
    """Return the item of a line. Raises FormatError if forklore writes no such item."""
    with decoding():
        _check_texts(members)
        shape = SHAPES[_kind(Key(members["PK"], members["SK"]))]
        types = shape.needed | shape.possible
        item = items.present(
            {name: bytes.fromhex(held) if types.get(name) == "B" else held for name, held in members.items()}
        )
        _check(item)
    return item


def entry_of(members: Mapping[str, Any]) -> StoredEntry:
    """Return the entry of a line, with its content. Raises FormatError."""
    kept = {name: held for name, held in members.items() if name not in (CONTENT, INDEXED)}
    if not isinstance(members.get(CONTENT), str) or not isinstance(members.get(INDEXED, ""), str):
        raise FormatError("only entries stand here, with their content as text")
    with decoding():
        _check_texts(members)
        stored = items.stored_entry(item_of(kept))
    said = stored.entry._replace(content=members[CONTENT], indexed_content=members.get(INDEXED))
    return stored._replace(entry=said)


def _kind(key: Key) -> Kind:
    kind = kind_of(key)
    if kind is None:
        raise FormatError(f"no item has the key {key.partition[:60]!r}, {key.sort[:60]!r}")
    return kind


def _check(item: Item) -> None:
    """Raise FormatError for an item that has not the attributes of its kind, with their types."""
    kind = _kind(items.key(item))
    wrong = [*SHAPES[kind].unknown(item), *SHAPES[kind].malformed(item)]
    times = [name for name in ("createdAt", "removedAt") if name in item and not _is_time(item[name]["S"])]
    if wrong or times:
        raise FormatError(f"{kind.upper()} has another {[*wrong, *times][0]!r}")


def _is_time(text: str) -> bool:
    try:
        return ids.timestamp(ids.milliseconds(text)) == text
    except (ValueError, OverflowError, TypeError):
        return False


def _check_texts(members: Mapping[str, Any]) -> None:
    """Raise FormatError for JSON text that a request could not bring."""
    for name in _JSON:
        if name in members:
            try:
                held = jsontext.check_value(members[name])
                if "\\u" in held.text:
                    json.dumps(held.value, ensure_ascii=False, default=str).encode()
            except (ValidationError, UnicodeEncodeError) as error:
                raise FormatError(f"{name}: {error}") from error
