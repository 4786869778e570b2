"""Find an entry by the key that its caller gave it."""

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller, Entry, StoredEntry
from forklore_service.errors import NotFoundError, brief
from forklore_service.storage.found import Found
from forklore_service.storage.table import BATCH_KEYS_MAX, Table
from forklore_service.usecases.reading.entries import shown_to
from forklore_service.usecases.shared.loading import LoadedConversation, TreeExtras, look_up

KEYS_AT_FIRST = 8
"""KEY items read in the first request along a path, for a conversation that inherits from more."""


def look_entry_up(table: Table, *, caller: Caller, conversation_id: str, key: str) -> Entry:
    """Return the entry that the conversation shows under a key, the nearest if several do.

    Raises NotFoundError if there is none, ForbiddenError if the caller is not a member.
    """
    looked_up = look_up(
        table, conversation_id, caller=caller, extras=TreeExtras(entry_key=key), describes=False
    )
    loaded = looked_up.require(conversation_id, AccessLevel.READER)
    stored = find_entry(table, caller, loaded, looked_up.found, key)
    return table.with_bodies(loaded.group.group_id, [stored])[0]


def find_entry(
    table: Table, caller: Caller, loaded: LoadedConversation, found: Found, key: str
) -> StoredEntry:
    """Return the entry that the caller is shown under a key, nearest first along the path.

    found: the read of the conversation, with its own KEY. Raises NotFoundError if there is none.
    """
    group_id, admits = loaded.group.group_id, shown_to(caller, loaded).admits
    nearest = loaded.view.segments[::-1]
    rounds = [nearest[:1], nearest[1 : 1 + KEYS_AT_FIRST]]
    rest = nearest[1 + KEYS_AT_FIRST :]
    rounds += [rest[at : at + BATCH_KEYS_MAX] for at in range(0, len(rest), BATCH_KEYS_MAX)]
    for segments in filter(None, rounds):
        if segments is not rounds[0]:
            found = table.get(keys.entry_key(group_id, s.conversation_id, key) for s in segments)
        named = [(s, found.keyed_entry(group_id, s.conversation_id, key)) for s in segments]
        shown = [entry_id for segment, entry_id in named if entry_id and entry_id < segment.stop]
        entries = table.get(keys.entry(group_id, entry_id) for entry_id in shown)
        for entry_id in shown:
            stored = entries.entry(group_id, entry_id)
            if stored is not None and admits(stored.entry):
                return stored
    raise NotFoundError(f"no entry with the key {brief(key)}")
