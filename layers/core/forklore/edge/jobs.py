"""Work that no caller waits for: messages of the queue, one tree each, and the sweep."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from forklore.domain import ids
from forklore.edge.telemetry import Stopwatch, log_failure, log_job, log_sweep
from forklore.edge.wiring import Settings, Table, Usage, open_queue, open_table
from forklore.usecases import deletion, transfers

SPARE_SECONDS = 10.0
"""What is kept of a function's time: for the request that runs when time is up, and to announce the rest."""
OTHER_JOBS: Mapping[str, Callable[[Table, str], object]] = {"transfer": transfers.finish_rewriting}
"""By kind, what finishes a JOB that is no deletion and no creation; given the table and the tree's id."""


class SweepFailed(Exception):
    """A sweep did not come to its end; why is a line of the log."""


def delete_group(body: str, context: Any, settings: Settings) -> None:
    """Go on with the deletion that a message names, for as long as the function's time allows.

    Raises ValueError for a message that is none of ours. Whatever is raised is logged without content.
    """
    watch, usage, status = Stopwatch(), Usage(), "failed"
    try:
        group_id = _group_id(body)
        table = _table_for_as_long_as(context, usage)
        is_done = deletion.run_deletion(table, open_queue(), group_id, wait_s=settings.delete_wait_s)
        status = "done" if is_done else "left"
    except Exception as error:
        log_failure("failed", error, job="delete")
        raise
    finally:
        log_job(status=status, watch=watch, usage=usage)


def sweep(context: Any) -> None:
    """Find the work in progress that no message announced. Raises SweepFailed."""
    Settings.from_environment()  # a wrong one is no failure of a sweep: Lambda's log says what to set
    watch, usage = Stopwatch(), Usage()
    try:
        swept = deletion.sweep(_table_for_as_long_as(context, usage), open_queue(), others=OTHER_JOBS)
    except Exception as error:  # noqa: BLE001 (whatever it is: logged here, without its text)
        log_failure("failed", error, job="sweep")
        raise SweepFailed from None  # Lambda writes what is raised into the log
    log_sweep(jobs=swept.jobs, oldest_s=swept.oldest_s, watch=watch, usage=usage)


def _group_id(body: str) -> str:
    """Return the tree that a message names: `{"groupId": "<uuid>"}`. Raises ValueError for anything else."""
    try:
        message = json.loads(body)
    except RecursionError as error:
        raise ValueError("a message nests too deep") from error
    group_id = message.get("groupId") if isinstance(message, dict) else None
    if not isinstance(group_id, str) or not ids.is_uuid(group_id):
        raise ValueError("a message names no tree")
    return group_id


def _table_for_as_long_as(context: Any, usage: Usage) -> Table:
    """Return the table for all that is left of the function's time: nobody waits for an answer."""
    seconds: float = context.get_remaining_time_in_millis() / 1000 - SPARE_SECONDS
    return open_table().within(seconds, most=seconds, usage=usage)
