"""The lines of an export: one item of the table on each, as JSON. See `docs/formats.md`.

Text and numbers stand as they are, bytes in hexadecimal digits. An entry has its content as text,
where the table has it packed, perhaps in several items.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forklore_local.fsck.shapes import SHAPES, Kind, kind_of
from forklore_local.porting.failures import FormatError, decoding
from forklore_service.domain import attachments, ids, jsontext
from forklore_service.domain.attachments import File
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Channel, Entry, StoredEntry
from forklore_service.domain.users import is_user_id
from forklore_service.errors import ValidationError
from forklore_service.storage import items
from forklore_service.storage.connection import Item

CONTENT, INDEXED = "content", "indexedContent"
ATTACHED = "attached"
"""What the line of an entry tells of the attachments that it names: their items."""
PACKED = ("body", "chunks", "indexed")
"""The attributes of an entry that its line has as CONTENT and INDEXED."""
_JSON = {CONTENT: list, "metadata": dict, "usage": dict, "data": dict}
"""What callers own, as JSON text, and what that is."""
_NUMBER_DIGITS_MAX = 20
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def line_of(members: Mapping[str, Any]) -> bytes:
    """Return a line with its line end.

    >>> line_of({"type": "end", "path": b"\\x01"})
    b'{"type":"end","path":"01"}\\n'
    """
    spelled = {name: held.hex() if isinstance(held, bytes) else held for name, held in members.items()}
    return f"{_encode(spelled)}\n".encode()


def item_line(item: Item) -> bytes:
    """Return the line of an item. Raises FormatError if no import would take it."""
    members = items.plain(item)
    _check_texts(members)
    _check(item)
    return line_of(dict(sorted(members.items())))


def entry_line(item: Item, entry: Entry, files: Sequence[File] = ()) -> bytes:
    """Return the line of an entry. Raises FormatError.

    entry: the same with its content. files: the attachments that it names.
    """
    bare = {name: held for name, held in item.items() if name not in PACKED}
    _check(item)
    _read_entry(bare, items.key(item).partition)
    for file in files:
        attachments.check(file)
    indexed = {} if entry.indexed_content is None else {INDEXED: entry.indexed_content}
    attached = {ATTACHED: [items.plain(items.file_item(file)) for file in files]} if files else {}
    members = {**items.plain(bare), CONTENT: entry.content, **indexed, **attached}
    _check_texts(members)
    return line_of(dict(sorted(members.items())))


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


def entry_of(members: Mapping[str, Any], group_id: str) -> StoredEntry:
    """Return the entry of a line, with its content. Raises FormatError if the tree has no such."""
    kept = {name: held for name, held in members.items() if name not in (CONTENT, INDEXED, ATTACHED)}
    if not isinstance(members.get(CONTENT), str) or not isinstance(members.get(INDEXED, ""), str):
        raise FormatError("only entries stand here, with their content as text")
    with decoding():
        _check_texts(members)
        stored = _read_entry(item_of(kept), group_id)
    said = stored.entry._replace(content=members[CONTENT], indexed_content=members.get(INDEXED))
    return stored._replace(entry=said)


def files_of(members: Mapping[str, Any], entry: Entry) -> list[File]:
    """Return the attachments that the line of an entry tells of.

    Raises FormatError unless they are those that the entry names.
    """
    files = []
    with decoding():
        for item in map(item_of, members.get(ATTACHED, ())):
            file = items.file(item)
            require_written(item, items.file_item(file._replace(named=0, is_pending=False, asked=None)))
            attachments.check(file)
            files.append(file)
        told = [(one.attachment_id, one.content_type, one.size) for one in files]
        if told != [(one.attachment_id, one.content_type, one.size) for one in entry.attachments]:
            raise FormatError("it tells of other attachments than the entry names")
    return files


def require_written(item: Item, written: Item) -> None:
    """Raise FormatError unless the item is what forklore writes for its value."""
    if item != written:
        other = [name for name in item | written if item.get(name) != written.get(name)]
        raise FormatError(f"{_kind(items.key(item)).upper()} has another {other[0]!r}")


def _read_entry(bare: Item, group_id: str) -> StoredEntry:
    """Return the entry of an item that has none of PACKED."""
    stored = items.stored_entry(bare)
    entry = stored.entry
    written, _ = items.entry_items(group_id, entry, nonce=stored.nonce, escaped_bytes=stored.escaped_bytes)
    require_written(bare, {name: held for name, held in written.items() if name not in PACKED})
    turn = entry.turn
    named = [
        entry.entry_id,
        *entry.after,
        *([turn.first, turn.last, *turn.before, *turn.after] if turn else []),
    ]
    if not all(one is None or ids.is_entry_id(one) for one in named):
        raise FormatError("ENTRY names what is no entry")
    is_context = entry.channel is Channel.CONTEXT
    if (entry.epoch is not None) != is_context or (is_context and entry.client_id is None):
        raise FormatError("context has a client and an epoch, and history has no epoch")
    return stored


def _kind(key: Key) -> Kind:
    kind = kind_of(key)
    if kind is None:
        raise FormatError(f"no item has the key {key.partition[:60]!r}, {key.sort[:60]!r}")
    return kind


def _check(item: Item) -> None:
    """Raise FormatError for an item that has not the attributes of its kind, with their types."""
    kind = _kind(items.key(item))
    wrong = [*SHAPES[kind].unknown(item), *SHAPES[kind].malformed(item)]
    wrong += [name for name, held in item.items() if not wrong and not _has_form(name, held)]
    if wrong:
        raise FormatError(f"{kind.upper()} has another {wrong[0]!r}")


def _has_form(name: str, held: Mapping[str, Any]) -> bool:
    [(letter, value)] = held.items()
    match letter:
        case "N":
            return value.isdecimal() and len(value) <= _NUMBER_DIGITS_MAX
        case "M":
            return all("S" in one for one in value.values())
        case "S" if name in _FORMS:
            return _FORMS[name](value)
        case "S" if name.endswith("At"):
            return is_time(value)
    return True


def is_time(text: str) -> bool:
    """Tell whether a text is a time as forklore writes it."""
    try:
        return ids.timestamp(ids.milliseconds(text)) == text
    except (ValueError, OverflowError, TypeError):
        return False


def _is_ref(text: str) -> bool:
    conversation_id, _, entry_id = text.partition("#")
    return ids.is_uuid(conversation_id) and (not entry_id or ids.is_entry_id(entry_id))


_FORMS: Mapping[str, Callable[[str], bool]] = {
    **dict.fromkeys(("userId", "owner", "clientId", "from", "to", "titledBy", "previewBy"), is_user_id),
    **dict.fromkeys(("group", "conversation", "current", "parent"), ids.is_uuid),
    **dict.fromkeys(("forkedAtConversationId", "startedByConversationId"), ids.is_uuid),
    **dict.fromkeys(("forkedAtEntryId", "startedByEntryId", "id"), ids.is_entry_id),
    **dict.fromkeys(("floor", "first", "last", "lastHistory", "lastContext"), ids.is_entry_id),
    **dict.fromkeys(("mergedFrom", "copiedFrom"), _is_ref),
}
"""What texts are, by the name of the attribute. Those that end with `At` are times."""


def _check_texts(members: Mapping[str, Any]) -> None:
    """Raise FormatError for JSON text that a request could not bring."""
    for name, of in _JSON.items():
        if name in members:
            try:
                held = jsontext.check_value(members[name])
                if "\\u" in held.text:
                    json.dumps(held.value, ensure_ascii=False, default=str).encode()
            except (ValidationError, UnicodeEncodeError) as error:
                raise FormatError(f"{name}: {error}") from error
            if not isinstance(held.value, of):
                raise FormatError(f"{name}: it is no {'array' if of is list else 'object'}")
