"""Which live conversation shows an entry whose own conversation may have been removed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.model import Conversation, Entry
from forklore_service.domain.notes import NoteRef
from forklore_service.domain.tree import ForkRecord
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table

RECORDS_AT_ONCE = 10
"""So few that DynamoDB counts a read of them as one unit. Mostly the first one decides."""


class ShownBy(NamedTuple):
    """A live conversation that shows the entries of a removed one before `stop`."""

    conversation: Conversation
    stop: EntryId


@dataclass(slots=True)
class _Step:
    """A removed conversation on the way down. stop: how far the fork that is looked at shows it."""

    owner: str
    records: Iterator[ForkRecord]
    stop: EntryId = FIRST


@dataclass(slots=True)
class Showing:
    """Finds for the entries of a tree a live conversation that shows them.

    What it has found below a removed conversation it knows, so each of these is looked at once.
    reads: how many it has made, each of about one unit.
    """

    table: Table
    group_id: str
    reads: int = 0
    _of_removed: dict[str, ShownBy | None] = field(default_factory=dict)

    def conversation_of(self, entry: Entry, found: Found) -> Conversation | None:
        """Return the entry's owner; if that was removed, another that shows the entry, or None.

        found: holds the CONV of the owner if it is not removed.
        """
        own = found.conversation(self.group_id, entry.conversation_id)
        if own is not None:
            return own
        most = self.most_of(entry.conversation_id)
        return most.conversation if most is not None and entry.entry_id < most.stop else None

    def knows(self, removed: str) -> bool:
        """Return whether `most_of` needs no read."""
        return removed in self._of_removed

    def most_of(self, removed: str) -> ShownBy | None:
        """Return the live conversation that shows the most of a removed one; None if none does.

        A fork of a fork shows no more of an owner than that fork. So the record with the largest
        stop decides, if the fork or anything below it is live. What is found decides for each
        conversation on the way down to it.
        """
        way: list[_Step] = [] if self.knows(removed) else [self._step(removed)]
        while way:
            record = next(way[-1].records, None)
            if record is None:
                self._of_removed[way.pop().owner] = None
                continue
            way[-1].stop, fork_id = record.stop, record.conversation_id
            live = self._live(record)
            if live is not None:
                self._of_removed |= {step.owner: ShownBy(live, step.stop) for step in way}
                break
            if not self.knows(fork_id):
                way.append(self._step(fork_id))
        return self._of_removed[removed]

    def _live(self, record: ForkRecord) -> Conversation | None:
        """Return the fork, or if that was removed, what is known to be live below it."""
        fork_id = record.conversation_id
        if not record.is_removed and not self.knows(fork_id):
            self.reads += 1
            fork = self.table.get([keys.conversation(self.group_id, fork_id)])
            conversation = fork.conversation(self.group_id, fork_id)
            if conversation is not None:
                return conversation
        most = self._of_removed.get(fork_id)
        return most.conversation if most is not None else None

    def _step(self, owner: str) -> _Step:
        return _Step(owner, self._records(owner))

    def _records(self, owner: str) -> Iterator[ForkRecord]:
        """Yield the records of the forks that leave a conversation, the largest stop first."""
        rows = self.table.read.fork_records(self.group_id, owner, newest_first=True, page=RECORDS_AT_ONCE)
        self.reads += 1
        for number, row in enumerate(rows, 1):
            yield row
            self.reads += number % RECORDS_AT_ONCE == 0


class Reachable:
    """Tells which entries of a tree a live conversation shows.

    Entries of a removed branch that nobody shows are still there until the worker removes them.
    """

    def __init__(self, table: Table, group_id: str) -> None:
        self._removed = table.start(lambda: set(table.read.remnant_ids(group_id)))
        self._showing = Showing(table, group_id)

    def finish(self) -> None:
        """Wait for the read of removed branches, which may be needed for no entry."""
        self._removed.result()

    def shows(self, entry: Entry | NoteRef) -> bool:
        """Tell it of an entry, or of the entry of a note."""
        if entry.conversation_id not in self._removed.result():
            return True
        most = self._showing.most_of(entry.conversation_id)
        return most is not None and entry.entry_id < most.stop
