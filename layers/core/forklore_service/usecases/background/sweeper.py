"""Find work in progress that no worker does now. The schedule runs this."""

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from forklore_service.domain import ids, keys
from forklore_service.domain.attachments import PENDING_SECONDS
from forklore_service.domain.model import JobKind
from forklore_service.domain.tree import State
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.queue import Queue
from forklore_service.storage.reads import Malformed
from forklore_service.storage.table import Table
from forklore_service.usecases.attachments.ending import end_upload

CREATION_SECONDS_MAX = 300
"""A tree that takes longer to make is given up."""
SWEPT_MAX = 10_000
"""The most jobs of a kind that one sweep looks at."""
UPLOADS_ENDED_MAX = 500
"""The most uploads that one sweep looks at. The next one goes on."""
ANNOUNCE_ALL_SECONDS = 15.0


class Swept(NamedTuple):
    """What a sweep found.

    jobs: how many jobs it looked at, with those that it finished itself.
    oldest_s: the age of the oldest job in seconds; 0 without jobs.
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
        free = [job.group_id for job in jobs if job.leased_until_ms <= table.now_ms()]
        queue.announce(free, kind=kind, within_s=ANNOUNCE_ALL_SECONDS)
        found += jobs
    prunes = _jobs(table, JobKind.PRUNE, alone)
    free_branches = [job.branch for job in prunes if job.branch and job.leased_until_ms <= table.now_ms()]
    queue.announce_prunes(free_branches, within_s=ANNOUNCE_ALL_SECONDS)
    found += prunes
    creations = _jobs(table, JobKind.CREATION, alone)
    uploads = _old_uploads(table, alone)
    for job in creations:
        with alone.each():
            if _give_up_creation(table, job.group_id):
                queue.announce([job.group_id])
    found += creations
    for upload in uploads:
        with alone.each():
            end_upload(table, upload.group_id)
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
    """Work in progress on a tree. For an erasure or an attachment, `group_id` is its id.

    since_ms: when it was requested; None if the job does not say.
    leased_until_ms: until when a worker holds it; 0 if no worker does.
    branch: the tree and the removed branch, if it is work on one.
    """

    group_id: str
    since_ms: int | None
    leased_until_ms: int
    branch: tuple[str, str] | None = None


def _jobs(
    table: Table, kind: JobKind, alone: _Alone, *, limit: int = SWEPT_MAX, before: str | None = None
) -> list[_Job]:
    found: list[_Job] = []
    for job in table.read.jobs(kind, limit=limit, before=before):
        alone.unreadable += 1
        with alone.each():
            if isinstance(job, Malformed):
                raise job.error
            since, until = job.created_at, job.leased_until
            _, group_id, conversation_id = job.name
            found.append(
                _Job(
                    group_id,
                    None if since is None else ids.milliseconds(since),
                    0 if until is None else ids.milliseconds(until),
                    (group_id, conversation_id) if conversation_id else None,
                )
            )
            alone.unreadable -= 1
    return found


def _old_uploads(table: Table, alone: _Alone) -> list[_Job]:
    """Return the jobs of attachments that are older than a day.

    Younger ones are not even read: the ids of their jobs come after these.
    """
    day_ago = ids.fresh_id(max(0, table.now_ms() - PENDING_SECONDS * 1000), 0)
    return _jobs(table, JobKind.UPLOAD, alone, limit=UPLOADS_ENDED_MAX, before=day_ago)


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
