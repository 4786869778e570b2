"""What a message of the queue asks for, and which of several messages does it.

A message names a tree and a kind of work. Whoever begins on it takes the lease of its JOB. Another message
for the same work is dropped meanwhile; only the one that the worker sends itself carries the lease on. So one
message is at work on one job, however often it is announced. That two workers do one another no harm never
depends on it, and the lease of one that was killed runs out.
"""

import contextlib
from dataclasses import dataclass
from enum import StrEnum

from forklore.domain import ids, keys
from forklore.domain.keys import Key
from forklore.errors import UnavailableError
from forklore.storage import items
from forklore.storage.connection import Refused
from forklore.storage.queue import Queue
from forklore.storage.table import Table
from forklore.storage.writes import JOB, TRANSFER
from forklore.usecases import leases
from forklore.usecases.deletion import DELETION, RETRY_SECONDS, WAIT_SECONDS, run_deletion
from forklore.usecases.transfers import run_rewriting

KINDS = (DELETION, TRANSFER)
"""The kinds of work that a message may ask for."""


@dataclass(frozen=True, slots=True)
class Message:
    """A tree, what is to be done to it, and the lease that the worker before has held; None of a new one.

    lease: or two, with a space between, where it could not be known which of them is held.
    """

    group_id: str
    kind: str = DELETION
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
    key = keys.job(kind, group_id)
    lease, handed_on = None, message.lease
    try:
        was = _look(table, key, message)
        if was is not None:
            lease = ids.timestamp(table.now_ms() + lease_s * 1000)
            handed_on = f"{was} {lease}"  # whichever it is after a write that may have been lost
            _take(table, key, was=was, until=lease)
    except _Held:
        return Outcome.DROPPED
    except UnavailableError:
        delay_s = RETRY_SECONDS if table.has_time() else 0
        queue.announce([group_id], kind=kind, lease=handed_on, delay_s=delay_s)
        return Outcome.LEFT
    try:
        if kind == TRANSFER:
            is_done = run_rewriting(table, queue, group_id, lease=lease)
        else:
            is_done = run_deletion(table, queue, group_id, wait_s=wait_s, lease=lease)
    except Exception:
        if lease is not None:
            _give_back(table, key, lease)
        raise
    return Outcome.DONE if is_done else Outcome.LEFT


def _look(table: Table, key: Key, message: Message) -> str | None:
    """Return until when the message's job is held, by nobody any more or by the worker that has sent it.

    None where there is no job to hold, or it does not say. Raises _Held when another one has it.
    """
    item = table.get([key]).get(key)
    held = items.leased_until(item) if item else None
    is_ours = held is not None and held in (message.lease or "").split()
    if not is_ours and leases.lies_ahead(held, table.now_ms()):
        raise _Held
    return held


def _take(table: Table, key: Key, *, was: str, until: str) -> None:
    """Take a job's lease. Raises _Held when another one has done so."""
    try:
        table.commit([table.write.lease_job(key, was=was, until=until)])
    except Refused as refused:
        now_held = refused.failed[JOB]
        if (
            now_held is None or items.leased_until(now_held) != until
        ):  # else by this very request's first attempt
            raise _Held from refused


def _give_back(table: Table, key: Key, lease: str) -> None:
    """Let the message, which comes again, find its job free; until then no other one is needed."""
    with contextlib.suppress(Refused, UnavailableError):
        announced_until = leases.announced_from(table.now_ms())
        table.commit([table.write.free_job(key, was=lease, announced_until=announced_until)])
