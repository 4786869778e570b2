"""The worker's part of a removal: it removes what nobody shows of a removed branch any more.

Every step finds its work by a Query and can be repeated. So a killed worker, or two workers at
once, only repeat work. No fork can be made that shows more of a removed branch than the forks there
are: a new fork shows what a live branch shows, and is refused if a branch was removed after it read
the tree. So the part of the branch that others show only shrinks.
"""

from forklore_service.domain import keys
from forklore_service.domain.ids import FIRST
from forklore_service.domain.model import JobKind
from forklore_service.domain.remnants import Remnant, end_of_shown, next_to_prune
from forklore_service.domain.tree import ForkRecord, Job
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.actions import ActionKind
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.branch_trash import move_children
from forklore_service.usecases.deletion.cascade import ERASED_AT_ONCE, erase_entries, seconds_left
from forklore_service.usecases.deletion.closing_trees import close_children, in_batches
from forklore_service.usecases.shared.answer_logs import AnswerRef, delete_log
from forklore_service.usecases.shared.optimistic import CHANGE, attempts

TORN_SECONDS = 1
"""How long a worker waits that has read a part of a transaction."""
LOOKS_APART_SECONDS = 2.0
"""How far apart the two looks for what others show are; a transaction shows in milliseconds."""


def advance_prune(table: Table, queue: Queue, group_id: str, conversation_id: str, wait_s: int) -> int | None:
    """Do what can be done now. Return the seconds to wait before more; None if nothing is left.

    wait_s: for how many seconds after the removal no item is removed. Raises UnavailableError.
    """
    job_key = keys.job(JobKind.PRUNE, group_id, conversation_id)
    found = table.get([job_key, keys.group(group_id), keys.remnant(group_id, conversation_id)])
    job, group = found.job(job_key), found.group(group_id)
    remnant = found.remnant(group_id, conversation_id)
    if job is None or (group is not None and not group.is_kept):
        return None  # the deletion of the tree removes its jobs, too
    if group is not None and job.moves is not None:
        move_children(table, queue, job)
        return None
    if group is not None and remnant is not None and remnant.in_trash:
        return TORN_SECONDS  # the job was put as it left the trash, and the read is older
    if group is None or remnant is None:
        gone = actions.remnant.check(group_id, conversation_id, is_there=False)
        table.try_commit([gone, actions.job.delete(JobKind.PRUNE, group_id, conversation_id)])
        return None
    links = table.read.links(group_id, now_s=0)
    table.delete(keys.link(group_id, one.link_id) for one in links if one.conversation_id == conversation_id)
    close_children(table, queue, table.read.child_keys(group_id, conversation_id), delay_s=0)
    left_s = seconds_left(remnant.removed_at, table.now_ms(), wait_s)
    if left_s > 0:
        return left_s
    if remnant.answer_id is not None:
        delete_log(table, AnswerRef(group_id, remnant.answer_id))
    last = _last_fork(table, group_id, conversation_id, apart_s=min(wait_s, LOOKS_APART_SECONDS))
    end = end_of_shown([last] if last else [])
    if group.embedded:
        vectors = table.read.vector_keys(group_id, conversation_id, first=end)
        for some in in_batches(vectors, ERASED_AT_ONCE):
            table.delete(some)
    for some in in_batches(table.read.note_keys(group_id, conversation_id, first=end), ERASED_AT_ONCE):
        table.delete(some)
    erase_entries(table, group_id, table.read.own_entries(group_id, conversation_id, first=end))
    keyed = table.read.entry_keys(group_id, conversation_id)
    for some in in_batches((key for key, entry_id in keyed if entry_id >= end), ERASED_AT_ONCE):
        table.delete(some)
    if last is None or end == FIRST:
        _end(table, queue, remnant)
        return None
    return _pause(table, group_id, job, last)


def _last_fork(table: Table, group_id: str, conversation_id: str, *, apart_s: float) -> ForkRecord | None:
    """Return the record of a fork that shows the most of a removed branch; None if there is none.

    A removal moves the record of a fork from TREE to GONE, and a Query in the middle of that may
    see neither. A fork is removed for good once, and has both records while it is in the trash. So
    one of two Queries, some seconds apart, sees its record.
    """
    last: ForkRecord | None = None
    for look in range(2):
        if look:
            table.wait(apart_s)
        rows = table.read.fork_records(group_id, conversation_id, newest_first=True, limit=1, kept=True)
        for record in rows:
            last = record if last is None or record.stop >= last.stop else last
    return last


def _pause(table: Table, group_id: str, job: Job, last: ForkRecord) -> int | None:
    """Delete the job of a branch of which others still show a part, as `advance_prune` returns.

    If such a fork was pruned meanwhile, the job was put again, and stays. The job also stays if the
    last fork was pruned before, and the Query in the middle of that still saw its record.
    """
    seen = [actions.remnant.check(group_id, last.conversation_id, is_there=True)] if last.is_removed else []
    refused = table.try_commit([actions.job.delete_prune(job), *seen])
    return None if refused is None or refused.is_absent(ActionKind.JOB) else 0


def _end(table: Table, queue: Queue, remnant: Remnant) -> None:
    """Remove the rest of a branch of which nobody shows anything, and its job at last.

    Others may show less now of the conversation that it left. If that one is a remnant, too, the
    same transaction puts its job, unless it is in the trash: it is pruned after that. The branch's
    id rests for 30 days from now on; the id of a root, which is that of its tree, as long as the
    tree exists.
    """
    group_id, conversation_id = remnant.group_id, remnant.conversation_id
    for some in in_batches(table.read.context_keys(group_id, conversation_id), ERASED_AT_ONCE):
        table.delete(some)
    table.delete([keys.path(group_id, conversation_id)])
    owner = next_to_prune(remnant)
    for _ in attempts(table, CHANGE):
        found = table.get([keys.remnant(group_id, owner)] if owner else [])
        left = found.remnant(group_id, owner) if owner else None
        is_next = left is not None and not left.in_trash
        rest = actions.conversation.retire_id(conversation_id, now_s=table.now_s())
        writes = [
            actions.remnant.delete(remnant),
            actions.job.delete(JobKind.PRUNE, group_id, conversation_id),
            *([] if remnant.is_root else [rest]),
        ]
        if owner and left is not None and left.in_trash:
            writes.append(actions.remnant.check_trashed(group_id, owner, nonce=left.nonce))
        elif owner:
            writes.append(actions.remnant.check(group_id, owner, is_there=is_next))
        if owner and is_next:
            writes.append(actions.job.put_prune(group_id, owner, at=table.now(), nonce=table.nonce()))
        if table.try_commit(writes) is None:
            if owner and is_next:
                queue.announce_prunes([(group_id, owner)])
            return
    raise UnavailableError("the tree keeps changing; try again")
