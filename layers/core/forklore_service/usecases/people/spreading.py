"""Let a change of a member reach the trees that the tree's conversations have started.

A child has a copy of its parent's members. If the parent removes a member or lowers their level,
that is for these copies, too, as deep as they go. A membership that was given in the child itself
stays, and so does that of its owner; then nothing below that child changes, either. A new member
is let into the children, too, if that is asked for: there, who asked must be allowed to do so.

The change marks GROUP, and puts a JOB, if the tree has children. A child that has children gets a
mark and a JOB of its own, in the transaction that changes it. A mark goes when no direct child is
left to change and none is marked. So nothing below a tree without a mark lacks the change. While a
tree is marked its members do not change, and each change in a child checks the mark. So a worker
that was held up takes nothing from somebody who was let in again.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from forklore_service.domain import access, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import list_key
from forklore_service.domain.model import JobKind, Transfer
from forklore_service.domain.tree import Group, Member, MemberChange
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.actions import Action, ActionKind
from forklore_service.storage.actions.group import MEMBERS_MAX
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.closing_trees import in_batches
from forklore_service.usecases.deletion.counted_items import all_child_keys
from forklore_service.usecases.shared.optimistic import CHANGE, attempts

CHANGED_MAX = 200
"""About so many children are changed by a request. The worker goes on."""
CHANGED_AT_ONCE = 12
"""Children changed in one transaction: up to 8 actions each; DynamoDB allows 100."""
READ_AT_ONCE = 200


class Spread(NamedTuple):
    """How far a change of a member has spread.

    children: how many trees were changed by this request. left: the tree, while what was started
    from it may still lack the change; its JOB tells the worker.
    """

    children: int = 0
    left: Sequence[str] = ()


def change_in_tree(
    tree: Group, member: Member, transfer: Transfer | None, level: AccessLevel | None
) -> list[Action]:
    """Return the actions that change a membership, beside that on GROUP. level None: remove it.

    transfer: the tree's pending one; None: it was not read, or there is none.
    """
    if level is not None:
        return actions.member.change_level(tree, member, level)
    offer = actions.transfer.end_offer_to(member.user_id, tree.group_id, transfer)
    return [*actions.member.remove(tree, member), *offer]


def note_spreading(table: Table, tree: Group) -> list[Action]:
    """Return the action that puts the JOB of a change that spreads, if the tree has children."""
    if not tree.children:
        return []
    return [actions.job.put(JobKind.MEMBERS, tree.group_id, at=table.now())]


def spread(table: Table, group_id: str, *, changed_max: int | None = CHANGED_MAX) -> Spread:
    """Let the last change of a tree's members reach its children, and what these have started.

    changed_max: stop after about so many changed trees; None: when time is up.
    """
    waiting, marked, changed = [group_id], list[Group](), 0
    with contextlib.suppress(UnavailableError):
        for tree_id in waiting:
            tree = _read_marked(table, tree_id)
            if tree is None:
                continue
            marked.append(tree)
            for some in in_batches(all_child_keys(table, tree), READ_AT_ONCE):
                children = [list_key(key.sort).conversation_id for key in some]
                rest = dict.fromkeys(children)
                for done in _change_children(table, tree, children):
                    changed += len(done)
                    waiting += [child.group_id for child in done if child.children]
                    for child in done:
                        del rest[child.group_id]
                    if changed_max is not None and changed >= changed_max:
                        return Spread(changed, (group_id,))
                waiting += _marked(table, list(rest))
        for tree in reversed(marked):  # each after all that it has started
            ended = [
                actions.group.end_spreading(tree),
                actions.job.delete(JobKind.MEMBERS, tree.group_id),
            ]
            table.try_commit(ended)
        return Spread(changed)
    return Spread(changed, (group_id,))


def finish_spreading(table: Table, group_id: str, *, changed_max: int | None = CHANGED_MAX) -> None:
    """Let a change reach all children of the tree, so that its members may change again.

    Raises UnavailableError if `spread` leaves some.
    """
    if spread(table, group_id, changed_max=changed_max).left:
        raise UnavailableError("an earlier change of the members has not reached all children; try again")


def announce_spreading(queue: Queue, group_ids: Sequence[str]) -> None:
    queue.announce(group_ids, kind=JobKind.MEMBERS)


def _read_marked(table: Table, group_id: str) -> Group | None:
    """Return the tree if it is marked. If not, take away a JOB that may be left."""
    tree = table.get([keys.group(group_id)]).group(group_id)
    if tree is not None and tree.is_kept and tree.spreading and tree.member_change is not None:
        return tree
    gone = [actions.group.check_not_spreading(group_id), actions.job.delete(JobKind.MEMBERS, group_id)]
    table.try_commit(gone)
    return None


def _marked(table: Table, group_ids: Sequence[str]) -> list[str]:
    """Return those trees that are marked, for this change or for an own one."""
    found = table.get(keys.group(group_id) for group_id in group_ids)
    trees = [tree for group_id in group_ids if (tree := found.group(group_id))]
    return [tree.group_id for tree in trees if tree.is_kept and tree.spreading]


def _change_children(table: Table, parent: Group, children: Sequence[str]) -> Iterator[list[Group]]:
    """Change the member in direct children, some at a time.

    Yield those that were changed, as they were before.
    """
    assert parent.member_change is not None, "marked"
    for due in in_batches(_due(table, parent.member_change, children), CHANGED_AT_ONCE):
        changed = _change(table, parent, parent.member_change, due)
        if changed is None:
            return
        yield changed


class _Due(NamedTuple):
    """A child that still lacks the change.

    member: who is changed there; None: they are let in. transfer: the pending one. by: who lets
    them in.
    """

    child: Group
    member: Member | None
    transfer: Transfer | None = None
    by: Member | None = None


def _due(table: Table, change: MemberChange, children: Sequence[str]) -> list[_Due]:
    user_id, level = change.user_id, change.level
    if level is not None and change.by is not None:
        return _due_to_include(table, user_id, level, change.by, children)
    found = table.get(keys.member(child_id, user_id) for child_id in children)
    held = [(child_id, member) for child_id in children if (member := found.member(child_id, user_id))]
    too_high = [
        (child_id, member)
        for child_id, member in held
        if member.level is not AccessLevel.OWNER and not (level and level.implies(member.level))
    ]
    of = [keys.group] if level else [keys.group, keys.transfer_of_group]
    found = table.get(key(child_id) for child_id, _ in too_high for key in of)
    return [
        _Due(child, member, found.transfer_of_group(child_id))
        for child_id, member in too_high
        if (child := found.group(child_id)) and child.is_kept and member.is_copy_in(child)
    ]


def _due_to_include(
    table: Table, user_id: str, level: AccessLevel, by_user_id: str, children: Sequence[str]
) -> list[_Due]:
    users = (user_id, by_user_id)
    found = table.get(
        key
        for child_id in children
        for key in (keys.group(child_id), *(keys.member(child_id, user) for user in users))
    )
    return [
        _Due(child, None, by=by)
        for child_id in children
        if (child := found.group(child_id)) and child.is_kept and child.members < MEMBERS_MAX
        if found.member(child_id, user_id) is None
        if (by := found.member(child_id, by_user_id)) and level in access.grants(by.level)
    ]


def _change(table: Table, parent: Group, change: MemberChange, due: Sequence[_Due]) -> list[Group] | None:
    """Change the member in some children. Return those in which there was something to change.

    None: the change does not spread any more, so others have done it.
    """
    for _ in attempts(table, CHANGE):
        for one in due:
            if one.child.spreading is not None:
                finish_spreading(table, one.child.group_id)
        refused = table.try_commit(
            [
                actions.group.check_spreading(parent),
                *(action for one in due for action in _writes(table, one, change)),
            ]
        )
        if refused is None:
            return [one.child for one in due]
        if refused.has(ActionKind.GROUP, ""):
            return None
        due = _due(table, change, [one.child.group_id for one in due])
        if not due:
            return []
    raise UnavailableError("the members of the children keep changing; try again")


def _writes(table: Table, due: _Due, change: MemberChange) -> list[Action]:
    child, member, by = due.child, due.member, due.by
    own = change._replace(was=member.level if member else None, nonce=table.nonce())
    is_owner = by is not None and by.level is AccessLevel.OWNER
    writes = [
        actions.group.change_members(child, own, owner=own.by if is_owner else None, spreads=True, kept=True),
        *(change_in_tree(child, member, due.transfer, own.level) if member else []),
        *(_let_in(child, own, by) if by else []),
        *note_spreading(table, child),
    ]
    return [action._replace(of=f"{child.group_id} {action.of}") for action in writes]


def _let_in(child: Group, change: MemberChange, by: Member) -> list[Action]:
    """Return the actions that let a user into a child as if they had come with it, beside GROUP's.

    The action on GROUP checks the owner.
    """
    assert change.level is not None, "nobody is let in without a level"
    copy = Member(change.user_id, change.level, child.created_at)
    is_manager = actions.member.check(child.group_id, by.user_id, AccessLevel.MANAGER)
    return [
        *([] if by.level is AccessLevel.OWNER else [is_manager]),
        *actions.member.add(child, copy, nonce=change.nonce),
    ]
