"""The request that deletes a fork tree: it puts it into the trash, or sets the tombstone.

Then it closes the tree. The JOB item is written with the first change and deleted when the tree is
shut, or with the tree. JOB guarantees that a worker goes on. The queue only makes this fast.
"""

from contextlib import suppress
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import WAIT_SECONDS, Group, State
from forklore_service.errors import NotFoundError, UnavailableError, brief
from forklore_service.storage.actions import Action
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.closing_trees import close_tree, tombstone
from forklore_service.usecases.deletion.tree_trash import end_trash, into_trash, shut_tree, trashed_group
from forklore_service.usecases.shared.loading import LookUp, look_up
from forklore_service.usecases.shared.optimistic import TOMBSTONE, attempts


def delete_conversation(
    table: Table,
    queue: Queue,
    *,
    caller: Caller,
    conversation_id: str,
    wait_s: int = WAIT_SECONDS,
    days: int = 0,
) -> bool:
    """Delete the conversation's whole fork tree, and every tree started from it.

    days: for how long it stays in the trash; 0: it does not get there, or is there no longer.
    Return True if the tree and its direct children can no longer be read or written.
    Return False if the tree can no longer be read, but is not closed yet. A worker then closes it.
    If an earlier deletion stopped before the tree was closed, its owner can call this again.
    Raises NotFoundError. Raises ForbiddenError if the caller is not the owner.
    """
    group_id, state, is_new = _set_tombstone(table, caller, conversation_id, days)
    return finish_deletion(
        table, queue, group_id, last=conversation_id, state=state, is_new=is_new, wait_s=wait_s
    )


class Deletion(NamedTuple):
    """How a live tree is deleted: the actions, and the state from which it is closed after them.

    left: None: nothing is left to close.
    """

    left: State | None
    writes: list[Action]


def deletion(
    table: Table, group: Group, *, at: str, owner: str | None, days: int, last_of: Group | None = None
) -> Deletion:
    """Return how a live tree is deleted.

    group: the tree as it was read. days: for how long it stays in the trash. owner, last_of: as of
    `closing_trees.tombstone`.
    """
    if days:
        writes, is_whole = into_trash(table, group, at=at, owner=owner, last_of=last_of)
        return Deletion(None if is_whole else State.TRASHED, writes)
    return Deletion(State.DELETING, tombstone(group.group_id, at=at, owner=owner, last_of=last_of))


def finish_deletion(
    table: Table,
    queue: Queue,
    group_id: str,
    *,
    last: str,
    state: State | None,
    is_new: bool = True,
    wait_s: int,
) -> bool:
    """Close a tree that is in the trash or has its tombstone. Return as `delete_conversation` does.

    last: the conversation that the request named. state: the tree's; None: it is closed already.
    is_new: whether it got that just now.
    """
    table.cache.forget(last)
    if state is None:
        return True
    try:
        if state is State.TRASHED:
            group = table.get([keys.group(group_id)]).group(group_id)
            if group is not None and group.state is state:
                shut_tree(table, group, last=last)
            return True
        close_tree(table, queue, group_id, last=last, delay_s=wait_s + 1, is_new=is_new)
    except UnavailableError:
        queue.announce([group_id])
        return False
    queue.announce([group_id], delay_s=wait_s + 1)
    return True


def _set_tombstone(
    table: Table, caller: Caller, conversation_id: str, days: int
) -> tuple[str, State | None, bool]:
    """Put the conversation's tree into the trash, or set its tombstone. Then none can read it.

    Return the tree's id; its state, or None if it is closed already; and whether it got that just
    now.
    """
    for _ in attempts(table, TOMBSTONE):
        found = look_up(table, conversation_id, caller=caller)
        if found.loaded is None:
            group = deleting_group(table, found, caller, conversation_id, for_good=days == 0)
            if group.state is State.DELETING or days:
                return group.group_id, group.state, False
            if end_trash(table, group):
                return group.group_id, State.DELETING, True
            continue
        group = found.require(conversation_id, AccessLevel.OWNER).group
        owner = None if caller.bypasses_membership else caller.user_id
        how = deletion(table, group, at=table.now(), owner=owner, days=days)
        if table.try_commit(how.writes) is None:
            return group.group_id, how.left, True
        # Refused: the tree now has another owner or is deleted. Decide again.
    raise UnavailableError("the conversation keeps changing; try again")


def deleting_group(
    table: Table, found: LookUp, caller: Caller, conversation_id: str, *, for_good: bool = False
) -> Group:
    """Return the tree if it is being deleted and the caller may close it.

    The deletion closes the named conversation last. So while its HEAD exists and is not shut, the
    tree is not closed. for_good: whether a tree in the trash, or on its way back, will do.
    Raises NotFoundError otherwise.
    """
    if for_good:
        with suppress(NotFoundError):
            return trashed_group(table, found, caller, conversation_id)
    pointer = found.found.pointer(conversation_id, now_s=table.now_s())
    group_id = pointer.group_id if pointer else None
    if group_id is not None and found.found.is_open(group_id, conversation_id):
        group = found.found.group(group_id)
        if (
            group
            and group.state in (State.TRASHED, State.DELETING)
            and (caller.bypasses_membership or group.owner == caller.user_id)
        ):
            return group
    raise NotFoundError(f"no conversation {brief(conversation_id)}")
