"""How what is in the trash leaves it: its owner restores it, or the sweep ends its time there.

A whole tree is there with all that it has started (`tree_trash`), or a branch with what that has
started (`branch_trash`).
"""

from collections.abc import Callable

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import TREE_SHARDS, ListKey
from forklore_service.domain.model import Caller, JobKind
from forklore_service.domain.retention import DAY_MS, FIRST_PLACE
from forklore_service.domain.tree import Group, State
from forklore_service.errors import ConflictError, UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.actions import ActionKind
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.branch_trash import empty_branch, read_branch, restore_branch
from forklore_service.usecases.deletion.tree_trash import end_trash, not_in_trash, restore_tree, trashed_group
from forklore_service.usecases.shared.loading import ConversationDetails, look_up
from forklore_service.usecases.shared.optimistic import CHANGE, attempts

EMPTIED_AT_ONCE = 100
"""Trees and branches of a shard whose time is over, looked at in one request."""


def restore_conversation(
    table: Table, queue: Queue, *, caller: Caller, conversation_id: str
) -> ConversationDetails:
    """Restore a branch, or the tree of a conversation, and all that went into the trash with it.

    Return the conversation. A conversation that is live is returned as it is.
    Raises NotFoundError, also if it went there only with what had started it. Raises
    ForbiddenError if it is live and the caller is below manager, ConflictError if what started it
    is deleted, UnavailableError if a worker still has to end it.
    """
    group = _begin_restoring(table, queue, caller, conversation_id)
    if isinstance(group, ConversationDetails):
        return group
    try:
        restore_tree(table, group)
    except UnavailableError:
        queue.announce([group.group_id])
        raise
    table.cache.forget(conversation_id)
    found = look_up(table, conversation_id, caller=caller).require(conversation_id, AccessLevel.OWNER)
    return found.details(now_s=table.now_s())


def _begin_restoring(
    table: Table, queue: Queue, caller: Caller, conversation_id: str
) -> Group | ConversationDetails:
    """Return the tree, on its way back; or the conversation if it is live, or a branch alone."""
    for attempt in attempts(table, CHANGE):
        found = look_up(table, conversation_id, caller=caller)
        if found.loaded is not None:
            loaded = found.require(conversation_id, AccessLevel.MANAGER)
            return loaded.details(now_s=table.now_s())
        pointer = found.found.pointer(conversation_id, now_s=table.now_s())
        if pointer is not None and pointer.is_resting:
            restored = restore_branch(
                table, queue, caller=caller, looked_up=found, conversation_id=conversation_id
            )
            if restored is None and attempt:
                raise not_in_trash(conversation_id)
            if restored is not None:
                return restored
            continue  # it may be live again meanwhile
        group = trashed_group(table, found, caller, conversation_id)
        if group.state is State.RESTORING:
            return group
        parent_id = group.child_key.partition if group.child_key else None
        started_by = keys.in_child(group.child_key.sort)[0] if group.child_key else ""
        refused = table.try_commit(
            [
                actions.group.begin_restoring(group),
                actions.job.put(JobKind.DELETION, group.group_id, at=table.now()),
                *([actions.group.check_live(parent_id)] if parent_id else []),
                *([actions.conversation.check_exists(parent_id, started_by)] if parent_id else []),
            ]
        )
        if refused is None:
            return group._replace(state=State.RESTORING)
        is_parent_gone = refused.has(ActionKind.PARENT_GROUP) or refused.has(ActionKind.NAMED_HEAD)
        if is_parent_gone and not refused.has(ActionKind.GROUP):
            raise ConflictError(
                "what started the conversation is deleted; restore that first", reason="parent_deleted"
            )
    raise UnavailableError("the conversation keeps changing; try again")


def empty_trash(table: Table, queue: Queue, *, days: int, report: Callable[[Exception], object]) -> int:
    """Begin to remove the trees and branches whose time in the trash is over. The sweep runs this.

    days: for how long they stay there. report: called with the error of each that has one.
    Return how many were begun. Raises UnavailableError.
    """
    before = ids.timestamp(table.now_ms() - days * DAY_MS)
    begun = 0
    for shard in range(TREE_SHARDS):
        place: ListKey | None = FIRST_PLACE
        while place is not None and table.has_time():
            due = keys.trash_range(shard, after=place, before=before)
            places = table.oldest_trashed(due, limit=EMPTIED_AT_ONCE)
            found = table.get(keys.group(at.partition) for _, at in places)
            for _, at in places:
                try:
                    group, branch_id = found.group(at.partition), keys.in_remnant(at.sort)
                    if group is not None and branch_id is not None:
                        begun += _empty_branch(table, queue, group, branch_id, before)
                    elif group is not None and _is_due(group, before) and end_trash(table, group):
                        queue.announce([group.group_id])
                        begun += 1
                except UnavailableError:
                    raise
                except Exception as error:  # noqa: BLE001 (one tree must not stop the others)
                    report(error)
            place = places[-1][0] if len(places) == EMPTIED_AT_ONCE else None
    return begun


def _empty_branch(table: Table, queue: Queue, group: Group, branch_id: str, before: str) -> bool:
    found = read_branch(table, group.group_id, branch_id)
    is_due = found is not None and found.remnant.removed_at < before
    return found is not None and is_due and empty_branch(table, queue, found)


def _is_due(group: Group, before: str) -> bool:
    return group.state is State.TRASHED and (group.trashed_at or "") < before
