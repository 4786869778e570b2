"""What a message of the queue asks for, and which of several messages does it.

A message names a tree and a kind of work. Whoever begins on it takes the lease of its JOB. Another message
for the same work is dropped meanwhile; only the one that the worker sends itself carries the lease on. So one
message is at work on one job, however often it is announced. That two workers do one another no harm never
depends on it, and the lease of one that was killed runs out.
"""

from dataclasses import dataclass
from enum import StrEnum

from forklore.domain import ids, keys
from forklore.domain.model import JobKind
from forklore.errors import UnavailableError
from forklore.storage import parts
from forklore.storage.parts import ConditionFailed
from forklore.storage.queue import Queue
from forklore.storage.table import Table
from forklore.usecases.cascade import RETRY_SECONDS, run_deletion
from forklore.usecases.deletion import WAIT_SECONDS
from forklore.usecases.transfers import run_rewriting

KINDS = (JobKind.DELETION, JobKind.TRANSFER)
"""The kinds of work that a message may ask for."""


@dataclass(frozen=True, slots=True)
class Message:
    """A tree, what is to be done to it, and the lease that the worker before has held; None of a new one."""

    group_id: str
    kind: JobKind = JobKind.DELETION
    lease: str | None = None


class Outcome(StrEnum):
    """What has become of a message. LEFT: another one goes on. DROPPED: another one is at work."""

    DONE = "done"
    LEFT = "left"
    DROPPED = "dropped"


class _Held(Exception):
    """Somebody else is at work."""


def work(
    table: Table, queue: Queue, message: Message, *, lease_s: int, wait_s: int = WAIT_SECONDS
) -> Outcome:
    """Do what a message asks for until it is done or time is up; then it is announced again.

    lease_s: how long this worker can live. wait_s: how long after a tombstone nothing is removed.
    """
    group_id, kind = message.group_id, message.kind
    try:
        lease = _take_lease(table, message, lease_s)
    except _Held:
        return Outcome.DROPPED
    except UnavailableError:
        delay_s = RETRY_SECONDS if table.has_time() else 0
        queue.announce([group_id], kind=kind, lease=message.lease, delay_s=delay_s)
        return Outcome.LEFT
    if kind is JobKind.TRANSFER:
        is_done = run_rewriting(table, queue, group_id, lease=lease)
    else:
        is_done = run_deletion(table, queue, group_id, wait_s=wait_s, lease=lease)
    return Outcome.DONE if is_done else Outcome.LEFT


def _take_lease(table: Table, message: Message, lease_s: int) -> str | None:
    """Return the lease of the message's job, taken from now on; None where there is no job to hold.

    Raises _Held when another one has it.
    """
    key = keys.job(message.kind, message.group_id)
    job = table.get([key]).job(message.kind, message.group_id)
    held = job.leased_until if job else None
    if held is None:
        return None
    now_ms = table.now_ms()
    if held != message.lease and ids.milliseconds(held) > now_ms:
        raise _Held
    until = ids.timestamp(now_ms + lease_s * 1000)
    try:
        table.commit([parts.job.lease(key, was=held, until=until)])
    except ConditionFailed as refused:
        if refused.leased_until() != until:  # else this request's own first attempt has taken it
            raise _Held from refused
    return until
