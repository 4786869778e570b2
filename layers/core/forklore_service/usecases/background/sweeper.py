"""Find work in progress that no worker does now. The schedule runs this."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from forklore_service.domain import ids, keys
from forklore_service.domain.keys import JobName
from forklore_service.domain.model import JobKind
from forklore_service.domain.tree import State
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.queue import Queue
from forklore_service.storage.reads import Malformed
from forklore_service.storage.table import Table
from forklore_service.usecases.attachments.ending import end_upload, put_off

CREATION_SECONDS_MAX = 300
"""A tree that takes longer to make is given up."""
SWEPT_MAX = 10_000
"""The most jobs of a kind without a worker that one sweep looks at.

Those that fail each time have a worker until its lease ends. Meanwhile a sweep comes to others.
"""
UPLOADS_ENDED_MAX = 500
"""The most attachments that one sweep looks at, by when they are due. The next one goes on."""
ANNOUNCE_ALL_SECONDS = 15.0

T = TypeVar("T")


class Swept(NamedTuple):
    """What a sweep found.

    jobs: how many jobs it looked at, with those that it finished itself.
    oldest_s: the age of the oldest job in seconds, of an attachment since it is due; 0 without
    jobs.
    failed: how many of the jobs have an error, so that the sweep could not handle them.
    """

    jobs: int
    oldest_s: float
    failed: int


def sweep(
    table: Table, queue: Queue, *, report: Callable[[Exception], object] = lambda _error: None
) -> Swept:
    """Announce the work in progress that no worker does now. Return what was found.

    report: called with the error of each job that has one. The sweep counts such a job and goes on
    with the others. A job of an unknown kind is left alone.
    """
    alone = _Alone(report)
    found: list[_Job] = []
    for kind in (JobKind.DELETION, JobKind.TRANSFER, JobKind.MEMBERS, JobKind.ERASURE):
        jobs = _jobs(table, kind, alone)
        free = _in_turn(table, (job.name.group_id for job in jobs if job.is_free))
        queue.announce(free, kind=kind, within_s=ANNOUNCE_ALL_SECONDS)
        found += jobs
    prunes = _jobs(table, JobKind.PRUNE, alone)
    branches = ((job.name.group_id, job.name.conversation_id or "") for job in prunes if job.is_free)
    queue.announce_prunes(_in_turn(table, branches), within_s=ANNOUNCE_ALL_SECONDS)
    found += prunes
    creations = _jobs(table, JobKind.CREATION, alone)
    uploads = _jobs(table, JobKind.UPLOAD, alone)
    for job in creations:
        with alone.each():
            if _give_up_creation(table, job.name.group_id):
                queue.announce([job.name.group_id])
    found += creations
    for upload in uploads:
        with alone.each():
            _end_upload(table, upload)
    found += uploads
    since = [job.since_ms for job in found if job.since_ms is not None]
    oldest_s = max(0, table.now_s() - min(since) / 1000) if since else 0
    return Swept(len(found) + alone.unreadable, oldest_s, alone.failed)


class _Alone:
    """Handles each job alone: an error in one does not stop the others.

    failed: how many jobs raised an error. unreadable: how many jobs could not be decoded.
    """

    def __init__(self, report: Callable[[Exception], object]) -> None:
        self._report = report
        self.failed = 0
        self.unreadable = 0

    @contextlib.contextmanager
    def each(self) -> Iterator[None]:
        try:
            yield
        except UnavailableError:  # the next sweep tries again
            pass
        except Exception as error:  # noqa: BLE001 (no error may stop the other jobs)
            self.failed += 1
            self._report(error)


class _Job(NamedTuple):
    """Work in progress.

    since_ms: when it was requested, or is due; None if the job does not say. is_free: no worker
    holds it.
    """

    name: JobName
    since_ms: int | None
    is_free: bool


def _jobs(table: Table, kind: JobKind, alone: _Alone) -> list[_Job]:
    """Return the jobs of a kind to look at, of attachments those that are due."""
    found: list[_Job] = []
    free = 0
    is_upload = kind is JobKind.UPLOAD
    limit = UPLOADS_ENDED_MAX if is_upload else SWEPT_MAX
    for job in table.read.jobs(kind, before=table.now() if is_upload else None):
        alone.unreadable += 1
        with alone.each():
            if isinstance(job, Malformed):
                raise job.error
            since, until = job.created_at, job.leased_until
            is_free = until is None or ids.milliseconds(until) <= table.now_ms()
            found.append(_Job(job.name, None if since is None else ids.milliseconds(since), is_free))
            free += is_free
            alone.unreadable -= 1
        if free >= limit:
            break
    return found


def _in_turn(table: Table, free: Iterable[T]) -> list[T]:
    """Return jobs, beginning at another one each time: there may be no time to announce all."""
    jobs = list(free)
    first = table.now_s() % max(1, len(jobs))
    return jobs[first:] + jobs[:first]


def _end_upload(table: Table, upload: _Job) -> None:
    """Look at an attachment. One that fails is put off, so that it is in no other's way.

    One for which the store is too busy keeps its place: to put it off would ask that store again.
    """
    _, attachment_id, _, due = upload.name
    try:
        end_upload(table, attachment_id, due)
    except UnavailableError:
        raise
    except Exception:
        if table.has_time():
            since = table.now() if upload.since_ms is None else ids.timestamp(upload.since_ms)
            put_off(table, attachment_id, due, since=since)
        raise


def _give_up_creation(table: Table, group_id: str) -> bool:
    """Turn an abandoned creation into a deletion. Return whether this was done.

    The tree's id becomes free, so the same request can be sent again.
    """
    group = table.get([keys.group(group_id)]).group(group_id)
    if group is None or group.state is not State.CREATING:
        still = actions.group.check_not_creating(group_id)
        table.try_commit([still, actions.job.delete(JobKind.CREATION, group_id)])
        return False
    if table.now_ms() - ids.milliseconds(group.created_at) <= CREATION_SECONDS_MAX * 1000:
        return False
    at = table.now()
    return (
        table.try_commit(
            [
                actions.group.mark_never_live(group, at=at),
                actions.conversation.free_id(group_id),
                actions.job.delete(JobKind.CREATION, group_id),
                actions.job.put(JobKind.DELETION, group_id, at=at),
            ]
        )
        is None
    )
