"""What an append has written, and the record of it under an Idempotency-Key."""

import json
from typing import NamedTuple

from forklore.domain.model import Entry
from forklore.domain.tree import IdempotencyRecord
from forklore.storage.actions import Action
from forklore.storage.table import Table
from forklore.usecases.steps.drafts import Batch
from forklore.usecases.steps.idempotency import IdempotencyKey, entries_again, record_entries
from forklore.usecases.steps.syncing import Decision, Synced


class Appended(NamedTuple):
    """The entries of an append, in order. synced: what its present context did, if it had one."""

    entries: list[Entry]
    synced: Synced | None = None

    @classmethod
    def of(cls, batch: Batch, decision: Decision | None) -> "Appended":
        """Return what a batch has written that ends with the decision's drafts."""
        if decision is None:
            return cls(batch.entries)
        own = len(batch.entries) - len(decision.drafts)
        return cls(batch.entries[:own], decision.outcome(batch))


def record_appended(
    table: Table,
    idempotency_key: IdempotencyKey | None,
    appended: Appended,
    *,
    group_id: str,
    conversation_id: str,
) -> list[Action]:
    """Return the action that records what was appended. Without a key: no action."""
    synced, entries, note = appended.synced, appended.entries, ""
    if synced is not None:
        entries = [*entries, *([synced.entry] if synced.entry else [])]
        note = json.dumps([synced.epoch, synced.epoch_incremented])
    where = {"group_id": group_id, "conversation_id": conversation_id}
    return record_entries(table, idempotency_key, entries=entries, note=note, **where)


def appended_again(table: Table, record: IdempotencyRecord, *, own: int) -> Appended:
    """Return what the recorded request appended. own: how many entries it named itself."""
    entries = entries_again(table, record)
    if not record.body:
        return Appended(entries)
    epoch, epoch_incremented = json.loads(record.body)
    written = entries[own:]
    return Appended(entries[:own], Synced(epoch, written[0] if written else None, epoch_incremented))
