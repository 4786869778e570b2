"""Work in the background: the messages of the queue, each about one tree or branch; the sweep."""

import math
from typing import Any

from forklore_service.api.responses import log_failure
from forklore_service.aws.telemetry import Stopwatch, log_changes, log_job, log_sweep
from forklore_service.aws.wiring import Consumption, ServiceSettings, Table, open_queue, open_table
from forklore_service.domain.model import JobKind
from forklore_service.domain.retention import days_in_trash
from forklore_service.errors import UnavailableError
from forklore_service.usecases.background import worker

SPARE_SECONDS = 10.0
"""The part of the function's time that is kept to end the last request and to announce the rest."""

HOUR_SECONDS, SWEEP_SECONDS = 3600, 300
"""A sweep runs every five minutes."""


class SweepFailed(Exception):
    """A sweep failed. A line of the log says why."""


def do_message(body: str, context: Any, settings: ServiceSettings) -> None:
    """Do the work that a message names, for as long as the function's time allows.

    Raises an exception for a wrong message. Each exception is logged without content.
    """
    watch, usage, status, kind = Stopwatch(), Consumption(), "failed", JobKind.DELETION
    try:
        message = worker.read_message(body)
        kind = message.kind
        status = worker.work(
            _table_until_the_end(context, usage),
            open_queue(),
            message,
            lease_s=math.ceil(_seconds_left(context)),
            wait_s=settings.delete_wait_s,
        )
    except Exception as error:
        log_failure("failed", error, job=kind)
        raise
    finally:
        _log_changes(kind, usage)
        log_job(status=status, kind=kind, watch=watch, usage=usage)


def sweep(context: Any) -> None:
    """Announce the unfinished jobs whose messages are missing. Delete trees that nobody uses.

    An error in one job or tree is logged, and the sweep goes on with the others, and without the
    deletions if these fail as a whole. Raises SweepFailed, and RuntimeError for a wrong setting.
    """
    from forklore_service.usecases.background import sweeper
    from forklore_service.usecases.deletion import retention, trash  # the worker does not need them

    settings = ServiceSettings.from_environment()
    watch, usage = Stopwatch(), Consumption()

    def report(error: Exception) -> None:
        log_failure("failed", error, job="sweep")

    try:
        table = _table_until_the_end(context, usage)
        swept = sweeper.sweep(table, open_queue(), report=report)
        days = days_in_trash(settings.deleted_days, settings.retention_days)
        # Without a trash there may be trees in it of an earlier setting.
        if days or table.now_s() % HOUR_SECONDS < SWEEP_SECONDS:
            trash.empty_trash(table, open_queue(), days=days, report=report)
    except Exception as error:  # noqa: BLE001 (logged here without its text)
        report(error)
        raise SweepFailed from None  # Lambda logs what is raised, with its text
    finally:
        _log_changes("sweep", usage)
    retained = None
    if days := settings.retention_days:
        try:
            retained = retention.delete_unused(
                table, open_queue(), days=days, ignore_tag=settings.ignore_retention_tag, report=report
            )
        except UnavailableError:  # the next sweep goes on
            pass
        except Exception as error:  # noqa: BLE001 (the line about the jobs must be written)
            report(error)
        finally:
            _log_changes("retention", usage)
    log_sweep(
        jobs=swept.jobs,
        failed=swept.failed,
        oldest_s=swept.oldest_s,
        retained=retained,
        watch=watch,
        usage=usage,
    )


def _log_changes(work: str, usage: Consumption) -> None:
    """Log the trees that were written to. What is stored about the work itself is no change."""
    if trees := usage.take_changed():
        log_changes(work, trees)


def _seconds_left(context: Any) -> float:
    """Return how long the function may still run."""
    seconds: float = context.get_remaining_time_in_millis() / 1000
    return seconds


def _table_until_the_end(context: Any, usage: Consumption) -> Table:
    """Return the table for the rest of the function's time. No caller waits for an answer."""
    seconds = _seconds_left(context) - SPARE_SECONDS
    return open_table().within(seconds, most=seconds, usage=usage)
