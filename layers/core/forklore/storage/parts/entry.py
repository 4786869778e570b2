"""The parts that put an entry, the chunks of its body, and its key (items ENTRY, BLOB, KEY)."""

from forklore.domain.model import Entry
from forklore.storage import items
from forklore.storage.parts import part
from forklore.storage.parts.part import Part, PartKind


def put(group_id: str, entry: Entry, *, nonce: str, escaped_bytes: int) -> list[Part]:
    """Put an entry whose id is not in use, and the chunks of its body."""
    item, chunks = items.entry_items(group_id, entry, nonce=nonce, escaped_bytes=escaped_bytes)
    return [
        part.put_new(PartKind.ENTRY, item, of=entry.entry_id),
        *(part.put(PartKind.CHUNK, chunk, of=f"{entry.entry_id} {at}") for at, chunk in enumerate(chunks)),
    ]


def claim_key(group_id: str, entry: Entry) -> list[Part]:
    """Note the key of an entry, unless another entry of its conversation has it.

    Nothing for an entry without a key.
    """
    if entry.key is None:
        return []
    item = items.entry_key_item(group_id, entry.conversation_id, entry.key, entry.entry_id)
    return [part.put_new(PartKind.ENTRY_KEY, item, of=entry.key)]


def body_bytes(puts: list[Part]) -> int:
    """Return how many bytes of bodies the parts of entries hold."""
    stored = [one.request["Item"] for one in puts]
    packed = ("body", "indexed", "data")
    return sum(len(item.get(name, {}).get("B", b"")) for item in stored for name in packed)
