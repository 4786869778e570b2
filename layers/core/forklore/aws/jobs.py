"""Work that no caller waits for: messages of the queue, one tree each, and the sweep."""

import json
import math
from typing import Any

from forklore.aws.telemetry import Stopwatch, log_failure, log_job, log_sweep
from forklore.aws.wiring import Consumption, ServiceSettings, Table, open_queue, open_table
from forklore.domain import ids
from forklore.domain.model import JobKind
from forklore.usecases import sweeper, worker

SPARE_SECONDS = 10.0
"""What is kept of a function's time: for the request that runs when time is up, and to announce the rest."""


class SweepFailed(Exception):
    """A sweep did not come to its end; why is a line of the log."""


def do_message(body: str, context: Any, settings: ServiceSettings) -> None:
    """Do what a message asks for, for as long as the function's time allows.

    Raises ValueError for a message that is none of ours. Whatever is raised is logged without content.
    """
    watch, usage, status, kind = Stopwatch(), Consumption(), "failed", JobKind.DELETION
    try:
        message = _message(body)
        kind = message.kind
        table, lease_s = _table_for_as_long_as(context, usage), math.ceil(_seconds_left(context))
        status = worker.work(table, open_queue(), message, lease_s=lease_s, wait_s=settings.delete_wait_s)
    except Exception as error:
        log_failure("failed", error, job=kind)
        raise
    finally:
        log_job(status=status, kind=kind, watch=watch, usage=usage)


def sweep(context: Any) -> None:
    """Find the work in progress that no message announced. Raises SweepFailed.

    What is wrong with one job is logged, and does not hold up the others.
    """
    ServiceSettings.from_environment()  # a wrong one is no failure of a sweep: Lambda's log says what to set
    watch, usage = Stopwatch(), Consumption()
    try:
        table = _table_for_as_long_as(context, usage)
        swept = sweeper.sweep(
            table, open_queue(), report=lambda error: log_failure("failed", error, job="sweep")
        )
    except Exception as error:  # noqa: BLE001 (whatever it is: logged here, without its text)
        log_failure("failed", error, job="sweep")
        raise SweepFailed from None  # Lambda writes what is raised into the log
    log_sweep(jobs=swept.jobs, failed=swept.failed, oldest_s=swept.oldest_s, watch=watch, usage=usage)


def _message(body: str) -> worker.Message:
    """Return what a message asks for: `{"groupId": "<uuid>"}`, perhaps with a `kind` and a `lease`.

    Raises ValueError for anything else.
    """
    try:
        given = json.loads(body)
    except RecursionError as error:
        raise ValueError("a message nests too deep") from error
    if not isinstance(given, dict) or not given.keys() <= {"groupId", "kind", "lease"}:
        raise ValueError("a message is none of ours")
    group_id, kind, lease = given.get("groupId"), given.get("kind", JobKind.DELETION), given.get("lease")
    if not isinstance(group_id, str) or not ids.is_uuid(group_id):
        raise ValueError("a message names no tree")
    if kind not in worker.KINDS or not isinstance(lease, str | None):
        raise ValueError("a message asks for nothing that is done here")
    return worker.Message(group_id, JobKind(kind), lease)


def _seconds_left(context: Any) -> float:
    """Return how long the function's process may live."""
    seconds: float = context.get_remaining_time_in_millis() / 1000
    return seconds


def _table_for_as_long_as(context: Any, usage: Consumption) -> Table:
    """Return the table for all that is left of the function's time: nobody waits for an answer."""
    seconds = _seconds_left(context) - SPARE_SECONDS
    return open_table().within(seconds, most=seconds, usage=usage)
