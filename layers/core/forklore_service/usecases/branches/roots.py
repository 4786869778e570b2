"""A new tree whose first conversation begins with entries."""

from collections.abc import Sequence
from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.epochs import NO_EPOCH, Epoch
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import (
    NO_DESCRIPTION,
    NOTHING,
    Caller,
    Conversation,
    Description,
    Head,
    StartedBy,
    Tip,
)
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.cache import CachedConversation
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.creation import Creation, PreparedCreation, name_actions
from forklore_service.usecases.shared.answer_logs import no_answer
from forklore_service.usecases.shared.appended import Appended, record_appended
from forklore_service.usecases.shared.attachments import with_attachments
from forklore_service.usecases.shared.drafts import (
    Batch,
    Draft,
    batch_actions,
    context_actions,
    head_over,
    mint_batch,
    require_match,
)
from forklore_service.usecases.shared.idempotency import Once
from forklore_service.usecases.shared.references import check_named
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.shared.syncing import decide_on_nothing


class PlannedRoot(NamedTuple):
    """The first conversation of a tree, and the entries it begins with.

    actions: those that write the entries. cached: what is known of it once it is made.
    """

    conversation: Conversation
    head: Head
    batch: Batch
    actions: list[Action]
    cached: CachedConversation


def plan_root(
    table: Table,
    caller: Caller,
    *,
    conversation_id: str,
    drafts: Sequence[Draft],
    nonce: str,
    described: Description = NO_DESCRIPTION,
    owner: str | None = None,
    started_by: StartedBy | None = None,
    parent_tree: str | None = None,
    created_at: str | None = None,
    if_match: EntryId | None = None,
) -> PlannedRoot:
    """Return a conversation without ancestry that begins with the drafts.

    owner None: the caller. parent_tree: of a child. created_at None: when its first entry is.
    Raises ValidationError for a draft that names another conversation: the new tree has none. Then
    ConflictError for an `if_match`: a new conversation shows nothing.
    """
    check_named(table, caller, drafts, group_id=conversation_id, conversation_id=conversation_id)
    require_match(if_match, NOTHING)
    drafts = with_attachments(table, caller, drafts, group_id=parent_tree)
    batch = mint_batch(
        table, drafts, conversation_id=conversation_id, caller=caller, after=Tip(ids.FIRST), epoch=NO_EPOCH
    )
    root = Conversation(
        conversation_id=conversation_id,
        group_id=conversation_id,
        created_at=created_at or ids.created_at(batch.first),
        described=described,
        agent_id=drafts[0].entry.agent_id,
        client_id=caller.client_id,
        started_by=started_by,
    ).titled(batch.title)
    untitled = root.described.title is None
    head = Head(owner=owner or caller.user_id, changed_at=root.created_at, untitled=untitled)
    where = {"group_id": conversation_id, "conversation_id": conversation_id}
    entry_actions = [
        *batch_actions(batch, group_id=conversation_id, nonce=nonce),
        *context_actions(batch, caller=caller, **where),
    ]
    head = head_over(head, batch)
    cached = cache_entry_of_root(caller, root, head, batch.epoch)
    return PlannedRoot(root, head, batch, entry_actions, cached)


def create_root(table: Table, *, caller: Caller, request: Append) -> Appended | None:
    """Create a root by its first entries; None if a conversation of that id exists already.

    Raises as `plan_root`, then NotFoundError for an answer to finish: a new tree has none.
    """
    creation = Creation[Appended](table, caller, request.idempotency_key, name=request.name)
    for nonce in creation.attempts():
        creation.write(_prepare(table, caller, request, creation.once, nonce))
    return creation.answer


def _prepare(
    table: Table, caller: Caller, request: Append, once: Once, nonce: str
) -> PreparedCreation[Appended]:
    decision = decide_on_nothing(request.context) if request.context else None
    drafts = [*request.drafts, *(decision.drafts if decision else ())]
    root_id = request.conversation_id
    root = plan_root(
        table,
        caller,
        conversation_id=root_id,
        drafts=drafts,
        nonce=nonce,
        described=request.described,
        if_match=request.if_match,
    )
    if request.finishes is not None:
        raise no_answer(request.finishes)
    appended = Appended.of(root.batch, decision)
    record = record_appended(once, appended, group_id=root_id, conversation_id=root_id)
    tree = actions.group.put_root(root.conversation, root.head, nonce=nonce, now_s=table.now_s())
    name = name_actions(table, request.name, conversation_id=root_id, nonce=nonce)
    return PreparedCreation([*record, *tree, *name, *root.actions], appended, root_id, root.cached)


def cache_entry_of_root(caller: Caller, root: Conversation, head: Head, epoch: Epoch) -> CachedConversation:
    """Return what to cache of a new conversation without ancestry, its epoch included."""
    epochs = ((caller.client_id, epoch),) if caller.client_id else ()
    return CachedConversation.of(root, head, epochs, tree_created_at=root.created_at)
