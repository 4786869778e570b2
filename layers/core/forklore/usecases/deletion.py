"""Delete fork trees: close them to requests first, then remove their items batch by batch.

Every step finds its work by Query and can be done again: a killed or doubled worker only repeats. The JOB
item, written with the tombstone and deleted with the tree, is the guarantee; the queue only makes it quick.
"""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from forklore.domain import ids, keys
from forklore.domain.access import AccessLevel
from forklore.domain.ids import EntryId
from forklore.domain.keys import Key
from forklore.domain.model import Caller, JobKind
from forklore.domain.tree import Group, State
from forklore.errors import NotFoundError, UnavailableError, brief
from forklore.storage import parts
from forklore.storage.parts import ConditionFailed, Part, PartKind
from forklore.storage.queue import Queue
from forklore.storage.table import Table
from forklore.usecases.heads import all_child_keys, all_head_ids, child_keys_now
from forklore.usecases.loading import LookUp, look_up

WAIT_SECONDS = 35
"""How long after the tombstone nothing is removed yet: no request that read the tree before lives longer."""
CREATION_SECONDS_MAX = 300
"""A tree that is still being made after that has been given up."""
RETRY_SECONDS = 5
ATTEMPTS_MAX = 8
CLOSED_AT_ONCE = 20
"""Conversations closed in one transaction: two writes for each, of DynamoDB's 100."""
CHILDREN_AT_ONCE = 100
ERASED_AT_ONCE = 500
GUARDED_AT_ONCE = 50
SWEPT_MAX = 10_000
"""Jobs looked at in one sweep."""
ANNOUNCE_ALL_SECONDS = 15.0

T = TypeVar("T")


# The request


def delete_conversation(
    table: Table, queue: Queue, *, caller: Caller, conversation_id: str, wait_s: int = WAIT_SECONDS
) -> bool:
    """Delete the conversation's whole fork tree, and every tree started from it.

    True: nothing of the tree or of its direct children can be read or written any more. False: it can be
    read no more, and the worker goes on closing it.
    A tree whose deletion stopped half way is closed further for its owner.
    Raises NotFoundError, ForbiddenError if the caller is not the owner.
    """
    group_id, is_new = _set_tombstone(table, caller, conversation_id)
    table.cache.forget(conversation_id)
    try:
        _close(table, queue, group_id, last=conversation_id, delay_s=wait_s + 1, is_new=is_new)
    except UnavailableError:
        queue.announce([group_id])
        return False
    queue.announce([group_id], delay_s=wait_s + 1)
    return True


def _set_tombstone(table: Table, caller: Caller, conversation_id: str) -> tuple[str, bool]:
    """Return the id of the conversation's tree, which is refused to every reader from here on.

    Beside it, whether its tombstone was set just now.
    """
    for attempt in range(ATTEMPTS_MAX):
        table.pause(attempt)
        found = look_up(table, conversation_id, caller=caller)
        if found.loaded is None:
            return _deleting_group(table, found, caller, conversation_id), False
        group_id = found.require(conversation_id, AccessLevel.OWNER).group.group_id
        owner = None if caller.bypasses_membership else caller.user_id
        at = _now(table)
        try:
            table.commit(
                [
                    parts.group.mark_deleted(group_id, at=at, owner=owner),
                    parts.job.put(JobKind.DELETION, group_id, at=at),
                ]
            )
        except ConditionFailed:  # it has another owner now, or its tombstone
            continue
        return group_id, True
    raise UnavailableError("the conversation keeps changing; try again")


def _deleting_group(table: Table, found: LookUp, caller: Caller, conversation_id: str) -> str:
    """Return the id of the tree, if it has its tombstone and the caller may go on closing it.

    The named conversation is closed last, so its HEAD tells that closing did not come to its end.
    """
    pointer = found.found.pointer(conversation_id, now_s=table.now_s())
    group_id = pointer.group_id if pointer else None
    if group_id is not None and keys.head(group_id, conversation_id) in found.found:
        group = found.found.group(group_id)
        if (
            group
            and group.state is State.DELETING
            and (caller.bypasses_membership or group.owner == caller.user_id)
        ):
            return group_id
    raise NotFoundError(f"no conversation {brief(conversation_id)}")


# Closing


def _close(
    table: Table,
    queue: Queue,
    group_id: str,
    *,
    last: str,
    delay_s: int,
    has_pointer: bool = False,
    is_new: bool = False,
) -> None:
    """See to it that nothing can be written to a tree with a tombstone, nor to its direct children.

    last: the conversation to close last. delay_s: after which the children are announced. has_pointer:
    whether the tree's own id still points to it, even where there is no HEAD. is_new: whether the tombstone
    was set just now, so that none of its conversations can be closed yet, and none of its children forgotten.
    Raises UnavailableError, too, when a fork or a child that the tree counts cannot be read yet.
    """
    looking = _look_for_heads(table, [group_id])
    group = _groups(table, [group_id]).get(group_id) if is_new else None
    child_keys = all_child_keys(table, group) if group else child_keys_now(table, group_id)
    open_heads = _heads(table, looking, {group_id: group} if group else {})
    root = _Head(group_id, group_id)
    if has_pointer and root not in open_heads:
        open_heads.append(root)
    open_heads.sort(key=lambda head: head.conversation_id == last)
    at_once, at_last = open_heads[:-CLOSED_AT_ONCE], open_heads[-CLOSED_AT_ONCE:]
    for some in _in_parts(child_keys, CHILDREN_AT_ONCE):
        buried = _bury_children(table, some)
        looking = _look_for_heads(table, buried)
        new = _groups(table, (child for child, is_new in buried.items() if is_new))
        _close_conversations(table, _heads(table, looking, new))
        queue.announce([keys.list_key(child_key.sort).conversation_id for child_key in some], delay_s=delay_s)
        table.delete(some)
    _close_conversations(table, at_once)
    _close_conversations(table, at_last)


def _bury_children(table: Table, child_keys: Sequence[Key]) -> dict[str, bool]:
    """Set the tombstones of started trees, whoever owns them now; tell of each whether it was set just now.

    child_keys: of their CHILD items, which are kept as long as this must be found again.
    """
    at = _now(table)
    children = [keys.list_key(child_key.sort).conversation_id for child_key in child_keys]

    def mark_deleted(child: str) -> bool:
        return _commit_if_so(  # if not, it is dying or gone
            table,
            [
                parts.group.mark_deleted(child, at=at),
                parts.job.put(JobKind.DELETION, child, at=at),
            ],
        )

    return dict(zip(children, table.side_by_side(mark_deleted, children), strict=True))


class _Head(NamedTuple):
    """A conversation that can still be appended to, in a tree with a tombstone."""

    group_id: str
    conversation_id: str


def _groups(table: Table, group_ids: Iterable[str]) -> dict[str, Group]:
    """Return the trees that are there, by id."""
    wanted = list(group_ids)
    found = table.get(map(keys.group, wanted))
    groups = ((group_id, found.group(group_id)) for group_id in wanted)
    return {group_id: group for group_id, group in groups if group is not None}


def _look_for_heads(table: Table, group_ids: Iterable[str]) -> Iterator[tuple[str, list[_Head]]]:
    """Yield trees with those of their conversations that can be appended to; it begins to read at once."""
    return table.side_by_side(
        lambda group_id: (group_id, _named(group_id, table.read.head_ids(group_id))),
        group_ids,
    )


def _heads(table: Table, looking: Iterable[tuple[str, list[_Head]]], new: Mapping[str, Group]) -> list[_Head]:
    """Return the conversations of trees that can still be appended to.

    looking: what was found of each. new: by id, those whose tombstones were set just now, as they were read
    after that: all their conversations can still be appended to, and as many are to be found as are counted.
    """
    found = []
    for group_id, heads in looking:
        group = new.get(group_id)
        is_short = group is not None and len(heads) <= group.forks
        found += _named(group_id, all_head_ids(table, group)) if group and is_short else heads
    return found


def _named(group_id: str, conversation_ids: Iterable[str]) -> list[_Head]:
    return [_Head(group_id, conversation_id) for conversation_id in conversation_ids]


def _close_conversations(table: Table, heads: Sequence[_Head]) -> None:
    _all(table.side_by_side(lambda some: _close_some(table, some), _in_parts(heads, CLOSED_AT_ONCE)))


def _close_some(table: Table, heads: Sequence[_Head]) -> None:
    now_s = table.now_s()
    closing: list[Part] = []
    for head in heads:
        closing += [
            parts.conversation.retire_id(head.conversation_id, now_s=now_s),
            parts.conversation.delete_head(head.group_id, head.conversation_id),
        ]
    table.commit(closing)


# The worker


def run_deletion(
    table: Table, queue: Queue, group_id: str, *, wait_s: int = WAIT_SECONDS, lease: str | None = None
) -> bool:
    """Go on with a tree's deletion until it is done or time is up; then the tree is announced again.

    wait_s: how long after the tombstone to wait before anything is removed. lease: which the next one goes on
    with.
    True: there is nothing left to do, because it is done or the tree is no dead one.
    """
    try:
        left_s = _advance(table, queue, group_id, wait_s)
    except UnavailableError:
        left_s = RETRY_SECONDS if table.has_time() else 0
    except ConditionFailed:  # an unborn tree is gone, and its id perhaps in use again
        left_s = None
    if left_s is None:
        return True
    queue.announce([group_id], lease=lease, delay_s=left_s)
    return False


def _advance(table: Table, queue: Queue, group_id: str, wait_s: int) -> int | None:
    """Do what can be done. Return in how many seconds to go on; None when nothing is left."""
    job, pointer = keys.job(JobKind.DELETION, group_id), keys.pointer(group_id)
    found = table.get([keys.group(group_id), job, pointer])
    group = found.group(group_id)
    if group is None:
        if job in found:
            gone = parts.group.check_absent(group_id)
            _commit_if_so(table, [gone, parts.job.delete(JobKind.DELETION, group_id)])
        return None
    if group.state is not State.DELETING:
        return None
    if not group.never_live:
        at = found.pointer(group_id, now_s=table.now_s())
        has_pointer = at is not None and at.group_id == group_id
        _close(table, queue, group_id, last=group_id, delay_s=0, has_pointer=has_pointer)
    left_s = _seconds_left(group, table.now_ms(), wait_s)
    if left_s > 0:
        return left_s
    _erase_entries(table, group)
    _erase_members(table, group)
    _erase_transfer(table, group)
    _erase_others(table, group)
    _end(table, group)
    return None


def _seconds_left(group: Group, now_ms: int, wait_s: int) -> int:
    """Return how long to wait before anything of a dead tree is removed."""
    if group.deleted_at is None:
        return 0
    return math.ceil((ids.milliseconds(group.deleted_at) - now_ms) / 1000 + wait_s)


def _erase_entries(table: Table, group: Group) -> None:
    """Remove the entries, and before each the chunks of its body, which only the entry can name."""
    if group.never_live:
        return  # a tree's first entry comes with its life
    for some in _in_parts(table.read.entry_chunks(group.group_id), ERASED_AT_ONCE):
        table.delete(_blobs(group.group_id, some))
        table.delete(keys.entry(group.group_id, entry_id) for entry_id, _ in some)


def _blobs(group_id: str, entries: Iterable[tuple[EntryId, int]]) -> Iterator[Key]:
    for entry_id, chunks in entries:
        for at in range(chunks):
            yield keys.blob(group_id, entry_id, at)


def _erase_members(table: Table, group: Group) -> None:
    """Remove the members, and before each the row in the user's list, which only the member can name."""
    for some in _in_parts(table.read.member_ids(group.group_id), ERASED_AT_ONCE):
        rows = [
            keys.user_tree(user_id, group.created_at, group.group_id, is_child=group.is_child)
            for user_id in some
        ]
        _erase(table, group, rows)
        _erase(table, group, [keys.member(group.group_id, user_id) for user_id in some])


def _erase_transfer(table: Table, group: Group) -> None:
    """Remove a pending transfer, and last the item that names all others."""
    found = table.get([keys.transfer_of_group(group.group_id)])
    transfer = found.transfer_of_group(group.group_id)
    if transfer is not None:
        only, *others = keys.transfer_keys(transfer)
        _erase(table, group, others)
        _erase(table, group, [only])


def _erase_others(table: Table, group: Group) -> None:
    """Remove whatever else lies in the tree's partition, of whatever kind, except the tree's own item."""
    own = keys.group(group.group_id)
    for some in _in_parts(table.read.other_keys(group.group_id), ERASED_AT_ONCE):
        _erase(table, group, [key for key in some if key != own])


def _erase(table: Table, group: Group, unwanted: Sequence[Key]) -> None:
    """Delete items of a dead tree.

    The ids of one that was alive rest for 30 days, so what a slow worker deletes late is this tree's or
    nothing. The id of an unborn one may be in use again: there each write holds that it is still this one.
    Raises ConditionFailed if it is not.
    """
    if not group.never_live:
        table.delete(unwanted)
        return
    for some in _in_parts(unwanted, GUARDED_AT_ONCE):
        table.commit([parts.group.check_deleting(group), *parts.group.erase(some)])


def _end(table: Table, group: Group) -> None:
    """Delete the tree's own item with its jobs; a started tree's CHILD first, its count with it.

    So its parent counts one less once, and never before the CHILD has gone.
    """
    last = [
        parts.group.delete(group),
        *(parts.job.delete(kind, group.group_id) for kind in JobKind),
    ]
    if group.child_key is None or group.never_live:  # a child is listed and counted when it comes to life
        _commit_if_so(table, last)
        return
    table.delete([group.child_key])
    try:
        table.commit([*last, parts.group.uncount_child(group.child_key.partition)])
    except ConditionFailed as refused:
        if not refused.has(PartKind.GROUP):
            _commit_if_so(table, last)  # the parent is gone


# The sweep


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep found: how many jobs were open, and how long ago the oldest was asked for; 0 for none.

    Of each kind it looks at SWEPT_MAX at most, and counts those, too, that it has just finished.
    failed: how many of them it could do nothing about, because something was wrong with them.
    """

    jobs: int
    oldest_s: float
    failed: int


def sweep(
    table: Table, queue: Queue, *, report: Callable[[Exception], object] = lambda _error: None
) -> Swept:
    """Find work in progress that nobody is at work on, and see that it goes on; return what was found.

    A job that is wrong in itself stops no other: `report` is called with its error, and it is counted. A kind
    that nobody knows is left alone.
    """
    alone = _Alone(report)
    found: list[_Job] = []
    for kind in (JobKind.DELETION, JobKind.TRANSFER):
        jobs = _jobs(table, kind, alone)
        free = [job.group_id for job in jobs if job.leased_until_ms <= table.now_ms()]
        queue.announce(free, kind=None if kind is JobKind.DELETION else kind, within_s=ANNOUNCE_ALL_SECONDS)
        found += jobs
    creations = _jobs(table, JobKind.CREATION, alone)
    for job in creations:
        with alone.each():
            if _give_up_creation(table, job.group_id):
                queue.announce([job.group_id])
    found += creations
    since = [job.since_ms for job in found if job.since_ms is not None]
    oldest_s = max(0, table.now_s() - min(since) / 1000) if since else 0
    return Swept(len(found) + alone.unreadable, oldest_s, alone.failed)


class _Alone:
    """Keeps what is wrong with one job from all others, and counts it. unreadable: jobs that say nothing."""

    def __init__(self, report: Callable[[Exception], object]) -> None:
        self._report = report
        self.failed = 0
        self.unreadable = 0

    @contextlib.contextmanager
    def each(self) -> Iterator[None]:
        try:
            yield
        except UnavailableError:  # the next sweep comes to it again
            pass
        except Exception as error:  # noqa: BLE001 (whatever it is: the others are no worse for it)
            self.failed += 1
            self._report(error)


@dataclass(frozen=True, slots=True)
class _Job:
    """Work in progress on a tree. since_ms: when it was asked for; None where an older version began it.

    leased_until_ms: until when a worker holds it; 0 where none does.
    """

    group_id: str
    since_ms: int | None
    leased_until_ms: int


def _jobs(table: Table, kind: JobKind, alone: _Alone) -> list[_Job]:
    """Return the work of a kind that is in progress."""
    found: list[_Job] = []
    for job in table.read.jobs(kind, limit=SWEPT_MAX):
        alone.unreadable += 1
        with alone.each():
            since, until = job.created_at, job.leased_until
            found.append(
                _Job(
                    job.group_id,
                    None if since is None else ids.milliseconds(since),
                    0 if until is None else ids.milliseconds(until),
                )
            )
            alone.unreadable -= 1
    return found


def _give_up_creation(table: Table, group_id: str) -> bool:
    """Turn a creation that nobody goes on with into a deletion; tell whether it was turned.

    The id is freed, so that the same request can be sent again.
    """
    group = table.get([keys.group(group_id)]).group(group_id)
    if group is None or group.state is not State.CREATING:
        still = parts.group.check_not_creating(group_id)
        _commit_if_so(table, [still, parts.job.delete(JobKind.CREATION, group_id)])
        return False
    if table.now_ms() - ids.milliseconds(group.created_at) <= CREATION_SECONDS_MAX * 1000:
        return False
    at = _now(table)
    return _commit_if_so(
        table,
        [
            parts.group.mark_never_live(group, at=at),
            parts.conversation.free_id(group_id),
            parts.job.delete(JobKind.CREATION, group_id),
            parts.job.put(JobKind.DELETION, group_id, at=at),
        ],
    )


def _now(table: Table) -> str:
    return ids.timestamp(table.now_ms())


def _commit_if_so(table: Table, wanted: Sequence[Part]) -> bool:
    """Write all parts if every condition holds; tell whether it did."""
    try:
        table.commit(wanted)
    except ConditionFailed:
        return False
    return True


def _in_parts(all_of_them: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` items, the last one perhaps shorter."""
    left = iter(all_of_them)
    while part := list(islice(left, size)):
        yield part


def _all(results: Iterable[object]) -> None:
    """Wait for every call; raise what the first that failed raised."""
    for _ in results:
        pass
