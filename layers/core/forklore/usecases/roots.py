"""A new tree whose first conversation begins with entries."""

from collections.abc import Sequence
from dataclasses import dataclass

from forklore.domain import access, ids
from forklore.domain.epochs import NO_EPOCH, Epoch
from forklore.domain.model import Caller, Conversation, Head, StartedBy, Tip
from forklore.storage import parts
from forklore.storage.cache import CachedConversation
from forklore.storage.parts import Part
from forklore.storage.table import Table
from forklore.usecases.drafts import (
    Batch,
    Draft,
    batch_parts,
    context_parts,
    epoch_after,
    has_context,
    head_over,
    mint_batch,
)
from forklore.usecases.references import check_named


@dataclass(frozen=True, slots=True)
class Root:
    """The first conversation of a tree, and the entries it begins with.

    parts: those that write the entries. cached: what is known of it once it is made.
    """

    conversation: Conversation
    head: Head
    batch: Batch
    parts: list[Part]
    cached: CachedConversation


def plan_root(
    table: Table,
    caller: Caller,
    *,
    conversation_id: str,
    drafts: Sequence[Draft],
    nonce: str,
    owner: str | None = None,
    started_by: StartedBy | None = None,
    created_at: str | None = None,
) -> Root:
    """Return a conversation without ancestry that begins with the drafts.

    owner None: the caller. created_at None: when its first entry is.
    Raises ForbiddenError for context from a plain user, ValidationError for a draft that names
    another conversation: the new tree has none.
    """
    check_named(table, drafts, group_id=conversation_id, conversation_id=conversation_id)
    if has_context(drafts):
        access.require_context(caller, bound_to=None)
    batch = mint_batch(
        table, drafts, conversation_id=conversation_id, caller=caller, after=Tip(ids.FIRST), epoch=NO_EPOCH
    )
    root = Conversation(
        conversation_id=conversation_id,
        group_id=conversation_id,
        created_at=created_at or ids.created_at(batch.first),
        title=batch.title,
        agent_id=drafts[0].agent_id,
        client_id=caller.client_id,
        started_by=started_by,
    )
    head = Head(owner=owner or caller.user_id, changed_at=root.created_at, untitled=root.title is None)
    where = {"group_id": conversation_id, "conversation_id": conversation_id}
    entry_parts = [
        *batch_parts(batch, group_id=conversation_id, nonce=nonce),
        *context_parts(batch, caller=caller, epoch=NO_EPOCH, **where),
    ]
    head = head_over(head, batch)
    cached = cache_entry_of_root(caller, root, head, epoch_after(batch, NO_EPOCH))
    return Root(root, head, batch, entry_parts, cached)


def cache_entry_of_root(caller: Caller, root: Conversation, head: Head, epoch: Epoch) -> CachedConversation:
    """Return what to cache of a new conversation without ancestry, its epoch included."""
    return CachedConversation.of(root, head, ((caller.client_id, epoch),) if caller.client_id else ())


def root_parts(table: Table, root: Root, *, nonce: str) -> list[Part]:
    """Return the parts that make a tree whose only member is its owner."""
    tree = parts.group.put_root(root.conversation, root.head, nonce=nonce, now_s=table.now_s())
    return [*tree, *root.parts]
