"""The request that deletes a fork tree: it sets the tombstone and closes the tree.

The JOB item is written with the tombstone and deleted with the tree. JOB guarantees that a worker
removes all items. The queue only makes this fast.
"""

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import WAIT_SECONDS, State
from forklore_service.errors import NotFoundError, UnavailableError, brief
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.closing_trees import close_tree, tombstone
from forklore_service.usecases.shared.loading import LookUp, look_up
from forklore_service.usecases.shared.optimistic import TOMBSTONE, attempts


def delete_conversation(
    table: Table, queue: Queue, *, caller: Caller, conversation_id: str, wait_s: int = WAIT_SECONDS
) -> bool:
    """Delete the conversation's whole fork tree, and every tree started from it.

    Return True if the tree and its direct children can no longer be read or written.
    Return False if the tree can no longer be read, but is not closed yet. A worker then closes it.
    If an earlier deletion stopped before the tree was closed, its owner can call this again.
    Raises NotFoundError. Raises ForbiddenError if the caller is not the owner.
    """
    group_id, is_new = _set_tombstone(table, caller, conversation_id)
    return finish_deletion(table, queue, group_id, last=conversation_id, is_new=is_new, wait_s=wait_s)


def finish_deletion(
    table: Table, queue: Queue, group_id: str, *, last: str, is_new: bool = True, wait_s: int
) -> bool:
    """Close a tree that has its tombstone, and announce it. Return as `delete_conversation` does.

    last: the conversation that the request named. is_new: whether the tombstone was set just now.
    """
    table.cache.forget(last)
    try:
        close_tree(table, queue, group_id, last=last, delay_s=wait_s + 1, is_new=is_new)
    except UnavailableError:
        queue.announce([group_id])
        return False
    queue.announce([group_id], delay_s=wait_s + 1)
    return True


def _set_tombstone(table: Table, caller: Caller, conversation_id: str) -> tuple[str, bool]:
    """Set the tombstone of the conversation's tree. After that no request can read the tree.

    Return the tree's id, and whether the tombstone was set just now.
    """
    for _ in attempts(table, TOMBSTONE):
        found = look_up(table, conversation_id, caller=caller)
        if found.loaded is None:
            return deleting_group(table, found, caller, conversation_id), False
        group_id = found.require(conversation_id, AccessLevel.OWNER).group.group_id
        owner = None if caller.bypasses_membership else caller.user_id
        at = table.now()
        if table.try_commit(tombstone(group_id, at=at, owner=owner)) is None:
            return group_id, True
        # Refused: the tree now has another owner or a tombstone. Decide again.
    raise UnavailableError("the conversation keeps changing; try again")


def deleting_group(table: Table, found: LookUp, caller: Caller, conversation_id: str) -> str:
    """Return the tree's id if the tree has a tombstone and the caller may close it.

    The deletion closes the named conversation last. So while its HEAD exists, the tree is not
    closed. Raises NotFoundError otherwise.
    """
    pointer = found.found.pointer(conversation_id, now_s=table.now_s())
    group_id = pointer.group_id if pointer else None
    if group_id is not None and keys.head(group_id, conversation_id) in found.found:
        group = found.found.group(group_id)
        if (
            group
            and group.state is State.DELETING
            and (caller.bypasses_membership or group.owner == caller.user_id)
        ):
            return group_id
    raise NotFoundError(f"no conversation {brief(conversation_id)}")
