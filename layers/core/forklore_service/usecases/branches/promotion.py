"""Make a conversation the current branch of its fork tree."""

from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import look_up
from forklore_service.usecases.shared.optimistic import CHANGE, attempts
from forklore_service.usecases.shared.use import note_use_of


def promote_conversation(
    table: Table, *, caller: Caller, conversation_id: str, idempotency_key: IdempotencyKey | None = None
) -> None:
    """Make the conversation the current branch of its tree. The last promotion wins.

    Raises NotFoundError, ForbiddenError below writer, IdempotentReplay for a replay.
    """
    once = Once(table, caller, idempotency_key)
    for _ in attempts(table, CHANGE):
        looked_up = look_up(table, conversation_id, caller=caller, extra_keys=once.keys)
        once.raise_if_answered(looked_up.found)
        loaded = looked_up.require(conversation_id, AccessLevel.WRITER)
        group = loaded.group
        at = table.now()
        is_owner = caller.user_id == group.owner
        member = actions.member.check(group.group_id, caller.user_id, AccessLevel.WRITER)
        writes = [
            *once.record(group.group_id, conversation_id, None),
            actions.group.promote(
                group.group_id, conversation_id, owner=caller.user_id if is_owner else None, at=at
            ),
            actions.conversation.check_head(group.group_id, conversation_id),
            *([] if is_owner else [member]),
        ]
        refused = table.try_commit(writes)
        if refused is None:
            note_use_of(table, loaded, at=at)
            return
        once.raise_if_recorded(refused)
    raise UnavailableError("the conversation is busy; try again")
