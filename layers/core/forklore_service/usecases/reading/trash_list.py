"""List the trees of a user that are in the trash.

The rows of the user's list of trees stay there as they are. So the list costs a read of each tree
that the user owns, and a deletion writes no row of its own.
"""

from itertools import islice
from typing import NamedTuple

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import ListKey
from forklore_service.domain.listing import ListPlace
from forklore_service.domain.retention import DAY_MS
from forklore_service.domain.tree import Group, State
from forklore_service.errors import InvalidCursorError
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import cursors, tree_rows
from forklore_service.usecases.shared.cursors import InvalidCursor, PageOf

TREES_AT_ONCE = 100
TREES_MAX = 2_000
"""The most rows looked at for one page. At this bound the page is short and has a cursor."""


class Trashed(NamedTuple):
    """A tree in the trash. title: of its current branch."""

    group: Group
    title: str | None

    def kept_until(self, days: int) -> str:
        """Return until when it can be restored. days: for how long trees stay in the trash."""
        return ids.timestamp(ids.milliseconds(self.group.trashed_at or "") + days * DAY_MS)


def list_trash(
    table: Table, *, user_id: str, after: ListPlace | str | InvalidCursor | None, limit: int
) -> PageOf[Trashed, ListPlace]:
    """Return a page of a user's trees in the trash, the newest tree first.

    What went there only with what had started it is not listed. Raises InvalidCursorError.
    """
    place = cursors.valid(after)
    if isinstance(place, str):
        raise InvalidCursorError
    before = place.tree if place else None
    rows = tree_rows.of_user(table, user_id, before=before, through=None, page=TREES_AT_ONCE)
    page: list[Trashed] = []
    looked = 0
    while some := list(islice(rows, TREES_AT_ONCE)):
        own = [row for row in some if row.level in (AccessLevel.OWNER, None)]
        found = table.get(keys.group(row.group_id) for row in own)
        groups = [found.group(row.group_id) for row in own]
        trees = [one for one in groups if one and _is_listed(one, user_id)]
        shown = table.get(keys.conversation(one.group_id, one.current) for one in trees)
        for tree in trees:
            if len(page) == limit:
                return PageOf(page, _place(page[-1]))
            conversation = shown.conversation(tree.group_id, tree.current)
            page.append(Trashed(tree, conversation.described.title if conversation else None))
        looked += len(some)
        if looked >= TREES_MAX:
            return PageOf(page, ListPlace(some[-1].place))
    return PageOf(page, None)


def _is_listed(group: Group, user_id: str) -> bool:
    return group.state is State.TRASHED and not group.cascaded and group.owner == user_id


def _place(trashed: Trashed) -> ListPlace:
    return ListPlace(ListKey(trashed.group.created_at, trashed.group.group_id))
