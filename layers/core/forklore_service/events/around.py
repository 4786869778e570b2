"""What an event names beside the item of its change: from its batch, or else from the table."""

from collections import defaultdict
from collections.abc import Iterable

from forklore_service.domain import ids, keys
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key, SortRange
from forklore_service.domain.model import Channel, Entry, Head, StoredEntry
from forklore_service.errors import UnavailableError
from forklore_service.events.changes import Change
from forklore_service.events.from_changes import NewEntries
from forklore_service.storage import items, schema
from forklore_service.storage.connection import Item
from forklore_service.storage.table import LOOKS_MAX, Table


class Incomplete(UnavailableError):
    """The table answers, but does not show all of an append that it must hold."""


class Around:
    """What lies around the changes of a batch. It is a `from_changes.Look`.

    The items of one write mostly come in one batch, and then nothing is read. But a batch may end
    between them, or begin. What is missing is read from the table, with strong consistency, and so
    are the entries of a copied conversation.
    """

    def __init__(self, table: Table, changes: Iterable[Change] = ()) -> None:
        self._table = table
        self._heads: dict[Key, Item] = {}
        self._entries: defaultdict[tuple[str, str], dict[EntryId, Item]] = defaultdict(dict)
        for change in changes:
            if change.new is not None and change.old is None:
                self._note(change.key, change.new)

    def _note(self, key: Key, item: Item) -> None:
        """Remember an item that was put, if it may be asked for. It is decoded only then."""
        if key.sort.startswith("HEAD#"):
            self._heads.setdefault(key, item)
        elif key.sort[:1].isdigit() and schema.ENTRY_SORT_KEY in item and ids.is_uuid(key.partition):
            conversation_id = item[schema.ENTRY_SORT_KEY]["S"].partition("#")[0]
            self._entries[key.partition, conversation_id][keys.entry_id_of(key.sort)] = item

    def head(self, group_id: str, conversation_id: str) -> Head | None:
        """Return the HEAD of a new conversation; None if the conversation is deleted already."""
        key = keys.head(group_id, conversation_id)
        item = self._heads.get(key) or self._table.items_at([key]).get(key)
        return items.head(item) if item else None

    def entries(self, appended: NewEntries, *, limit: int) -> list[Entry]:
        """Return the first `limit` of the entries in order, those of the history with content.

        Fewer, or without content, only if the conversation is deleted already.
        Raises Incomplete if something of the append cannot be read yet, and UnavailableError.
        """
        group_id, wanted = appended.group_id, min(appended.entries, limit)
        found = self._in_batch(appended)
        for attempt in range(LOOKS_MAX):
            self._table.pause(attempt)
            if len(found) != appended.entries:
                found = self._read(appended, limit=limit)
            stored = [items.stored_entry(item) for item in found[:limit]]
            contents = [self._content(group_id, one) for one in stored]
            is_whole = len(stored) >= wanted and None not in contents
            if is_whole or not self._exists(appended):
                pairs = zip(stored, contents, strict=True)
                return [one.entry._replace(content=content or "") for one, content in pairs]
            found = []
        raise Incomplete("an entry that was appended cannot be read yet; try again")

    def _in_batch(self, appended: NewEntries) -> list[Item]:
        """Return the entries of an append in order, if the batch surely has just these; else none.

        Copies may be put in several transactions, and a copy that another request takes over is
        removed again. The stream still tells of the copies that are gone, so no copy is believed.
        """
        known = self._entries[appended.group_id, appended.conversation_id]
        found = [known[at] for at in sorted(known) if appended.after < at <= appended.last]
        return [] if any(items.is_copied(item) for item in found) else found

    def _exists(self, appended: NewEntries) -> bool:
        """Tell whether the conversation is still there. Its entries go only after its HEAD."""
        head = keys.head(appended.group_id, appended.conversation_id)
        return head in self._table.items_at([head])

    def _read(self, appended: NewEntries, *, limit: int) -> list[Item]:
        """Return the first entries of an append that can be read, in order."""
        found: list[Item] = []
        for channel, count in ((Channel.HISTORY, appended.history), (Channel.CONTEXT, appended.context)):
            if count:
                found += self._table.query(_own_entries(appended, channel), limit=limit)
        return sorted(found, key=lambda item: item["SK"]["S"])

    def _content(self, group_id: str, stored: StoredEntry) -> str | None:
        """Return the content of an entry of the history; None if a part of it is not there."""
        if stored.entry.channel is not Channel.HISTORY:
            return ""
        return self._table.content_of(group_id, stored, is_consistent=True)


def _own_entries(appended: NewEntries, channel: Channel) -> SortRange:
    """Return the range of the entries of an append in one channel."""
    of = appended.conversation_id
    first = keys.by_conversation(of, channel, ids.next_id(appended.after))
    last = keys.by_conversation(of, channel, appended.last)
    return SortRange(appended.group_id, first, last, by_conversation=True)
