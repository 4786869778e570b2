"""The rows of a user's list of trees, or of all trees: the newest tree first.

A row of a user says that the user is a member. Whether the tree is live, only the tree says.
"""

import heapq
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from forklore_service.domain import keys
from forklore_service.domain.keys import ListKey
from forklore_service.domain.tree import TreeRow
from forklore_service.storage.table import Table

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
    firsts = table.side_by_side(lambda rows: list(islice(rows, 1)), lists)
    whole = [chain(first, rows) for first, rows in zip(list(firsts), lists, strict=True)]
    return heapq.merge(*whole, key=lambda row: row.place, reverse=True)


def of_all(table: Table, *, before: ListKey | None, through: ListKey | None, page: int) -> Iterator[TreeRow]:
    """Yield the places of all trees. page: how many of each shard a request reads."""
    return map(TreeRow, table.newest_trees(keys.all_trees_ranges(before=before, through=through), page=page))
