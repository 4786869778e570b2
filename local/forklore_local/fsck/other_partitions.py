"""Items outside a tree's partition, compared with the items that the partition implies.

The partition of a tree implies exactly which pointers, list rows, chunks, jobs, transfers and CHILD
items of its parent must exist. An implied item that does not exist is missing. An item that exists
and that no tree implies is an orphan.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from forklore_local.fsck import attachments
from forklore_local.fsck.facts import Tree, is_time
from forklore_local.fsck.finding import Finding
from forklore_local.fsck.shapes import Kind, kind_of
from forklore_local.fsck.survey import RETIRED, Resting, Survey
from forklore_service.domain import ids, keys
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.model import JobKind, Transfer
from forklore_service.domain.tree import State, TreeRow
from forklore_service.storage.actions.conversation import RETIRED_SECONDS

ANY: Final = object()
_ABSENT: Final = object()
INVARIANTS = {
    Kind.PTR: 1,
    Kind.BLOB: 13,
    Kind.USER_TREE: 9,
    Kind.XFER: 9,
    Kind.JOB: 10,
    Kind.CHILD: 10,
    Kind.ERASED_TREE: 19,
    Kind.SHELF: 22,
}
"""The items outside of trees, each with the rule that it must agree with."""


class Implied(NamedTuple):
    """An item that a tree implies.

    says: what the item must say, as in `Survey.outside`.
    needed: False if the item may be deleted already.
    """

    key: Key
    says: object = None
    needed: bool = True


def check(survey: Survey) -> Iterator[Finding]:
    """Yield items that are missing, that say something wrong, or that no tree implies."""
    implied_keys: set[Key] = set()
    for tree in survey.trees.values():
        for key, says, needed in implied(tree, survey):
            implied_keys.add(key)
            said = survey.outside.get(key, _ABSENT)
            if said is _ABSENT and needed and key not in survey.unreadable:
                yield _finding("missing", key, "the tree says that there is one", tree.group_id)
            elif said is not _ABSENT and says is not ANY and said != says:
                yield _finding("wrong", key, "it does not agree with the tree", tree.group_id)
    for erasure in survey.erasures.values():
        if not erasure.is_done:
            job = keys.job(JobKind.ERASURE, erasure.erasure_id)
            implied_keys.add(job)
            if job not in survey.outside and job not in survey.unreadable:
                yield _finding("missing", job, "the erasure is not done", None)
    implied_keys.update(attachments.jobs(survey.files.values()))
    for key, said in survey.outside.items():
        if kind_of(key) is Kind.ERASED_TREE and not _is_over(survey, key):
            continue
        if kind_of(key) is Kind.SHELF:  # the user's trees may be gone
            continue
        if key not in implied_keys and said is not RETIRED:
            yield _finding("orphan", key, "no tree implies it", _tree_of(key, said))
    yield from _chunks(survey)


def _is_over(survey: Survey, erased_tree: Key) -> bool:
    """Tell whether the erasure that has changed a tree is done, or not there."""
    erasure = survey.erasures.get(erased_tree.partition.split("#")[1])
    return erasure is None or erasure.is_done


def _finding(how: str, key: Key, detail: str, group_id: str | None) -> Finding:
    kind = kind_of(key)
    assert kind is not None
    return Finding(key, f"{how}_{kind}", detail, INVARIANTS[kind], group_id)


def _tree_of(key: Key, said: object) -> str | None:
    """Return the tree that an item outside a partition refers to; None if it names none."""
    match kind_of(key), said:
        case Kind.PTR, Resting():
            return said.group_id
        case Kind.PTR, str():
            return said
        case Kind.JOB, _:
            name = keys.in_job(key.sort)
            return None if name.kind in (JobKind.ERASURE, JobKind.UPLOAD) else name.group_id
        case ((Kind.USER_TREE | Kind.CHILD), _):
            return keys.list_key(key.sort).conversation_id
        case Kind.XFER, Transfer():
            return said.group_id
    return None


def implied(tree: Tree, survey: Survey) -> Iterator[Implied]:
    """Yield every item outside the partition that a tree implies, except chunks of bodies."""
    yield from _pointers(tree, survey.now_s)
    yield from _list_rows(tree, survey)
    yield from _transfers(tree)
    yield from _jobs(tree, survey)
    yield from _child(tree, survey)


def _pointers(tree: Tree, now_s: int) -> Iterator[Implied]:
    group = tree.group
    if group is not None and group.state is State.CREATING:
        yield Implied(keys.pointer(tree.group_id), tree.group_id)
    if group is not None and group.never_live:  # its id is free
        yield Implied(keys.pointer(tree.group_id), ANY, needed=False)
        return
    rests = group is not None and group.deleted_at is not None and _rests(group.deleted_at, now_s)
    for conversation_id in tree.conversations:
        key = keys.pointer(conversation_id)
        if tree.is_deleting and conversation_id not in tree.heads:
            yield Implied(key, RETIRED if rests else ANY, rests)
        else:
            yield Implied(key, tree.group_id, group is not None)
    removed = {*tree.remnants, *({tree.group_id} & tree.gone)}
    for conversation_id in removed - tree.conversations.keys():
        key = keys.pointer(conversation_id)
        yield Implied(key, ANY, rests) if tree.is_deleting else Implied(key, Resting(tree.group_id))


def _rests(deleted_at: str, now_s: int) -> bool:
    """Tell whether the ids of a tree that was deleted then may not be used again yet."""
    return is_time(deleted_at) and ids.milliseconds(deleted_at) // 1000 + RETIRED_SECONDS > now_s


def _list_rows(tree: Tree, survey: Survey) -> Iterator[Implied]:
    group = tree.group
    if group is None:
        return
    needed = tree.keeps_members or group.state is State.CREATING
    for user_id, member in tree.members.items():
        key = keys.user_tree(user_id, group.created_at, tree.group_id, is_child=group.is_child)
        row = survey.outside.get(key)
        place = ListKey(group.created_at, tree.group_id)
        told = TreeRow(place, member.level, member.is_archived)
        if isinstance(row, TreeRow):  # earlier versions told no level; when the row moved, only it tells
            told = told._replace(
                level=row.level and told.level, moves=row.moves, shelf=row.shelf and group.shelf
            )
        yield Implied(key, told, needed)
    row = survey.outside.get(
        keys.user_tree(group.owner, group.created_at, tree.group_id, is_child=group.is_child)
    )
    if tree.is_live and group.shelf is not None and isinstance(row, TreeRow) and row.shelf is None:
        yield Implied(keys.shelf(group.owner), group.shelf)


def _transfers(tree: Tree) -> Iterator[Implied]:
    if tree.transfer is not None:
        for key in keys.transfer_keys(tree.transfer)[1:]:
            yield Implied(key, tree.transfer, tree.keeps_transfer)


def _jobs(tree: Tree, survey: Survey) -> Iterator[Implied]:
    group = tree.group
    if group is None:
        return
    match group.state:
        case State.CREATING:
            yield Implied(keys.job(JobKind.CREATION, tree.group_id))
        case State.DELETING:
            yield Implied(keys.job(JobKind.DELETION, tree.group_id))
        case State.TRASHED:
            yield Implied(keys.job(JobKind.DELETION, tree.group_id), needed=False)
        case State.RESTORING:
            yield Implied(keys.job(JobKind.DELETION, tree.group_id), needed=not group.cascaded)
    if group.rewriting is not None:
        yield Implied(keys.job(JobKind.TRANSFER, tree.group_id), needed=tree.is_kept)
    if group.spreading is not None:
        yield Implied(keys.job(JobKind.MEMBERS, tree.group_id), needed=tree.is_kept)
    for conversation_id in {*tree.remnants, *tree.conversations}:
        key = keys.job(JobKind.PRUNE, tree.group_id, conversation_id)
        # That of a live one, or of one in the trash, only moves what it has started.
        if tree.may_be_pruned(conversation_id) or survey.outside.get(key) is not None:
            yield Implied(key, ANY, needed=False)


def _child(tree: Tree, survey: Survey) -> Iterator[Implied]:
    group = tree.group
    if group is None or group.child_key is None or tree.was_never_live:
        return
    parent = survey.trees.get(group.child_key.partition)
    root = tree.conversations.get(tree.group_id)
    started_by = root.started_by if root else None
    # A parent's deletion marks its children deleted before it removes their CHILD items. A child's
    # own deletion removes its CHILD item when nothing else is left.
    needed = tree.is_live or (parent is not None and parent.is_kept and not tree.is_erased)
    yield Implied(group.child_key, started_by.entry_id if started_by else ANY, needed)


def _chunks(survey: Survey) -> Iterator[Finding]:
    left = dict(survey.chunks.counts)
    for tree in survey.trees.values():
        for entry_id, expected in tree.chunked.items():
            key = keys.blob(tree.group_id, EntryId(entry_id), 0)
            found = left.pop(key.partition, 0)
            if found > expected:
                yield _finding("orphan", key, f"{found} chunks; expected: {expected}", tree.group_id)
            elif found < expected and tree.keeps_entries and not tree.is_doomed(entry_id):
                yield _finding("missing", key, f"{found} chunks; expected: {expected}", tree.group_id)
            elif found == expected and key.partition in survey.chunks.broken:
                yield Finding(key, "unreadable_body", "no JSON array", 13, tree.group_id)
    for partition, found in left.items():
        detail = f"{found} chunks that belong to no entry"
        yield _finding("orphan", Key(partition, "0000"), detail, partition.split("#")[1])
