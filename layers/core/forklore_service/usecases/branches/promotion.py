"""Make a conversation the current branch of its fork tree."""

from forklore_service.domain import ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.idempotency import (
    IdempotencyKey,
    keys_of,
    raise_if_answered,
    raise_if_recorded,
    record_answer,
)
from forklore_service.usecases.shared.loading import look_up
from forklore_service.usecases.shared.optimistic import CHANGE, attempts


def promote_conversation(
    table: Table, *, caller: Caller, conversation_id: str, idempotency_key: IdempotencyKey | None = None
) -> None:
    """Make the conversation the current branch of its tree. The last promotion wins.

    Raises NotFoundError, ForbiddenError below writer, IdempotentReplay for a replay.
    """
    for _ in attempts(table, CHANGE):
        looked_up = look_up(table, conversation_id, caller=caller, extra_keys=keys_of(idempotency_key))
        raise_if_answered(table, idempotency_key, looked_up.found, caller=caller)
        group = looked_up.require(conversation_id, AccessLevel.WRITER).group
        where = {"group_id": group.group_id, "conversation_id": conversation_id}
        at = ids.timestamp(table.now_ms())
        is_owner = caller.user_id == group.owner
        member = actions.member.check(group.group_id, caller.user_id, AccessLevel.WRITER)
        writes = [
            *record_answer(table, idempotency_key, answer=None, **where),
            actions.group.promote(
                group.group_id, conversation_id, owner=caller.user_id if is_owner else None, at=at
            ),
            actions.conversation.check_head(group.group_id, conversation_id),
            *([] if is_owner else [member]),
        ]
        refused = table.try_commit(writes)
        if refused is None:
            return
        raise_if_recorded(table, idempotency_key, refused, caller=caller)
    raise UnavailableError("the conversation is busy; try again")
