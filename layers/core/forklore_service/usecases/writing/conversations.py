"""Create, show, change and list conversations."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.epochs import NO_EPOCH
from forklore_service.domain.model import NO_DESCRIPTION, Caller, Conversation, Description, Head
from forklore_service.errors import ConflictError, UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.creation import Creation, Obstacle, PreparedCreation
from forklore_service.usecases.branches.roots import cache_entry_of_root
from forklore_service.usecases.shared.answer_logs import standing
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import ConversationDetails, load_conversation
from forklore_service.usecases.shared.optimistic import CHANGE, attempts


class NewConversation(NamedTuple):
    """A root without entries. conversation_id None: an id is made."""

    conversation_id: str | None = None
    described: Description = NO_DESCRIPTION
    agent_id: str | None = None


def create_conversation(
    table: Table, *, caller: Caller, request: NewConversation, idempotency_key: IdempotencyKey | None = None
) -> ConversationDetails:
    """Create a conversation of the caller's, in a tree of its own.

    Raises ConflictError if the id is in use or was deleted recently, IdempotentReplay for a replay.
    """
    creation = Creation[ConversationDetails](table, caller, idempotency_key)
    for nonce in creation.attempts():
        creation.write(_prepare_root(table, caller, request, creation.once, nonce))
    if creation.answer is None:
        raise creation.id_conflict(request.conversation_id)
    return creation.answer


def _prepare_root(
    table: Table, caller: Caller, request: NewConversation, once: Once, nonce: str
) -> PreparedCreation[ConversationDetails] | Obstacle:
    pointer = [keys.pointer(request.conversation_id)] if request.conversation_id else []
    found = table.get([*pointer, *once.keys])
    once.raise_if_answered(found)
    taken = found.pointer(request.conversation_id, now_s=table.now_s()) if request.conversation_id else None
    if taken is not None:
        return Obstacle.of(taken)
    conversation_id = request.conversation_id or table.mint_conversation()
    root = Conversation(
        conversation_id=conversation_id,
        group_id=conversation_id,
        created_at=table.now(),
        described=request.described,
        agent_id=request.agent_id,
        client_id=caller.client_id,
    )
    head = Head(owner=caller.user_id, changed_at=root.created_at, untitled=root.described.title is None)
    details = ConversationDetails(root, head, AccessLevel.OWNER, head.owner, is_current=True)
    record = once.record(conversation_id, conversation_id, details)
    tree = actions.group.put_root(root, head, nonce=nonce, now_s=table.now_s())
    cached = cache_entry_of_root(caller, root, head, NO_EPOCH)
    return PreparedCreation([*record, *tree], details, conversation_id, cached)


def get_conversation(table: Table, *, caller: Caller, conversation_id: str) -> ConversationDetails:
    """Return the conversation.

    Raises NotFoundError, ForbiddenError if the caller is not a member.
    """
    loaded = load_conversation(table, conversation_id, caller=caller)
    return loaded.details(now_s=table.now_s())._replace(answering=standing(table, loaded))


class Patch(NamedTuple):
    """What to replace: fields of the description, each with its new value.

    if_match: the `updatedAt` that the caller knows of.
    """

    described: Mapping[str, Any]
    if_match: str | None = None


def update_conversation(
    table: Table, *, caller: Caller, conversation_id: str, change: Patch
) -> ConversationDetails:
    """Replace some of the description, and move `updatedAt`.

    Raises NotFoundError, ForbiddenError below writer, ConflictError if the conversation was changed
    since the `if_match` of the change.
    """
    for _ in attempts(table, CHANGE):
        loaded = load_conversation(table, conversation_id, caller=caller, minimum=AccessLevel.WRITER)
        group_id, head = loaded.group.group_id, loaded.head
        if change.if_match not in (None, head.updated_at):
            raise ConflictError(
                "the conversation was changed since then", reason="stale", updatedAt=head.updated_at
            )
        later = ids.timestamp(ids.milliseconds(head.updated_at) + 1)
        changed_at = max(table.now(), later)
        is_owner = caller.user_id == head.owner
        member = actions.member.check(group_id, caller.user_id, AccessLevel.WRITER)
        changed, said = _changed(loaded.details(now_s=table.now_s()), change, changed_at), change.described
        writes = [
            actions.conversation.touch_head(
                group_id,
                conversation_id,
                changed_at=changed_at,
                was=head.changed_at,
                last=None if change.if_match is None else head.last,
                owner=caller.user_id if is_owner else None,
                titled="title" in said,
                changed=bool(said),
            ),
            *([] if is_owner else [member]),
            *([actions.conversation.describe(changed.conversation, said)] if said else []),
        ]
        if table.try_commit(writes) is None:
            if "title" in said:
                table.cache.forget(conversation_id)
            return changed
    raise UnavailableError("the conversation is busy; try again")


def _changed(details: ConversationDetails, change: Patch, changed_at: str) -> ConversationDetails:
    conversation, head = details.conversation, details.head._replace(changed_at=changed_at)
    conversation = conversation._replace(described=conversation.described._replace(**change.described))
    if "title" in change.described:
        conversation, head = conversation._replace(titled_by=""), head._replace(untitled=False)
    return details._replace(conversation=conversation, head=head)
