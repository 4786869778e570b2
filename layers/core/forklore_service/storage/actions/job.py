"""The actions about work in progress on a tree (item JOB)."""

from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.domain.model import JobKind
from forklore_service.domain.tree import Job, Moves
from forklore_service.storage import items
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import Action, ActionKind
from forklore_service.storage.items import text


def put(kind: JobKind, group_id: str, *, at: str, due: str | None = None) -> Action:
    """Note work in progress on a tree since `at`, whether it is noted already or not.

    due: when an attachment is looked at.
    """
    item = items.job_item(kind, group_id, created_at=at, due=due)
    return action.put(ActionKind.JOB, item, of=items.key(item).sort)


def put_prune(
    group_id: str, conversation_id: str, *, at: str, nonce: str, moves: Moves | None = None
) -> Action:
    """Note that a removed branch is to be pruned, whether it is noted already or not.

    nonce: a new one, so that a worker which has looked at the branch before keeps the job.
    moves: not that, but what it has started is to be moved.
    """
    item = items.job_item(JobKind.PRUNE, group_id, conversation_id, created_at=at, nonce=nonce, moves=moves)
    return action.put(ActionKind.JOB, item, of=items.key(item).sort)


def delete(
    kind: JobKind, group_id: str, conversation_id: str | None = None, due: str | None = None
) -> Action:
    """Note that work is done, whether it was noted or not."""
    key = keys.job(kind, group_id, conversation_id, due)
    return action.delete(ActionKind.JOB, key, of=key.sort)


def delete_prune(job: Job) -> Action:
    """Note that a branch is pruned, if that was not requested again since the job was read."""
    key = keys.job(*job.name)
    return action.delete(
        ActionKind.JOB,
        key,
        of=key.sort,
        condition="#nonce = :read",
        values={":read": text(job.nonce or "")},
    )


def lease(key: Key, *, was: str, until: str, holder: str) -> Action:
    """Lease a job until `until`, if it is there and its lease still ends at `was`.

    holder: a nonce, by which the worker recognises its own lease.
    """
    return action.update(
        ActionKind.JOB,
        key,
        "SET #leasedUntil = :until, #holder = :holder",
        of=key.sort,
        condition="#leasedUntil = :was",
        values={":until": text(until), ":was": text(was), ":holder": text(holder)},
    )
