"""A new tree whose first conversation begins with entries."""

from collections.abc import Sequence
from dataclasses import dataclass

from forklore.domain import access, ids
from forklore.domain.epochs import NO_EPOCH
from forklore.domain.model import Caller, Conversation, Head
from forklore.storage.connection import Write
from forklore.storage.table import Table
from forklore.usecases.drafts import (
    Batch,
    Draft,
    has_context,
    head_over,
    mint_batch,
    write_batch,
    write_context,
)


@dataclass(frozen=True, slots=True)
class Root:
    """A tree that is to be written, and the entries it begins with."""

    writes: list[Write]
    batch: Batch


def plan_root(
    table: Table, caller: Caller, *, conversation_id: str, drafts: Sequence[Draft], nonce: str
) -> Root:
    """Return a tree of the caller's. Raises ForbiddenError for context from a plain user."""
    if has_context(drafts):
        access.require_context(caller, bound_to=None)
    batch = mint_batch(
        table, drafts, conversation_id=conversation_id, caller=caller, last=ids.FIRST, epoch=NO_EPOCH
    )
    root = Conversation(
        conversation_id=conversation_id,
        group_id=conversation_id,
        created_at=ids.created_at(batch.first),
        title=batch.title,
        agent_id=drafts[0].agent_id,
        client_id=caller.client_id,
    )
    head = Head(owner=caller.user_id, changed_at=root.created_at, untitled=root.title is None)
    where = {"group_id": conversation_id, "conversation_id": conversation_id}
    writes = [
        *table.write.put_root(root, head_over(head, batch), nonce=nonce, now_s=table.now_s()),
        *write_batch(table, batch, group_id=conversation_id, nonce=nonce),
        *write_context(table, batch, caller=caller, epoch=NO_EPOCH, **where),
    ]
    return Root(writes, batch)
