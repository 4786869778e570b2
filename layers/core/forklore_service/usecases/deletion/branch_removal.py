"""The request that removes one branch of a fork tree, and leaves the other branches as they are.

One transaction removes the branch. What other branches show of it stays as a remnant. A JOB item,
which the same transaction puts, guarantees that a worker removes what nobody shows
(usecases/deletion/pruning.py). The queue only makes this fast.
"""

from enum import StrEnum

from forklore_service.domain import access, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import WAIT_SECONDS, Group
from forklore_service.errors import ForbiddenError, UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.actions import Action, ActionKind
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.closing_trees import close_children
from forklore_service.usecases.deletion.counted_items import all_child_keys
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

    To remove the last live branch is to delete the tree. Then the tree stays in the trash for so
    many days; a branch does not. If an earlier deletion of the tree stopped
    before the tree was closed, its owner goes on with it.
    Return True if the conversation and its direct children can no longer be read or written.
    Return False if a worker still has to close some children.
    Raises NotFoundError. Raises ForbiddenError below manager; and for the last branch, and for one
    that has started trees that are live or in the trash, if the caller is not the owner.
    """
    nonce, group_id = table.nonce(), ""
    for attempt in attempts(table, CHANGE):
        found = look_up(table, conversation_id, caller=caller)
        loaded = found.loaded
        if loaded is None and attempt and _is_removed_by(table, group_id, conversation_id, nonce):
            return _finish(table, queue, group_id, conversation_id, has_children=True, wait_s=wait_s)
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
        refused = table.try_commit(_parts(table, caller, loaded, nonce, at=(at := table.now())))
        if refused is None:
            note_use_of(table, loaded, at=at)
            has_children = group.children > 0
            return _finish(table, queue, group_id, conversation_id, has_children=has_children, wait_s=wait_s)
        if refused.has(ActionKind.MEMBER):
            raise ForbiddenError("this needs the access level 'manager'")
        # Refused: the tree, its current branch or the answer in this one has changed. Decide again.
    raise UnavailableError("the conversation keeps changing; try again")


def _parts(table: Table, caller: Caller, loaded: LoadedConversation, nonce: str, *, at: str) -> list[Action]:
    """Return the actions that remove a branch from a tree that has others. at: the time now."""
    group, conversation, answer = loaded.group, loaded.conversation, loaded.head.answer
    answer_id = answer.answer_id if answer else None
    remnant = Remnant.of(conversation, loaded.path, removed_at=at, nonce=nonce, answer_id=answer_id)
    is_manager = caller.user_id != group.owner and not caller.bypasses_membership
    if is_manager and _has_children(table, group, conversation.conversation_id):
        raise ForbiddenError(
            "this needs the access level 'owner': the branch has started other conversations"
        )
    member = actions.member.check(group.group_id, caller.user_id, AccessLevel.MANAGER)
    current = _oldest_other(table, loaded) if group.current == conversation.conversation_id else None
    return [
        actions.group.remove_branch(group, current=current, at=at),
        *([actions.conversation.check_exists(group.group_id, current)] if current else []),
        *([member] if is_manager else []),
        *actions.conversation.remove(conversation, answer_id=answer_id),
        actions.remnant.put(remnant),
        actions.job.put_prune(group.group_id, conversation.conversation_id, at=at, nonce=nonce),
    ]


def _has_children(table: Table, group: Group, conversation_id: str) -> bool:
    """Tell whether a conversation has started trees that are live or in the trash."""
    own = keys.children_range(group.group_id, conversation_id)
    child_keys = filter(own.holds, all_child_keys(table, group))
    children = [keys.list_key(child_key.sort).conversation_id for child_key in child_keys]
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


def _is_removed_by(table: Table, group_id: str, conversation_id: str, nonce: str) -> bool:
    """Tell whether an earlier attempt of this request, with a lost answer, removed the branch."""
    found = table.get([keys.remnant(group_id, conversation_id)])
    remnant = found.remnant(group_id, conversation_id)
    return remnant is not None and remnant.nonce == nonce


def _finish(
    table: Table, queue: Queue, group_id: str, conversation_id: str, *, has_children: bool, wait_s: int
) -> bool:
    """Close the children of a removed branch and announce its pruning.

    Return whether all of them are closed. has_children: whether there may be any.
    """
    table.cache.forget(conversation_id)
    announced = [(group_id, conversation_id)]
    try:
        if has_children:
            child_keys = table.read.child_keys(group_id, conversation_id)
            close_children(table, queue, child_keys, delay_s=wait_s + 1)
    except UnavailableError:
        queue.announce_prunes(announced)
        return False
    queue.announce_prunes(announced, delay_s=wait_s + 1)
    return True
