"""Do what a message of the queue asks for, one message at a time for each job.

A message names a tree and a kind of work. The worker that gets the message takes the lease of the
job. While the lease lasts, other messages for the same job are dropped. A worker that runs out of
time sends a message with its own lease, and the next worker takes that lease over. So one message
is at work on a job, however often the job is announced.

The lease only saves work. Two workers on one job do no harm. The lease of a killed worker expires.
"""

from enum import StrEnum
from typing import NamedTuple

from forklore_service.domain import ids, keys
from forklore_service.domain.jsontext import check_value
from forklore_service.domain.model import JobKind
from forklore_service.domain.tree import WAIT_SECONDS
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.actions import ConditionFailed
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.cascade import advance_deletion
from forklore_service.usecases.deletion.pruning import advance_prune
from forklore_service.usecases.people.erasing import advance_erasure
from forklore_service.usecases.people.spreading import finish_spreading
from forklore_service.usecases.people.transfers import finish_rewriting

KINDS = (JobKind.DELETION, JobKind.TRANSFER, JobKind.MEMBERS, JobKind.PRUNE, JobKind.ERASURE)
"""The kinds of work that a message may ask for."""
RETRY_SECONDS = 5
"""How long a message waits that continues what the store refused."""


class JobMessage(NamedTuple):
    """A tree and the work to do on it. For an erasure, `group_id` is its id.

    lease: the lease of the worker that sent the message; None if no worker sent it.
    conversation_id: the removed branch to prune; None for work on a whole tree.
    """

    group_id: str
    kind: JobKind = JobKind.DELETION
    lease: str | None = None
    conversation_id: str | None = None


def read_message(body: str) -> JobMessage:
    """Return a message: `{"groupId": "<uuid>"}` with an optional `kind` and `lease`.

    A message of the kind `prune` also has the `conversationId` of the removed branch.
    Raises ValueError or ValidationError for anything else.
    """
    given = check_value(body).value
    if not isinstance(given, dict) or not given.keys() <= {"groupId", "kind", "lease", "conversationId"}:
        raise ValueError("a message has unknown fields")
    group_id, kind, lease = given.get("groupId"), given.get("kind", JobKind.DELETION), given.get("lease")
    if not isinstance(group_id, str) or not ids.is_uuid(group_id):
        raise ValueError("a message names no tree")
    if kind not in KINDS or not isinstance(lease, str | None):
        raise ValueError("a message asks for nothing that is done here")
    branch = given.get("conversationId")
    if (kind == JobKind.PRUNE) != (isinstance(branch, str) and ids.is_uuid(branch)):
        raise ValueError("only a branch is pruned, and a message names it")
    return JobMessage(group_id, JobKind(kind), lease, branch)


class Outcome(StrEnum):
    """What became of a message. LEFT: a new message continues. DROPPED: another is at work."""

    DONE = "done"
    LEFT = "left"
    DROPPED = "dropped"


class _Held(Exception):
    """Another worker holds the lease."""


def work(
    table: Table, queue: Queue, message: JobMessage, *, lease_s: int, wait_s: int = WAIT_SECONDS
) -> Outcome:
    """Take the lease of a message's job, and do what the message asks for, as `go_on` does.

    lease_s: for how many seconds this worker can run.
    """
    try:
        lease = _take_lease(table, message, lease_s)
    except _Held:
        return Outcome.DROPPED
    except UnavailableError:
        _announce_again(queue, message, delay_s=_retry_s(table))
        return Outcome.LEFT
    is_done = go_on(table, queue, message._replace(lease=lease), wait_s=wait_s)
    return Outcome.DONE if is_done else Outcome.LEFT


def go_on(table: Table, queue: Queue, message: JobMessage, *, wait_s: int = WAIT_SECONDS) -> bool:
    """Do what a message asks for until it is done or time is up. Return whether nothing is left.

    Otherwise the message is sent again, so that the next worker takes the lease in it over.
    wait_s: for how many seconds after a tombstone or a removal no item is removed.
    """
    try:
        left_s = _advance(table, queue, message, wait_s)
    except UnavailableError:
        left_s = _retry_s(table)
    if left_s is None:
        return True
    _announce_again(queue, message, delay_s=left_s)
    return False


def _advance(table: Table, queue: Queue, message: JobMessage, wait_s: int) -> int | None:
    """Do what can be done now. Return the seconds to wait before more; None if nothing is left."""
    tree, branch = message.group_id, message.conversation_id
    match message.kind:
        case JobKind.PRUNE:
            assert branch is not None, "a message names the branch to prune"
            return advance_prune(table, queue, tree, branch, wait_s)
        case JobKind.ERASURE:
            return advance_erasure(table, queue, tree, wait_s)
        case JobKind.TRANSFER:
            finish_rewriting(table, tree)
            return None
        case JobKind.MEMBERS:
            finish_spreading(table, tree, changed_max=None)
            return None
        case _:
            return advance_deletion(table, queue, tree, wait_s)


def _retry_s(table: Table) -> int:
    """Return the seconds to wait after the store refused; 0 if only this worker's time is up."""
    return RETRY_SECONDS if table.has_time() else 0


def _announce_again(queue: Queue, message: JobMessage, *, delay_s: int) -> None:
    if message.conversation_id is None:
        queue.announce([message.group_id], kind=message.kind, lease=message.lease, delay_s=delay_s)
    else:
        branch = (message.group_id, message.conversation_id)
        queue.announce_prunes([branch], lease=message.lease, delay_s=delay_s)


def _take_lease(table: Table, message: JobMessage, lease_s: int) -> str | None:
    """Take the lease of the message's job and return it; None if there is no job to lease.

    Raises _Held if another worker has the lease.
    """
    key = keys.job(message.kind, message.group_id, message.conversation_id)
    job = table.get([key]).job(key)
    held = job.leased_until if job else None
    if held is None:
        return None
    now_ms = table.now_ms()
    if held != message.lease and ids.milliseconds(held) > now_ms:
        raise _Held
    until, holder = ids.timestamp(now_ms + lease_s * 1000), table.nonce()
    try:
        table.commit([actions.job.lease(key, was=held, until=until, holder=holder)])
    except ConditionFailed as refused:
        if refused.lease_holder() != holder:  # if equal, an earlier attempt of this call took it
            raise _Held from refused
    return until
