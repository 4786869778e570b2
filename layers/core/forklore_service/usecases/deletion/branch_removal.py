"""The request that removes one branch of a fork tree, and leaves the other branches as they are.

One transaction removes the branch. What other branches show of it stays as a remnant. A JOB item,
which the same transaction puts, guarantees that a worker removes what nobody shows
(usecases/deletion/pruning.py). The queue only makes this fast. With a trash the branch waits there
first (usecases/deletion/branch_trash.py).
"""

from enum import StrEnum
from functools import partial

from forklore_service.domain import access, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import WAIT_SECONDS, Group, Moves
from forklore_service.errors import ForbiddenError, UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.actions import Action, ActionKind
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.branch_trash import (
    child_ids,
    empty_branch,
    job_of_moves,
    move_children,
    moving,
    trashed_branch,
)
from forklore_service.usecases.deletion.closing_trees import close_children
from forklore_service.usecases.deletion.tree_deletion import deleting_group, deletion, finish_deletion
from forklore_service.usecases.shared.loading import LoadedConversation, look_up
from forklore_service.usecases.shared.optimistic import CHANGE, attempts
from forklore_service.usecases.shared.use import note_use_of


class Scope(StrEnum):
    """What a deletion deletes: the fork tree of a conversation, or the conversation alone."""

    TREE = "tree"
    BRANCH = "branch"


def remove_branch(
    table: Table,
    queue: Queue,
    *,
    caller: Caller,
    conversation_id: str,
    wait_s: int = WAIT_SECONDS,
    days: int = 0,
) -> bool:
    """Remove a conversation, and every tree that it has started. Other branches do not change.

    days: for how long it stays in the trash; 0: it does not get there, or is there no longer. To
    remove the last live branch is to delete the tree. If an earlier deletion of the tree stopped
    before the tree was closed, its owner goes on with it.
    Return True if the conversation and its direct children can no longer be read or written.
    Return False if a worker still has to close some children.
    Raises NotFoundError. Raises ForbiddenError below manager; and for the last branch, and for one
    that has started trees that are live or in the trash, if the caller is not the owner.
    """
    nonce, group_id = table.nonce(), ""
    finish = partial(_finish, table, queue, conversation_id, nonce=nonce, trashes=days > 0, wait_s=wait_s)
    for attempt in attempts(table, CHANGE):
        found = look_up(table, conversation_id, caller=caller)
        loaded = found.loaded
        removed = _removed_by(table, group_id, conversation_id, nonce) if not loaded and group_id else None
        if removed is not None:
            return finish(group_id, has_children=True, at=removed.removed_at)
        trashed = trashed_branch(table, found, caller, conversation_id) if not loaded and not days else None
        if trashed is not None and empty_branch(table, queue, trashed):
            return True
        pointer = found.found.pointer(conversation_id, now_s=table.now_s()) if not loaded else None
        if trashed is not None or (pointer is not None and pointer.is_resting and not days and not attempt):
            continue  # it may be live again meanwhile
        if loaded is None:
            old = deleting_group(table, found, caller, conversation_id)
            return finish_deletion(
                table,
                queue,
                old.group_id,
                last=conversation_id,
                state=old.state,
                is_new=False,
                wait_s=wait_s,
            )
        access.require(loaded.level, AccessLevel.MANAGER)
        group, group_id = loaded.group, loaded.group.group_id
        if group.conversations == 1:
            if group.current != conversation_id:
                continue  # the read was torn: GROUP does not count this conversation any more
            access.require(loaded.level, AccessLevel.OWNER)
            owner = None if caller.bypasses_membership else caller.user_id
            how = deletion(table, group, at=table.now(), owner=owner, days=days, last_of=group)
            if table.try_commit(how.writes) is None:
                return finish_deletion(
                    table, queue, group_id, last=conversation_id, state=how.left, wait_s=wait_s
                )
            continue
        parts = _parts(table, caller, loaded, nonce, at=(at := table.now()), trashes=days > 0)
        refused = table.try_commit(parts)
        if refused is None:
            note_use_of(table, loaded, at=at)
            return finish(group_id, has_children=group.children > 0, at=at)
        if refused.has(ActionKind.MEMBER):
            raise ForbiddenError("this needs the access level 'manager'")
        # Refused: the tree, its current branch or the answer in this one has changed. Decide again.
    raise UnavailableError("the conversation keeps changing; try again")


def _parts(
    table: Table, caller: Caller, loaded: LoadedConversation, nonce: str, *, at: str, trashes: bool
) -> list[Action]:
    """Return the actions that remove a branch from a tree that has others.

    at: the time now. trashes: whether it goes into the trash.
    """
    group, conversation, answer = loaded.group, loaded.conversation, loaded.head.answer
    answer_id = answer.answer_id if answer and not trashes else None
    remnant = Remnant.of(conversation, loaded.path, removed_at=at, nonce=nonce, answer_id=answer_id)
    is_manager = caller.user_id != group.owner and not caller.bypasses_membership
    if is_manager and _has_children(table, group, conversation.conversation_id):
        raise ForbiddenError(
            "this needs the access level 'owner': the branch has started other conversations"
        )
    member = actions.member.check(group.group_id, caller.user_id, AccessLevel.MANAGER)
    current = _oldest_other(table, loaded) if group.current == conversation.conversation_id else None
    if trashes:
        remnant = remnant._replace(in_trash=True, successor=current, promotions=group.promotions)
        removed = actions.conversation.keep(conversation, at=at)
        job = job_of_moves(group, conversation.conversation_id, Moves.INTO_TRASH, at=at, nonce=nonce)
    else:
        removed = actions.conversation.remove(conversation, answer_id=answer_id)
        job = [actions.job.put_prune(group.group_id, conversation.conversation_id, at=at, nonce=nonce)]
    return [
        actions.group.remove_branch(group, current=current, at=at, trashes=trashes),
        *([actions.conversation.check_exists(group.group_id, current)] if current else []),
        *([member] if is_manager else []),
        *removed,
        actions.remnant.put(remnant),
        *job,
    ]


def _has_children(table: Table, group: Group, conversation_id: str) -> bool:
    """Tell whether a conversation has started trees that are live or in the trash."""
    children = child_ids(table, group, conversation_id)
    found = table.get(map(keys.group, children))
    return any(child.is_kept for child in map(found.group, children) if child is not None)


def _oldest_other(table: Table, loaded: LoadedConversation) -> str:
    """Return the oldest live conversation of the tree but this one: the root, if it is live.

    The row of a branch that is being removed may still be seen. So the transaction checks that the
    conversation exists.
    """
    own = loaded.conversation.conversation_id
    places = table.read.conversations(loaded.group.group_id, limit=2)
    other = next((place.conversation_id for place in places if place.conversation_id != own), None)
    if other is None:
        raise UnavailableError("a fork that was made cannot be read yet; try again")
    return other


def _removed_by(table: Table, group_id: str, conversation_id: str, nonce: str) -> Remnant | None:
    """Return the branch if an earlier attempt of this request, with a lost answer, removed it."""
    found = table.get([keys.remnant(group_id, conversation_id)])
    remnant = found.remnant(group_id, conversation_id)
    return remnant if remnant is not None and remnant.nonce == nonce else None


def _finish(
    table: Table,
    queue: Queue,
    conversation_id: str,
    group_id: str,
    *,
    at: str,
    nonce: str,
    has_children: bool,
    trashes: bool,
    wait_s: int,
) -> bool:
    """Close the children of a removed branch and announce its pruning.

    Those of a branch in the trash go there, too. Return whether all of them are closed. at, nonce:
    of the removal. has_children: whether there may be any.
    """
    table.cache.forget(conversation_id)
    announced = [(group_id, conversation_id)]
    try:
        if trashes and has_children:
            move_children(
                table, queue, moving(group_id, conversation_id, Moves.INTO_TRASH, at=at, nonce=nonce)
            )
        if trashes:
            return True
        if has_children:
            child_keys = table.read.child_keys(group_id, conversation_id)
            close_children(table, queue, child_keys, delay_s=wait_s + 1)
    except UnavailableError:
        queue.announce_prunes(announced)
        return False
    queue.announce_prunes(announced, delay_s=wait_s + 1)
    return True
