"""Trees in the trash: they are closed for everybody, and can be restored until their time is over.

A tree goes into the trash with one transaction, and with it all that its conversations have
started. Its HEADs are then shut, so that nothing can be appended. On the way back they are opened
first, and the tree becomes live with the last of them. Both take several transactions, each of
which checks that the tree is still in that state since the same time. So of a restoring, the end of
the trash and a late worker exactly one goes on. JOB stands for what is left, and a worker does it.
"""

from collections.abc import Callable, Sequence

from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller, JobKind
from forklore_service.domain.tree import Group, State
from forklore_service.errors import NotFoundError, UnavailableError, brief
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.table import LOOKS_MAX, Table
from forklore_service.usecases.deletion.closing_trees import in_batches
from forklore_service.usecases.deletion.counted_items import all_child_keys, all_heads
from forklore_service.usecases.shared.loading import LookUp

HEADS_AT_ONCE = 90
"""HEADs shut or opened in one transaction. DynamoDB allows 100 actions."""


def into_trash(
    table: Table, group: Group, *, at: str, owner: str | None = None, last_of: Group | None = None
) -> tuple[list[Action], bool]:
    """Return the actions that put a live tree into the trash, and whether they shut it, too.

    If not, they put the job of shutting it. group: the tree as it was read. owner, last_of: as of
    `closing_trees.tombstone`.
    """
    heads = []
    if group.children == 0 and group.conversations <= HEADS_AT_ONCE:
        heads = [row.conversation_id for row in table.read.head_rows(group.group_id)]
    is_whole = len(heads) == group.conversations
    mark = actions.group.mark_trashed(group, at=at, owner=owner, last_of=last_of, whole=is_whole)
    if not is_whole:
        return [mark, actions.job.put(JobKind.DELETION, group.group_id, at=at)], False
    return [mark, *(actions.conversation.shut_head(group.group_id, head) for head in heads)], True


def shut_tree(table: Table, group: Group, *, last: str) -> None:
    """Put all that a tree in the trash has started there, too, and shut their HEADs, then its own.

    last: the conversation to shut last. Nothing is done to a tree that is not there any more.
    Raises UnavailableError.
    """
    family = [group]
    for tree in family:
        family += _changed_children(table, tree, State.TRASHED, actions.group.trash_child)
    for some in in_batches(family[1:], HEADS_AT_ONCE):
        _shut(table, some)
    done = actions.job.delete(JobKind.DELETION, group.group_id)
    end = [actions.group.check_trashed(group), done]
    _turn(table, group, actions.conversation.shut_head, end, last=last)


def restore_tree(table: Table, group: Group) -> None:
    """Make a tree live that is on its way back, after all that went into the trash with it.

    Nothing is done to a tree that is not on its way back any more. Raises UnavailableError.
    """

    def begin(child_key: Key, parent: Group) -> list[Action]:
        _, place = keys.in_child(child_key.sort)
        child = table.get([keys.group(place.conversation_id)]).group(place.conversation_id)
        if child is None or child.state is not State.TRASHED or not child.went_with(parent):
            return []
        return [actions.group.begin_restoring(child)]

    family = [group]
    for tree in family:
        family += _changed_children(table, tree, State.RESTORING, begin)
    for tree in reversed(family):
        restored = actions.group.end_restoring(tree, at=table.now())
        # A restoring of a child alone may have been stopped by the deletion of its parent.
        end = [restored, actions.job.delete(JobKind.DELETION, tree.group_id)]
        _turn(table, tree, actions.conversation.open_head, end)


def trashed_group(table: Table, found: LookUp, caller: Caller, conversation_id: str) -> Group:
    """Return a tree that is in the trash by itself, or on its way back, and is the caller's.

    found: the result of a look-up that found nothing live. Raises NotFoundError.
    """
    pointer = found.found.pointer(conversation_id, now_s=table.now_s())
    group = found.found.group(pointer.group_id) if pointer and pointer.group_id else None
    if group is None or group.state not in (State.TRASHED, State.RESTORING) or group.cascaded:
        raise not_in_trash(conversation_id)
    if not caller.bypasses_membership and group.owner != caller.user_id:
        raise not_in_trash(conversation_id)
    return group


def not_in_trash(conversation_id: str) -> NotFoundError:
    return NotFoundError(f"no conversation {brief(conversation_id)} in your trash")


def end_trash(table: Table, group: Group) -> bool:
    """Set the tombstone of a tree that is in the trash as it was read. Return whether it is set."""
    at = table.now()
    gone = actions.group.empty_trash(group, at=at)
    return table.try_commit([gone, actions.job.put(JobKind.DELETION, group.group_id, at=at)]) is None


def _changed_children(
    table: Table, parent: Group, state: State, change: Callable[[Key, Group], list[Action]]
) -> list[Group]:
    """Change the children of a tree, and return those that went with it and have the state now."""
    if parent.children == 0:
        return []
    child_keys = all_child_keys(table, parent)
    children = [keys.list_key(child_key.sort).conversation_id for child_key in child_keys]

    def changed(child_key: Key) -> None:
        if writes := change(child_key, parent):
            table.try_commit(writes)

    for _ in table.side_by_side(changed, child_keys):
        pass
    found = table.get(map(keys.group, children))
    trees = filter(None, map(found.group, children))
    return [child for child in trees if child.state is state and child.went_with(parent)]


def _shut(table: Table, trees: Sequence[Group]) -> None:
    """Shut the HEADs of several trees, whose transactions overlap."""
    for look in range(LOOKS_MAX):
        table.pause(look)
        rows = dict(table.heads_of([tree.group_id for tree in trees]))
        writes = [
            [actions.group.check_trashed(tree), *(actions.conversation.shut_head(*head) for head in some)]
            for tree in trees
            for some in in_batches(
                [(tree.group_id, row.conversation_id) for row in rows[tree.group_id] if not row.is_shut],
                HEADS_AT_ONCE,
            )
        ]
        is_done = all(table.commit_each(writes))
        if is_done and all(len(rows[tree.group_id]) >= tree.conversations for tree in trees):
            return
        found = table.get(keys.group(tree.group_id) for tree in trees)
        trees = [tree for tree in trees if _is_still(found.group(tree.group_id), tree)]
    raise UnavailableError("a fork that was made cannot be read yet; try again")


def _turn(
    table: Table,
    tree: Group,
    turn: Callable[[str, str], Action],
    end: Sequence[Action],
    *,
    last: str = "",
) -> None:
    """Turn each HEAD of a tree that is not turned yet; the last ones together with `end`.

    turn: shuts or opens a HEAD. end: checks that the tree is still as it was read.
    last: the conversation to turn last.
    """
    opens = turn is actions.conversation.open_head
    still = actions.group.check_restoring(tree) if opens else actions.group.check_trashed(tree)
    for look in range(LOOKS_MAX):
        table.pause(look)
        left = [row.conversation_id for row in all_heads(table, tree) if row.is_shut is opens]
        left.sort(key=lambda conversation_id: conversation_id == last)
        first, at_last = left[:-HEADS_AT_ONCE], left[-HEADS_AT_ONCE:]
        turned = [
            [still, *(turn(tree.group_id, one) for one in some)] for some in in_batches(first, HEADS_AT_ONCE)
        ]
        at_end = [*end, *(turn(tree.group_id, one) for one in at_last)]
        if all(table.commit_each(turned)) and table.try_commit(at_end) is None:
            return
        if not _is_still(table.get([keys.group(tree.group_id)]).group(tree.group_id), tree):
            return
    raise UnavailableError("the conversation keeps changing; try again")


def _is_still(now: Group | None, tree: Group) -> bool:
    return now is not None and (now.state, now.trashed_at) == (tree.state, tree.trashed_at)
