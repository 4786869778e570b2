"""The rows of a user's list of trees, or of all trees: the newest tree first.

A row of a user says that the user is a member. Whether the tree is live, only the tree says.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.listing import BOTTOM, TOP, ListPlace
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import WAIT_SECONDS, Group, TreeRow
from forklore_service.errors import InvalidCursorError
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.loading import level_of

BOTH_KINDS = (False, True)
"""The trees that no conversation started, and those that one did."""


def of_user(
    table: Table,
    user_id: str,
    *,
    before: ListKey | None,
    through: ListKey | None,
    page: int,
    kinds: Sequence[bool] = BOTH_KINDS,
) -> Iterator[TreeRow]:
    """Yield the rows of a user's trees.

    before: only the trees before this place. through: this place too, and those before it.
    page: how many rows of each kind the first request reads. kinds: whether a conversation started
    them.
    """
    lists = [
        table.read.user_trees(user_id, is_child=is_child, before=before, through=through, page=page)
        for is_child in kinds
    ]
    return heapq.merge(*_begun(table, lists), key=lambda row: row.place, reverse=True)


def _begun(table: Table, lists: Sequence[Iterator[TreeRow]]) -> list[Iterator[TreeRow]]:
    """Return the same lists, whose first requests were sent at the same time."""
    firsts = table.side_by_side(lambda rows: list(islice(rows, 1)), lists)
    return [chain(first, rows) for first, rows in zip(list(firsts), lists, strict=True)]


class RowsByUse:
    """The rows of a user's trees, the one that was used last first, as they stood at one moment.

    A row has `place` as of then, and among its `moves` each place that is known. A row that was
    never moved is only in the list by creation; one that was moved is in both lists. The list by
    creation is read as far down as the list by use: the creation is never later than the use.

    since: the moment, about a minute before the first row is read. Until a walk has come below it,
    it has not begun: rows stand where they stand now, and each page begins at the top again.
    page: how many rows of each list the first request reads.
    """

    def __init__(
        self,
        table: Table,
        user_id: str,
        *,
        after: ListPlace,
        page: int,
        kinds: Sequence[bool] = BOTH_KINDS,
    ) -> None:
        self._began = after.walk.began if after.walk else TOP
        self.since = self._unread = self._began
        self._moved: list[TreeRow] = []
        self._table, self._user_id, self._kinds, self._page = table, user_id, kinds, page
        self._after = after

    def __iter__(self) -> Iterator[TreeRow]:
        began, high = self._began, self._after.below
        merged = self._both_lists()
        yielded: set[str] = set()
        while True:
            read = list(islice(merged, self._page))
            low = read[-1][0] if len(read) == self._page else BOTTOM
            # Read after the others: what has left its old place by now is among these.
            rows = [*(row for _, row in read), *self._moved_rows()]
            newest = {row.group_id: row for row in sorted(rows, key=lambda row: row.used)}
            for place, row in sorted(_standing(newest.values(), began), reverse=True):
                if low <= place < high and row.group_id not in yielded:
                    yielded.add(row.group_id)
                    yield row._replace(place=place, moves=(row.place.created_at, *row.moves))
            if low == BOTTOM:
                return
            if low < self.since:
                began, high = self.since, low

    def _moved_rows(self) -> list[TreeRow]:
        """Return the rows that were moved since the moment. The first time, that is only set.

        Each time, only what was moved since the last time is read.
        """
        after, now = self._unread, _just_now(self._table)
        if after == TOP:
            self.since = self._unread = now
            return []
        self._unread = max(after, now)
        for is_child in self._kinds:
            self._moved += self._table.read.user_trees(
                self._user_id, is_child=is_child, after=after, by_use=True
            )
        return self._moved

    def _both_lists(self) -> Iterator[tuple[ListKey, TreeRow]]:
        """Yield the rows of the list by creation and of that by use, each with its place there."""
        before, through = self._after.bounds
        lists = [
            self._table.read.user_trees(
                self._user_id,
                is_child=is_child,
                before=before,
                through=through,
                by_use=by_use,
                page=self._page,
            )
            for by_use in (False, True)
            for is_child in self._kinds
        ]
        whole = _begun(self._table, lists)
        half = len(self._kinds)
        placed = [
            *(((row.place, row) for row in rows) for rows in whole[:half]),
            *(((row.used, row) for row in rows) for rows in whole[half:]),
        ]
        return heapq.merge(*placed, key=lambda one: one[0], reverse=True)


def _standing(rows: Iterable[TreeRow], began: ListKey) -> Iterator[tuple[ListKey, TreeRow]]:
    """Yield the rows that were there at the moment, with their places then."""
    for row in rows:
        place = row.place_when(began)
        if place is not None:
            yield place, row


def _just_now(table: Table) -> ListKey:
    """Return a place below which no row will stand that does not yet.

    No request that has begun before this time still runs.
    """
    return TOP._replace(created_at=ids.timestamp(table.now_ms() - WAIT_SECONDS * 1000))


def of_all(table: Table, *, before: ListKey | None, through: ListKey | None, page: int) -> Iterator[TreeRow]:
    """Yield the places of all trees. page: how many of each shard a request reads."""
    return map(TreeRow, table.newest_trees(keys.all_trees_ranges(before=before, through=through), page=page))


def pinned(table: Table, user_id: str, *, after: ListPlace | None) -> Iterator[TreeRow]:
    """Yield the rows that the user has pinned and that are still there, in the user's order.

    after: where the page before ended. Raises InvalidCursorError if that tree is pinned no more.
    """
    key = keys.pins(user_id)
    pins = table.get([key]).pins(user_id)
    if after is not None:
        places = [keys.list_key(one) for one in pins]
        if after.tree not in places:
            raise InvalidCursorError
        pins = pins[places.index(after.tree) + (after.conversation is None) :]
    wanted = [Key(key.partition, one) for one in pins]
    found = table.get(wanted)
    return (row for one in wanted if (row := found.tree_row(one)) is not None)


def untold_members(caller: Caller, rows: Iterable[TreeRow]) -> list[Key]:
    """Return the keys of the caller's MEM in each tree whose row tells no level."""
    untold = [] if caller.bypasses_membership else [row for row in rows if row.level is None]
    return [keys.member(row.group_id, caller.user_id) for row in untold]


def levels(
    table: Table, caller: Caller, rows: Sequence[TreeRow], found: Found
) -> Iterator[tuple[TreeRow, Group, AccessLevel]]:
    """Yield the rows whose trees were found, with the caller's level in each.

    found: GROUP of each, and MEM of each whose row tells no level. A level that was read just
    before or after a transfer may not fit the owner in GROUP. Of such trees GROUP and MEM are read
    together.
    """

    def level_in(row: TreeRow) -> AccessLevel | None:
        read = row.level is None or row in doubted or caller.bypasses_membership
        return level_of(found, row.group_id, caller) if read else row.level

    def is_doubted(row: TreeRow) -> bool:
        group, level = found.group(row.group_id), level_in(row)
        if group is None or level is None:
            return False
        return (level is AccessLevel.OWNER) != (group.owner == caller.user_id)

    doubted: set[TreeRow] = set()
    if not caller.bypasses_membership:
        doubted = {row for row in rows if is_doubted(row)}
        trees = [row.group_id for row in doubted]
        groups, members = map(keys.group, trees), (keys.member(tree, caller.user_id) for tree in trees)
        found |= table.get([*groups, *members])
    for row in rows:
        group, level = found.group(row.group_id), level_in(row)
        if group is not None and level is not None:
            yield row, group, level
