"""Branches in the trash: they are removed for everybody, and can be restored for some time.

Such a branch is a remnant as any removed one, so what others show stays, and nobody sees the rest.
Only its CONV, HEAD and TREE are hidden instead of deleted, and its pruning waits. To restore it and
to end the wait are one transaction each, on the remnant as it was read. So one of them wins.

What the branch has started goes into the trash tree by tree, each with a job of its own and the
time of the removal, and comes back after the branch. The job of the branch stands for what is not
begun yet: while the branch is in the trash, to put it there; when it is live again, to bring it
back.
"""

from collections.abc import Iterator
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller, Conversation, JobKind
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import Group, State
from forklore_service.errors import ConflictError, ForkLimitError, UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.actions.group import CONVERSATIONS_MAX
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.counted_items import all_child_keys
from forklore_service.usecases.deletion.tree_trash import not_in_trash, restore_tree, shut_tree
from forklore_service.usecases.shared.loading import LookUp, level_of
from forklore_service.usecases.shared.optimistic import CHANGE, attempts
from forklore_service.usecases.shared.use import note_use


class TrashedBranch(NamedTuple):
    """A branch in the trash as it was read. answer_id: the answer that is being written in it."""

    group: Group
    remnant: Remnant
    conversation: Conversation
    answer_id: str | None


def child_ids(table: Table, group: Group, conversation_id: str) -> list[str]:
    """Return the trees that a conversation has started, whatever their state."""
    own = keys.children_range(group.group_id, conversation_id)
    child_keys = filter(own.holds, all_child_keys(table, group))
    return [keys.list_key(child_key.sort).conversation_id for child_key in child_keys]


def move_children(table: Table, queue: Queue, group_id: str, conversation_id: str) -> None:
    """Do the job of a branch that is in the trash or live: move what it has started there, too.

    Raises UnavailableError; then a worker goes on.
    """
    job_key = keys.job(JobKind.PRUNE, group_id, conversation_id)
    try:
        found = table.get([job_key, keys.group(group_id), keys.remnant(group_id, conversation_id)])
        job, group = found.job(job_key), found.group(group_id)
        remnant = found.remnant(group_id, conversation_id)
        if group is None or job is None:
            return
        if remnant is None:
            still = actions.remnant.check(group_id, conversation_id, is_there=False)
            _restore_children(table, group, conversation_id)
        elif remnant.in_trash:
            still = actions.remnant.check_trashed(remnant)
            _trash_children(table, group, remnant)
        else:
            return
        table.try_commit([still, actions.job.delete_prune(job)])
    except UnavailableError:
        queue.announce_prunes([(group_id, conversation_id)])
        raise


def _trash_children(table: Table, group: Group, remnant: Remnant) -> None:

    def trash(child_id: str) -> None:
        with_it = actions.group.trash_with(child_id, at=remnant.removed_at)
        still, job = actions.remnant.check_trashed(remnant), JobKind.DELETION
        table.try_commit([with_it, still, actions.job.put(job, child_id, at=table.now())])
        child = table.get([keys.group(child_id)]).group(child_id)
        is_there = child is not None and child.state is State.TRASHED and child.cascaded
        if child is not None and is_there and child.trashed_at == remnant.removed_at:
            shut_tree(table, child, last=child_id)

    for _ in table.side_by_side(trash, child_ids(table, group, remnant.conversation_id)):
        pass


def _restore_children(table: Table, group: Group, conversation_id: str) -> None:

    def restore(child_id: str) -> None:
        child = table.get([keys.group(child_id)]).group(child_id)
        if child is not None and child.state is State.TRASHED and child.cascaded:
            begun = [
                actions.group.begin_restoring(child),
                actions.job.put(JobKind.DELETION, child_id, at=table.now()),
                actions.group.check_live(group.group_id),
                actions.conversation.check_exists(group.group_id, conversation_id),
            ]
            if table.try_commit(begun) is None:
                child = child._replace(state=State.RESTORING)
        if child is not None and child.state is State.RESTORING:
            restore_tree(table, child)

    for _ in table.side_by_side(restore, child_ids(table, group, conversation_id)):
        pass


def trashed_branches(table: Table, group: Group) -> Iterator[tuple[Remnant, Conversation]]:
    """Yield the branches of a tree that are in the trash, the newest first."""
    trashed = {one.conversation_id: one for one in table.read.remnants(group.group_id) if one.in_trash}
    found = table.get((keys.conversation(group.group_id, one) for one in trashed), kept=True)
    known = [found.conversation(group.group_id, one) for one in trashed]
    branches = [one for one in known if one is not None]
    for branch in sorted(branches, key=lambda one: (one.created_at, one.conversation_id), reverse=True):
        yield trashed[branch.conversation_id], branch


def restore_branch(
    table: Table, queue: Queue, *, caller: Caller, looked_up: LookUp, conversation_id: str
) -> None:
    """Restore a branch that is in the trash, and what went there with it.

    It is the tree's current branch again if it was, and nothing was promoted since. looked_up: the
    result of a look-up that found nothing live. Raises NotFoundError if it is not there, or the
    caller could not remove it; ConflictError if its tree is in the trash, too; ForkLimitError if
    the tree is full; UnavailableError if a worker still has to bring back what it has started.
    """
    for attempt in attempts(table, CHANGE):
        found = trashed_branch(table, looked_up, caller, conversation_id)
        if found is None and attempt:
            return  # an earlier attempt has restored it, or somebody has
        if found is None:
            raise not_in_trash(conversation_id)
        group, remnant = found.group, found.remnant
        if not group.is_live:
            raise ConflictError("the branch's tree is deleted; restore that first", reason="parent_deleted")
        if group.conversations >= CONVERSATIONS_MAX:
            raise ForkLimitError(f"a fork tree has at most {CONVERSATIONS_MAX} conversations")
        was_current = remnant.successor == group.current and remnant.promotions == group.promotions
        at, has_children = table.now(), group.children > 0
        current = conversation_id if was_current else None
        job = actions.job.put_prune(group.group_id, conversation_id, at=at, nonce=table.nonce())
        writes = [
            actions.group.restore_branch(group, current=current, at=at),
            *actions.conversation.bring_back(found.conversation, owner=group.owner, nonce=table.nonce()),
            actions.remnant.restore(remnant),
            *([job] if has_children else []),
        ]
        if table.try_commit(writes) is None:
            table.cache.forget(conversation_id)
            created_at, was = group.created_at, remnant.removed_at
            note_use(table, group.group_id, tree_created_at=created_at, was=was, at=at)
            if has_children:
                move_children(table, queue, group.group_id, conversation_id)
            return
    raise UnavailableError("the conversation keeps changing; try again")


def empty_branch(table: Table, queue: Queue, found: TrashedBranch) -> bool:
    """End the wait of a branch that is in the trash as it was read. Return whether it has ended."""
    group_id, conversation_id = found.group.group_id, found.conversation.conversation_id
    writes = [
        actions.group.empty_branch(group_id),
        *actions.conversation.remove(found.conversation, answer_id=found.answer_id),
        actions.remnant.empty(found.remnant, answer_id=found.answer_id),
        actions.job.put_prune(group_id, conversation_id, at=table.now(), nonce=table.nonce()),
    ]
    if table.try_commit(writes) is not None:
        return False
    queue.announce_prunes([(group_id, conversation_id)])
    return True


def trashed_branch(
    table: Table, looked_up: LookUp, caller: Caller, conversation_id: str
) -> TrashedBranch | None:
    """Return a branch that is in the trash and that the caller could remove.

    None: there is none. looked_up: the result of a look-up that found nothing live.
    """
    pointer = looked_up.found.pointer(conversation_id, now_s=table.now_s())
    group_id = pointer.rests_in if pointer else None
    found = None if group_id is None else read_branch(table, group_id, conversation_id)
    if found is None or not found.group.is_kept:
        return None
    group = found.group
    level = level_of(table.get([keys.member(group.group_id, caller.user_id)]), group.group_id, caller)
    has_children = group.children > 0 and bool(child_ids(table, group, conversation_id))
    needed = AccessLevel.OWNER if has_children else AccessLevel.MANAGER
    return found if level is not None and level.implies(needed) else None


def read_branch(table: Table, group_id: str, conversation_id: str) -> TrashedBranch | None:
    """Return a branch that is in the trash; None if it is not there."""
    head = keys.head(group_id, conversation_id)
    wanted = [
        keys.group(group_id),
        keys.remnant(group_id, conversation_id),
        keys.conversation(group_id, conversation_id),
        head,
    ]
    found = table.get(wanted, kept=True)
    group, remnant = found.group(group_id), found.remnant(group_id, conversation_id)
    conversation = found.conversation(group_id, conversation_id)
    if group is None or remnant is None or not remnant.in_trash or conversation is None:
        return None
    return TrashedBranch(group, remnant, conversation, found.answer_id(head))
