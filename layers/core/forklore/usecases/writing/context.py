"""Sync: make an agent's stored context its present one, and write only what has changed."""

from forklore.domain.model import Caller
from forklore.storage.table import Table
from forklore.usecases.steps.drafts import Draft
from forklore.usecases.steps.idempotency import IdempotencyKey
from forklore.usecases.steps.syncing import Synced
from forklore.usecases.writing.append import append_turn
from forklore.usecases.writing.append_request import Append


def sync_context(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    draft: Draft,
    idempotency_key: IdempotencyKey | None = None,
) -> Synced:
    """Make `draft`, the agent's whole present context, the latest epoch of its client in the view.

    A sync is an append of no entries that carries the present context. A conversation that does not
    exist is created. Of two syncs that race one wins, and the other is decided again. Raises
    NotFoundError if the conversation is deleted, ForbiddenError below writer and for a caller who
    has no context here, PayloadTooLargeError.
    """
    request = Append(conversation_id, (), context=draft, idempotency_key=idempotency_key)
    synced = append_turn(table, caller=caller, request=request).synced
    assert synced is not None, "a present context is always synced"
    return synced
