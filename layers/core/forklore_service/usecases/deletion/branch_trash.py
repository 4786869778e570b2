"""Branches in the trash: they are removed for everybody, and can be restored for some time.

Such a branch is a remnant as any removed one, so what others show stays, and nobody sees the rest.
Only its CONV, HEAD and TREE are hidden instead of deleted, and its pruning waits. To restore it and
to end the wait are one transaction each, on the remnant as it was read. So one of them wins.

What the branch has started goes into the trash tree by tree, each with a job of its own and the
time of the removal, and comes back after the branch. The job of the branch stands for what is not
begun yet: while the branch is in the trash, to put it there; when it is live again, to bring it
back.
"""

from functools import partial
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import JobName
from forklore_service.domain.model import Caller, Conversation, Head, JobKind
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import Group, Job, Moves, State
from forklore_service.errors import ConflictError, ForkLimitError, UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.actions.group import CONVERSATIONS_MAX
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.counted_items import all_child_keys
from forklore_service.usecases.deletion.tree_trash import restore_tree, shut_tree
from forklore_service.usecases.shared.loading import ConversationDetails, LookUp, level_of
from forklore_service.usecases.shared.optimistic import CHANGE, attempts
from forklore_service.usecases.shared.use import note_use


class TrashedBranch(NamedTuple):
    """A branch in the trash as it was read. level, is_archived: as a caller may see it."""

    group: Group
    remnant: Remnant
    conversation: Conversation
    head: Head
    level: AccessLevel | None = None
    is_archived: bool = False

    def details(self, current: str, *, now_s: int) -> ConversationDetails:
        """Return the branch as the caller sees it once it is live. current: the branch of then."""
        assert self.level is not None, "shown to a member only"
        group = self.group._replace(promoted=current)
        return ConversationDetails.of(
            self.conversation, self.head, group, self.level, is_archived=self.is_archived, now_s=now_s
        )


def child_ids(table: Table, group: Group, conversation_id: str) -> list[str]:
    """Return the trees that a conversation has started, whatever their state."""
    own = keys.children_range(group.group_id, conversation_id)
    child_keys = filter(own.holds, all_child_keys(table, group))
    return [keys.list_key(child_key.sort).conversation_id for child_key in child_keys]


def job_of_moves(group: Group, conversation_id: str, moves: Moves, *, at: str, nonce: str) -> list[Action]:
    """Return the action that notes the move of what a branch has started, if there may be any.

    group: the tree as it was read. The same transaction checks that it has as many children.
    """
    if not group.children:
        return []
    return [actions.job.put_prune(group.group_id, conversation_id, at=at, nonce=nonce, moves=moves)]


def moving(group_id: str, conversation_id: str, moves: Moves, *, at: str, nonce: str) -> Job:
    """Return the job that `job_of_moves` notes."""
    name = JobName(JobKind.PRUNE, group_id, conversation_id)
    return Job(name, at, None, nonce=nonce, moves=moves)


def move_children(table: Table, queue: Queue, job: Job) -> None:
    """Do a job that moves what a branch has started, into the trash or back.

    Nothing is moved once the branch or its tree is deleted or restored again. Raises
    UnavailableError; then a worker goes on.
    """
    group_id, conversation_id = job.name.group_id, job.name.conversation_id or ""
    move = partial(_trash if job.moves is Moves.INTO_TRASH else _restore, table, job)
    try:
        group = table.get([keys.group(group_id)]).group(group_id)
        if group is not None:
            for _ in table.side_by_side(move, child_ids(table, group, conversation_id)):
                pass
        table.try_commit([actions.job.delete_prune(job)])
    except UnavailableError:
        queue.announce_prunes([(group_id, conversation_id)])
        raise


def _trash(table: Table, job: Job, child_id: str) -> None:
    """Put a tree into the trash with the branch that has started it."""
    _, group_id, conversation_id, _ = job.name
    at, nonce = job.created_at or "", job.nonce or ""
    table.try_commit(
        [
            actions.group.trash_with(child_id, at=at),
            actions.remnant.check_trashed(group_id, conversation_id or "", nonce=nonce),
            actions.job.put(JobKind.DELETION, child_id, at=table.now()),
        ]
    )
    child = table.get([keys.group(child_id)]).group(child_id)
    if child is not None and child.state is State.TRASHED and child.cascaded and child.trashed_at == at:
        shut_tree(table, child, last=child_id)


def _restore(table: Table, job: Job, child_id: str) -> None:
    """Bring back a tree that went into the trash with the branch that has started it."""
    _, group_id, conversation_id, _ = job.name
    child = table.get([keys.group(child_id)]).group(child_id)
    if child is not None and child.state is State.TRASHED and child.cascaded:
        begun = [
            actions.group.begin_restoring(child),
            actions.job.put(JobKind.DELETION, child_id, at=table.now()),
            actions.group.check_live(group_id),
            actions.conversation.check_exists(group_id, conversation_id or ""),
        ]
        if table.try_commit(begun) is None:
            child = child._replace(state=State.RESTORING)
    if child is not None and child.state is State.RESTORING:
        restore_tree(table, child)


def restore_branch(
    table: Table, queue: Queue, *, caller: Caller, looked_up: LookUp, conversation_id: str
) -> ConversationDetails | None:
    """Restore a branch that is in the trash, and what went there with it.

    Return None if it is not there, or not any more, or the caller could not remove it.
    It is the tree's current branch again if it was, and nothing was promoted since. looked_up: the
    result of a look-up that found nothing live. Raises ConflictError if its tree is in the trash,
    too; ForkLimitError if the tree is full; UnavailableError if a worker still has to bring back
    what it has started.
    """
    group_id = ""
    for _ in attempts(table, CHANGE):
        found = trashed_branch(table, looked_up, caller, conversation_id)
        if found is None:
            # An earlier attempt may have restored it.
            queue.announce_prunes([(group_id, conversation_id)] if group_id else [])
            return None
        group, remnant, group_id = found.group, found.remnant, found.group.group_id
        if not group.is_live:
            raise ConflictError("the branch's tree is deleted; restore that first", reason="parent_deleted")
        if group.conversations >= CONVERSATIONS_MAX:
            raise ForkLimitError(f"a fork tree has at most {CONVERSATIONS_MAX} conversations")
        was_current = remnant.successor == group.current and remnant.promotions == group.promotions
        current = conversation_id if was_current else None
        at, nonce = table.now(), table.nonce()
        writes = [
            actions.group.restore_branch(group, current=current, at=at),
            *actions.conversation.bring_back(found.conversation, owner=group.owner, nonce=nonce),
            actions.remnant.delete(remnant),
            *job_of_moves(group, conversation_id, Moves.BACK, at=at, nonce=nonce),
        ]
        if table.try_commit(writes) is None:
            table.cache.forget(conversation_id)
            created_at, was = group.created_at, remnant.removed_at
            note_use(table, group.group_id, tree_created_at=created_at, was=was, at=at)
            if group.children:
                job = moving(group.group_id, conversation_id, Moves.BACK, at=at, nonce=nonce)
                move_children(table, queue, job)
            return found.details(current or group.current, now_s=table.now_s())
    raise UnavailableError("the conversation keeps changing; try again")


def empty_branch(table: Table, queue: Queue, found: TrashedBranch) -> bool:
    """End the wait of a branch that is in the trash as it was read. Return whether it has ended."""
    group_id, conversation_id = found.group.group_id, found.conversation.conversation_id
    nonce, answer = table.nonce(), found.head.answer
    writes = [
        actions.group.empty_branch(group_id),
        *actions.conversation.remove_kept(found.conversation),
        actions.remnant.empty(found.remnant, answer_id=answer.answer_id if answer else None, nonce=nonce),
        actions.job.put_prune(group_id, conversation_id, at=table.now(), nonce=nonce),
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
    seen = table.get([keys.member(group.group_id, caller.user_id)])
    level, member = level_of(seen, group.group_id, caller), seen.member(group.group_id, caller.user_id)
    has_children = group.children > 0 and bool(child_ids(table, group, conversation_id))
    needed = AccessLevel.OWNER if has_children else AccessLevel.MANAGER
    if level is None or not level.implies(needed):
        return None
    is_archived = member is not None and member.is_archived and not caller.bypasses_membership
    return found._replace(level=level, is_archived=is_archived)


def read_branch(table: Table, group_id: str, conversation_id: str) -> TrashedBranch | None:
    """Return a branch that is in the trash; None if it is not there."""
    wanted = [
        keys.group(group_id),
        keys.remnant(group_id, conversation_id),
        keys.conversation(group_id, conversation_id),
        keys.head(group_id, conversation_id),
    ]
    found = table.get(wanted, kept=True)
    group, remnant = found.group(group_id), found.remnant(group_id, conversation_id)
    conversation = found.conversation(group_id, conversation_id)
    if group is None or remnant is None or not remnant.in_trash or conversation is None:
        return None
    head = found.kept_head(group_id, conversation_id, owner=group.owner)
    return TrashedBranch(group, remnant, conversation, head) if head else None
