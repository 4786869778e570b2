"""The actions that put an entry, the chunks of its body, and its key (items ENTRY, BLOB, KEY)."""

from forklore_service.domain import keys
from forklore_service.domain.model import Entry, StoredEntry
from forklore_service.storage import items
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import Action, ActionKind
from forklore_service.storage.items import text


def put(group_id: str, entry: Entry, *, nonce: str, escaped_bytes: int) -> list[Action]:
    """Put an entry whose id is not in use, and the chunks of its body."""
    item, chunks = items.entry_items(group_id, entry, nonce=nonce, escaped_bytes=escaped_bytes)
    return [
        action.put_new(ActionKind.ENTRY, item, of=entry.entry_id),
        *(
            action.put(ActionKind.CHUNK, chunk, of=f"{entry.entry_id} {at}")
            for at, chunk in enumerate(chunks)
        ),
    ]


def claim_key(group_id: str, entry: Entry, key: str) -> Action:
    """Note the key of an entry, unless another entry of its conversation has it."""
    item = items.entry_key_item(group_id, entry.conversation_id, key, entry.entry_id)
    return action.put_new(ActionKind.ENTRY_KEY, item, of=f"{entry.conversation_id} {key}")


def erase(group_id: str, was: StoredEntry, entry: Entry, *, escaped_bytes: int) -> list[Action]:
    """Replace an entry by what stays of it, and delete the chunks of its body and its key.

    was: the entry as it was read. It must still have its author.
    """
    item, _ = items.entry_items(group_id, entry, nonce=was.nonce, escaped_bytes=escaped_bytes)
    of = was.entry
    put = action.put(
        ActionKind.ENTRY,
        item,
        of=of.entry_id,
        condition="#userId = :author",
        values={":author": text(of.user_id)},
    )
    chunks = (
        action.delete(ActionKind.CHUNK, keys.blob(group_id, of.entry_id, at), of=f"{of.entry_id} {at}")
        for at in range(was.chunks)
    )
    if of.key is None:
        return [put, *chunks]
    key = keys.entry_key(group_id, of.conversation_id, of.key)
    return [put, *chunks, action.delete(ActionKind.ENTRY_KEY, key, of=f"{of.conversation_id} {of.key}")]


def body_bytes(puts: list[Action]) -> int:
    """Return how many bytes of bodies and of metadata the actions of entries hold."""
    large = ("body", "indexed", "data", "metadata")
    held = [put.target[name] for put in puts for name in large if name in put.target]
    return sum(items.value_bytes(one) for one in held)
