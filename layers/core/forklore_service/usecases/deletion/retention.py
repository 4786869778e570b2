"""Delete the fork trees that nobody has used for long. The sweep runs this.

Once a day a round begins. It looks through the list of all trees, the oldest first, some at each
sweep. A tree with children is kept: these are trees of their own, and go first.
"""

from collections.abc import Callable
from typing import NamedTuple

from forklore_service.domain import ids, keys
from forklore_service.domain.model import JobKind
from forklore_service.domain.retention import DAY_MS, Round, UnusedTree, unused_before
from forklore_service.storage import actions
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.storage.unused import find_unused

LOOKED_MAX = 2_000
"""The most trees that one sweep looks at."""
CHECKED_MAX = 90
"""Conversations of a tree that its deletion checks: those that were used last."""


class Retained(NamedTuple):
    """What a run did: how many trees it looked at, how many it deleted, and how many had errors."""

    looked: int = 0
    deleted: int = 0
    failed: int = 0


def delete_unused(
    table: Table,
    queue: Queue,
    *,
    days: int,
    ignore_tag: bool = False,
    looked_max: int = LOOKED_MAX,
    report: Callable[[Exception], object] = lambda _error: None,
) -> Retained:
    """Go on with the round of the day. days: for how long a tree is kept after its last use.

    ignore_tag: whether the tag `retention` keeps no tree. report: called with the error of each
    tree that has one. The run goes on with the others. How far it came is stored every 100 trees. A
    killed run is repeated from the place that was stored last, which does no harm. Raises
    UnavailableError.
    """
    now_ms = table.now_ms()
    begun = table.get([keys.retention()]).retention()
    if begun is None or (begun.is_over and now_ms >= ids.milliseconds(begun.begun_at) + DAY_MS):
        begun = Round(ids.timestamp(now_ms))
    elif begun.is_over:
        return Retained()
    done, places, errors = Retained(), list(begun.places), list[Exception]()

    def note(error: Exception) -> None:
        errors.append(error)
        report(error)

    def store() -> None:
        table.commit([actions.retention.put(begun._replace(places=tuple(places)))])

    before = unused_before(now_ms, days)
    for shard in range(len(places)):
        while (place := places[shard]) is not None and done.looked < looked_max and table.has_time():
            unused, looked, places[shard] = find_unused(
                table, shard=shard, after=place, before=before, ignore_tag=ignore_tag, report=note
            )
            deleted = sum(_delete(table, queue, tree) for tree in unused)
            done = Retained(done.looked + looked, done.deleted + deleted, len(errors))
            if looked:
                store()
    store()
    return done


def _delete(table: Table, queue: Queue, tree: UnusedTree) -> bool:
    """Set the tombstone of a tree, unless somebody has used it since it was read.

    Return whether it was set.
    """
    group, at = tree.group, table.now()
    last = sorted(tree.heads.items(), key=lambda one: one[1].updated_at, reverse=True)[:CHECKED_MAX]
    refused = table.try_commit(
        [
            actions.group.mark_unused(group, at=at),
            actions.job.put(JobKind.DELETION, group.group_id, at=at),
            *(actions.conversation.check_unused(group.group_id, of, head) for of, head in last),
        ]
    )
    if refused is None:
        queue.announce([group.group_id])
    return refused is None
