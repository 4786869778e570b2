"""The worker's part of a deletion: it removes the items of a tree that has a tombstone.

Every step finds its work by a Query and can be repeated. So a killed worker, or two workers at
once, only repeat work.
"""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress

from forklore_service.domain import ids, keys
from forklore_service.domain.keys import Key
from forklore_service.domain.model import TREE_JOBS, EntryLayout, JobKind
from forklore_service.domain.tree import Group, State
from forklore_service.storage import actions
from forklore_service.storage.actions import ActionKind, ConditionFailed
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.closing_trees import close_tree, in_batches, retire_ids
from forklore_service.usecases.deletion.tree_trash import restore_tree, shut_tree
from forklore_service.usecases.shared.answer_logs import AnswerRef, delete_log
from forklore_service.usecases.shared.attachments import let_go, references_of

ERASED_AT_ONCE = 500
GUARDED_AT_ONCE = 50


def advance_deletion(table: Table, queue: Queue, group_id: str, wait_s: int) -> int | None:
    """Do what can be done now. Return the seconds to wait before more; None if nothing is left.

    A tree in the trash is shut, and one on its way back made live. Otherwise nothing is left if the
    tree is deleted, or has no tombstone. wait_s: for how many seconds after
    the tombstone no item is removed. Raises UnavailableError.
    """
    job, pointer = keys.job(JobKind.DELETION, group_id), keys.pointer(group_id)
    found = table.get([keys.group(group_id), job, pointer])
    group = found.group(group_id)
    if group is None:
        if job in found:
            gone = actions.group.check_absent(group_id)
            table.try_commit([gone, actions.job.delete(JobKind.DELETION, group_id)])
        return None
    if group.state is State.TRASHED:
        shut_tree(table, group, last=group_id)
    if group.state is State.RESTORING:
        restore_tree(table, group)
    if group.state is not State.DELETING:
        return None
    if not group.never_live:
        at = found.pointer(group_id, now_s=table.now_s())
        has_pointer = at is not None and (at.group_id == group_id or at.is_resting)
        close_tree(table, queue, group_id, last=group_id, delay_s=0, has_pointer=has_pointer)
    left_s = seconds_left(group.deleted_at, table.now_ms(), wait_s)
    if left_s > 0:
        return left_s
    with suppress(ConditionFailed):  # a tree that was never live is gone; its id may be in use again
        erase_entries(table, group_id, table.read.entry_layouts(group_id), of=group)
        _erase_members(table, group)
        _erase_transfer(table, group)
        _erase_others(table, group)
        _end(table, group)
    return None


def seconds_left(deleted_at: str | None, now_ms: int, wait_s: int) -> int:
    """Return for how many seconds no item may be removed yet of what was deleted at that time."""
    if deleted_at is None:
        return 0
    return math.ceil((ids.milliseconds(deleted_at) - now_ms) / 1000 + wait_s)


def erase_entries(
    table: Table, group_id: str, entries: Iterable[EntryLayout], *, of: Group | None = None
) -> None:
    """Remove entries of a tree, and attachments that nobody else names.

    The chunks of a body, and what says that the entry names an attachment, go first, because only
    the entry names them.
    of: the deleted tree that they go with; None: the tree is live.
    """

    def erase(unwanted: Sequence[Key]) -> None:
        if of is None:
            table.delete(unwanted)
        else:
            _erase(table, of, unwanted)

    for some in in_batches(entries, ERASED_AT_ONCE):
        erase([keys.blob(group_id, one.entry_id, at) for one in some for at in range(one.chunks)])
        erase(references_of(group_id, some))
        let_go(table, (named for one in some for named in one.attachment_ids))
        erase([keys.entry(group_id, one.entry_id) for one in some])


def _erase_members(table: Table, group: Group) -> None:
    """Remove the members. The rows in their lists go first, because only the members name them."""
    for some in in_batches(table.read.member_ids(group.group_id), ERASED_AT_ONCE):
        rows = [
            keys.user_tree(user_id, group.created_at, group.group_id, is_child=group.is_child)
            for user_id in some
        ]
        _erase(table, group, rows)
        _erase(table, group, [keys.member(group.group_id, user_id) for user_id in some])


def _erase_transfer(table: Table, group: Group) -> None:
    """Remove a pending transfer. The item that names all others goes last."""
    found = table.get([keys.transfer_of_group(group.group_id)])
    transfer = found.transfer_of_group(group.group_id)
    if transfer is not None:
        only, *others = keys.transfer_keys(transfer)
        _erase(table, group, others)
        _erase(table, group, [only])


def _erase_others(table: Table, group: Group) -> None:
    """Remove all other items in the tree's partition except GROUP.

    What stays of a removed branch names its job, its id and an answer; CONV of a closed
    conversation names an answer. So they go after these.
    """
    own = keys.group(group.group_id)
    for some in in_batches(table.read.others(group.group_id), ERASED_AT_ONCE):
        for answer_id in filter(None, (answer_id for _, answer_id in some)):
            delete_log(table, AnswerRef(group.group_id, answer_id))
        remnants = [removed for key, _ in some if (removed := keys.in_remnant(key.sort)) is not None]
        retire_ids(table, remnants)
        table.delete(keys.job(JobKind.PRUNE, group.group_id, removed) for removed in remnants)
        _erase(table, group, [key for key, _ in some if key != own])


def _erase(table: Table, group: Group, unwanted: Sequence[Key]) -> None:
    """Delete items of a tree with a tombstone.

    The ids of a tree that was live are retired for 30 days, so a delayed worker deletes only this
    tree's items. The id of a tree that was never live may be in use again. So for such a tree every
    transaction checks that the tree is still the same, and raises ConditionFailed if it is not.
    """
    if not group.never_live:
        table.delete(unwanted)
        return
    for some in in_batches(unwanted, GUARDED_AT_ONCE):
        table.commit([actions.group.check_deleting(group), *actions.group.erase(some)])


def _end(table: Table, group: Group) -> None:
    """Delete GROUP and its jobs.

    For a tree that a conversation started, delete CHILD first. Then delete GROUP and lower the
    parent's count of children in one transaction. So the count falls exactly once, and only after
    CHILD is gone.
    """
    kinds = [*TREE_JOBS, JobKind.MEMBERS] if group.spreading else TREE_JOBS
    last = [actions.group.delete(group), *(actions.job.delete(kind, group.group_id) for kind in kinds)]
    if group.child_key is None or group.never_live:  # a child is listed and counted when it becomes live
        table.try_commit(last)
        return
    table.delete([group.child_key])
    try:
        table.commit([*last, actions.group.uncount_child(group.child_key.partition)])
    except ConditionFailed as refused:
        if not refused.has(ActionKind.GROUP):
            table.try_commit(last)  # the parent is deleted
