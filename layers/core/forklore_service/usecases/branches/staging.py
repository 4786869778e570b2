"""Make a tree in several transactions, while nobody can see it.

GROUP is `creating` until the last transaction makes the tree live. A JOB lets the sweep give up a
tree that nobody goes on with.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Conversation, EntryLayout
from forklore_service.domain.tree import Group, State
from forklore_service.limits import packs
from forklore_service.storage import actions
from forklore_service.storage.actions import Action, ActionKind, ConditionFailed
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.creation import Obstacle, still_cleared
from forklore_service.usecases.shared.attachments import leave_to_the_sweep, references_of
from forklore_service.usecases.shared.drafts import OTHER_WRITES_MAX, TRANSACTION_WRITES_MAX

STEP_WRITES_MAX = TRANSACTION_WRITES_MAX - 1
"""At most so many actions in a step. One more checks that the tree is still this request's."""


class StagedTree(NamedTuple):
    """A tree to make in steps.

    members: how many it will have. child_key: the place of a started child in its parent's list.
    begun: the tree as a request has begun it already; None: nobody has. is_whole: whether it is a
    copy of a whole tree.
    """

    root: Conversation
    owner: str
    members: int
    child_key: Key | None
    begun: Group | None
    is_whole: bool = False


def keys_of_begun(tree_id: str) -> list[Key]:
    """Return the keys that `find_begun` looks at."""
    return [keys.pointer(tree_id), keys.group(tree_id)]


def find_begun(
    found: Found, tree_id: str, *, is_child: bool, is_whole: bool = False, now_s: int
) -> Group | Obstacle | None:
    """Return a tree that is being made; None if the id is free; else why it is not.

    is_child: whether the tree to make is a child. is_whole: whether it is a copy of a whole tree,
    whose branches are not counted before the end. These are not made of one another, nor of another
    tree, because their steps differ.
    Raises UnavailableError for what was given up, whose id will be free.
    """
    pointer, group = found.pointer(tree_id, now_s=now_s), found.group(tree_id)
    if pointer is None:
        return None
    if group is None and pointer.group_id == tree_id:
        return Obstacle.CHANGED  # the read was torn: it was just begun, or just cleared
    if group is not None and group.never_live:
        raise still_cleared()
    is_begun = group is not None and group.state is State.CREATING
    if group is None or not is_begun or (group.is_child, group.conversations == 0) != (is_child, is_whole):
        return Obstacle.of(pointer)
    return group


def stage(table: Table, tree: StagedTree, steps: Iterable[Sequence[Action]], *, nonce: str) -> bool:
    """Begin the tree, and write each of the steps in a transaction of its own.

    A request that finds a tree being made takes it over: it sets its own nonce, and all further
    writes of the previous request are refused. So the same request, sent again after a crash,
    completes the tree.
    steps: each of at most STEP_WRITES_MAX actions. They are asked for one by one, and only when the
    tree is this request's. So they can be decided on what earlier requests have written.
    False: another request has taken the tree over, or an item of a step is there already.
    """
    group_id = tree.root.group_id
    try:
        if tree.begun is None or tree.begun.nonce != nonce:
            _claim(table, tree, nonce)
        for step in steps:
            table.commit([actions.group.check_creating(group_id, nonce=nonce), *step])
    except ConditionFailed:
        return False
    return True


def _claim(table: Table, tree: StagedTree, nonce: str) -> None:
    """Begin the tree, or take it over. Raises ConditionFailed when another request was faster."""
    claim = actions.group.begin_tree(
        tree.root,
        owner=tree.owner,
        members=tree.members,
        child_key=tree.child_key,
        conversations=0 if tree.is_whole else 1,
        nonce=nonce,
        taken_from=tree.begun,
        now_s=table.now_s(),
    )
    try:
        table.commit(claim)
    except ConditionFailed as refused:
        is_own_earlier_attempt = refused.has_nonce(ActionKind.CREATING_GROUP, nonce)
        if not is_own_earlier_attempt:
            raise


def clear(table: Table, tree_id: str) -> Iterator[list[Action]]:
    """Yield the steps that remove all but GROUP of a tree that is being made."""
    yield from clear_entries(table, tree_id, list(table.read.entry_layouts(tree_id)))
    own = keys.group(tree_id)
    others = [key for key, _ in table.read.others(tree_id) if key != own]
    for at in range(0, len(others), STEP_WRITES_MAX):
        yield actions.group.erase(others[at : at + STEP_WRITES_MAX])


def clear_entries(table: Table, tree_id: str, unwanted: Sequence[EntryLayout]) -> Iterator[list[Action]]:
    """Yield the steps that remove these entries, the newest first and each as a whole.

    So what is there between two steps is always the beginning of what was there.
    """
    most = (TRANSACTION_WRITES_MAX - OTHER_WRITES_MAX,)
    for portion in packs(unwanted[::-1], most, lambda one: (1 + one.chunks + 2 * len(one.attachment_ids),)):
        if references := references_of(tree_id, portion):
            yield leave_to_the_sweep(table, (named for one in portion for named in one.attachment_ids))
            yield actions.group.erase(references)
        yield actions.group.erase([key for one in portion for key in _keys_of(tree_id, one)])


def _keys_of(tree_id: str, one: EntryLayout) -> list[Key]:
    blobs = [keys.blob(tree_id, one.entry_id, at) for at in range(one.chunks)]
    return [*blobs, keys.entry(tree_id, one.entry_id)]
