"""What an append has written, and the record of it under an Idempotency-Key."""

import json
from typing import NamedTuple

from forklore_service.domain.model import Channel, Entry
from forklore_service.domain.tree import IdempotencyRecord
from forklore_service.storage.actions import Action
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.drafts import Batch
from forklore_service.usecases.shared.idempotency import Once
from forklore_service.usecases.shared.syncing import Decision, Synced


class Appended(NamedTuple):
    """The entries of an append, in order. synced: what its present context did, if it had one."""

    entries: list[Entry]
    synced: Synced | None = None

    @property
    def has_written(self) -> bool:
        return bool(self.entries) or (self.synced is not None and not self.synced.no_op)

    @classmethod
    def of(cls, batch: Batch, decision: Decision | None) -> "Appended":
        """Return what a batch has written that ends with the decision's drafts."""
        if decision is None:
            return cls(batch.entries)
        own = len(batch.entries) - len(decision.drafts)
        return cls(batch.entries[:own], decision.outcome(batch))


def record_appended(once: Once, appended: Appended, *, group_id: str, conversation_id: str) -> list[Action]:
    """Return the actions that record what was appended.

    Entries never change, so the record holds only their ids, and what a present context did.
    """
    if once.key is None:
        return []
    synced, entries, note = appended.synced, appended.entries, ""
    if synced is not None:
        entries = [*entries, *([synced.entry] if synced.entry else [])]
        note = json.dumps([synced.epoch, synced.epoch_incremented, synced.last])
    entry_ids = tuple(entry.entry_id for entry in entries)
    return once.record_entries(group_id, conversation_id, entry_ids, note)


def appended_again(table: Table, record: IdempotencyRecord) -> Appended:
    """Return what the recorded request appended. Beside a present context it is history alone."""
    entries = table.entries(record.group_id, record.entry_ids)
    if not record.body:
        return Appended(entries)
    epoch, epoch_incremented, last = json.loads(record.body)
    written = entries.pop() if entries and entries[-1].channel is Channel.CONTEXT else None
    return Appended(entries, Synced(epoch, written, epoch_incremented, last))
