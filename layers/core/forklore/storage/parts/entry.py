"""The parts that put an entry and the chunks of its body (items ENTRY, BLOB)."""

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


def body_bytes(puts: list[Part]) -> int:
    """Return how many bytes of bodies the parts of entries hold."""
    stored = [one.request["Item"] for one in puts]
    packed = ("body", "indexed", "data")
    return sum(len(item.get(name, {}).get("B", b"")) for item in stored for name in packed)
