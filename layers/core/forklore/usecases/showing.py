"""Which live conversation shows an entry whose own conversation may have been removed."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from forklore.domain import keys
from forklore.domain.ids import EntryId
from forklore.domain.model import Conversation, Entry
from forklore.domain.tree import ForkRecord
from forklore.storage.found import Found
from forklore.storage.table import LOOKS_MAX, Table

RECORDS_AT_ONCE = 100
REMOVED_MAX = 100
"""How many removed conversations below one are looked at."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A live conversation that shows the entries of a removed one before `stop`."""

    conversation: Conversation
    stop: EntryId


@dataclass(slots=True)
class Showing:
    """Finds for each entry of a tree a live conversation that shows it.

    found: holds the CONV of each owner of these entries that is not removed.
    """

    table: Table
    group_id: str
    found: Found
    _of_removed: dict[str, Shown | None] = field(default_factory=dict)

    def conversation_of(self, entry: Entry) -> Conversation | None:
        """Return the entry's owner; if that was removed, another that shows the entry, or None."""
        owner = entry.conversation_id
        own = self.found.conversation(self.group_id, owner)
        if own is not None:
            return own
        most = self.most_of(owner)
        return most.conversation if most is not None and entry.entry_id < most.stop else None

    def most_of(self, removed: str) -> Shown | None:
        """Return the live conversation that shows the most of a removed one; None if none does."""
        if removed not in self._of_removed:
            self._of_removed[removed] = self._find_most_of(removed)
        return self._of_removed[removed]

    def _find_most_of(self, removed: str) -> Shown | None:
        """Return the same without what is known already.

        A fork of a fork shows no more of an owner than that fork. So the record with the largest
        stop decides, if the fork or anything below it is live.
        """
        gone: set[str] = set()
        for _ in range(LOOKS_MAX):
            named = self._live_below(removed, gone)
            if named is None:
                return None
            conversation_id, stop = named
            found = self.table.get([keys.conversation(self.group_id, conversation_id)])
            conversation = found.conversation(self.group_id, conversation_id)
            if conversation is not None:
                return Shown(conversation, stop)
            gone.add(conversation_id)  # it was removed a moment ago
        return None

    def _live_below(self, removed: str, gone: set[str]) -> tuple[str, EntryId] | None:
        """Return a live conversation below a removed one, and how far it shows that one."""
        looked = 0
        for record in self._records(removed):
            if _is_live(record, gone):
                return record.conversation_id, record.stop
            below = [record.conversation_id]
            while below and looked < REMOVED_MAX:
                looked += 1
                for one in self._records(below.pop()):
                    if _is_live(one, gone):
                        return one.conversation_id, record.stop
                    below.append(one.conversation_id)
        return None

    def _records(self, owner: str) -> Iterator[ForkRecord]:
        """Yield the records of the forks that leave a conversation, the largest stop first."""
        return self.table.read.fork_records(self.group_id, owner, newest_first=True, page=RECORDS_AT_ONCE)


class Reachable:
    """Tells which entries of a tree a live conversation shows.

    Entries of a removed branch that nobody shows are still there until the worker removes them.
    """

    def __init__(self, table: Table, group_id: str) -> None:
        self._removed = table.start(lambda: set(table.read.remnant_ids(group_id)))
        self._showing = Showing(table, group_id, Found())

    def shows(self, entry: Entry) -> bool:
        if entry.conversation_id not in self._removed.result():
            return True
        most = self._showing.most_of(entry.conversation_id)
        return most is not None and entry.entry_id < most.stop


def _is_live(record: ForkRecord, gone: set[str]) -> bool:
    return not record.is_removed and record.conversation_id not in gone
