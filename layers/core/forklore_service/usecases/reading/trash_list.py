"""List the trees of a user that are in the trash, and the branches of live ones.

The rows of the user's list of trees stay there as they are. So the list costs a read of each tree
that the user owns, and a deletion writes no row of its own. A tree says whether it has branches in
the trash.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import ListKey
from forklore_service.domain.listing import ListPlace
from forklore_service.domain.model import Conversation
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.retention import DAY_MS
from forklore_service.domain.tree import Group, State
from forklore_service.errors import InvalidCursorError
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import cursors, tree_rows
from forklore_service.usecases.shared.cursors import InvalidCursor, PageOf

TREES_AT_ONCE = 100
TREES_MAX = 2_000
"""The most rows looked at for one page. At this bound the page is short and has a cursor."""


class Trashed(NamedTuple):
    """A tree or a branch in the trash.

    conversation_id, title: of the branch, or the tree's current one. created_at: when the branch or
    the tree was made. branch_of: the tree of a branch; None: the whole tree is in the trash.
    """

    conversation_id: str
    title: str | None
    owner: str
    created_at: str
    deleted_at: str
    branch_of: str | None = None

    @property
    def is_branch(self) -> bool:
        return self.branch_of is not None

    def kept_until(self, days: int) -> str:
        """Return until when it can be restored. days: for how long it stays in the trash."""
        return ids.timestamp(ids.milliseconds(self.deleted_at) + days * DAY_MS)


def list_trash(
    table: Table, *, user_id: str, after: ListPlace | str | InvalidCursor | None, limit: int
) -> PageOf[Trashed, ListPlace]:
    """Return a page of what a user owns in the trash, that of the newest tree first.

    What went there only with what had started it is not listed. Raises InvalidCursorError.
    """
    place = cursors.valid(after)
    if isinstance(place, str):
        raise InvalidCursorError
    before, through = place.bounds if place else (None, None)
    rows = tree_rows.of_user(table, user_id, before=before, through=through, page=TREES_AT_ONCE)
    page: list[Trashed] = []
    last = place
    looked = 0
    while some := list(islice(rows, TREES_AT_ONCE)):
        own = [row for row in some if row.level in (AccessLevel.OWNER, None)]
        found = table.get(keys.group(row.group_id) for row in own)
        groups = [found.group(row.group_id) for row in own]
        trees = [one for one in groups if one and _is_listed(one, user_id)]
        shown = table.get(keys.conversation(one.group_id, one.current) for one in trees)
        for tree in trees:
            for at, one in _in_trash(table, tree, shown):
                if place is not None and _is_passed(at, place):
                    continue
                if len(page) == limit:
                    return PageOf(page, last)
                page.append(one)
                last = at
        looked += len(some)
        if looked >= TREES_MAX:
            return PageOf(page, ListPlace(some[-1].place))
    return PageOf(page, None)


def _is_passed(at: ListPlace, place: ListPlace) -> bool:
    """Tell whether a page that ended at `place`, in the middle of a tree, has come by `at`."""
    if place.conversation is None or at.tree != place.tree:
        return False
    return at.conversation is None or at.conversation >= place.conversation


def _is_listed(group: Group, user_id: str) -> bool:
    has_some = group.is_live and group.trashed_branches > 0
    return group.owner == user_id and (has_some or (group.state is State.TRASHED and not group.cascaded))


def _in_trash(table: Table, tree: Group, shown: Found) -> Iterator[tuple[ListPlace, Trashed]]:
    """Yield a tree that is in the trash, or its branches that are, each with its place."""
    place = ListKey(tree.created_at, tree.group_id)
    if not tree.is_live:
        current = shown.conversation(tree.group_id, tree.current)
        title, at = current.described.title if current else None, tree.trashed_at or ""
        yield ListPlace(place), Trashed(tree.current, title, tree.owner, tree.created_at, at)
        return
    for remnant, branch in _branches(table, tree):
        own = ListKey(branch.created_at, branch.conversation_id)
        of = (branch.conversation_id, branch.described.title, tree.owner, branch.created_at)
        yield ListPlace(place, own), Trashed(*of, remnant.removed_at, tree.group_id)


def _branches(table: Table, group: Group) -> Iterator[tuple[Remnant, Conversation]]:
    """Yield the branches of a tree that are in the trash, the newest first."""
    trashed = {one.conversation_id: one for one in table.read.remnants(group.group_id) if one.in_trash}
    found = table.get((keys.conversation(group.group_id, one) for one in trashed), kept=True)
    known = [found.conversation(group.group_id, one) for one in trashed]
    branches = [one for one in known if one is not None]
    for branch in sorted(branches, key=lambda one: (one.created_at, one.conversation_id), reverse=True):
        yield trashed[branch.conversation_id], branch
