"""Which trees an export has, and in which order: the oldest first."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from forklore_local.porting.failures import NoSuchTreeError
from forklore_service.domain import ids, keys
from forklore_service.domain.keys import ListKey
from forklore_service.storage import items
from forklore_service.storage.table import Table

PAGE_TREES = 1_000


class Scope(StrEnum):
    """What an export is of."""

    EVERYTHING = "everything"
    OWNER = "owner"
    TREE = "tree"


@dataclass(frozen=True, slots=True)
class Choice:
    """The trees of an export. named: the user, or a conversation of the tree."""

    scope: Scope
    named: str = ""

    def has_owner(self, owner: str) -> bool:
        """Tell whether a tree of this owner belongs to the export."""
        return self.scope is not Scope.OWNER or owner == self.named


def trees(table: Table, choice: Choice, *, after: ListKey | None, through: str) -> Iterator[ListKey]:
    """Yield the places of the trees, the oldest first, strictly after a place.

    A user's trees are those of which the user is a member: the caller asks `has_owner`.
    through: no tree that was made after this time is listed, so that the list has an end. It is
    somewhat later than now, because clocks differ. Raises NoSuchTreeError.
    """
    last = ListKey(through, "g")  # after every id of that millisecond
    for place in _all(table, choice, last):
        if after is None or place > after:
            yield place


def _all(table: Table, choice: Choice, last: ListKey) -> Iterator[ListKey]:
    match choice.scope:
        case Scope.EVERYTHING:
            ranges = keys.all_trees_ranges(through=last)
            yield from table.newest_trees(ranges, page=PAGE_TREES, oldest_first=True)
        case Scope.OWNER:
            ranges = [
                keys.user_trees_range(choice.named, is_child=is_child, through=last)
                for is_child in (False, True)
            ]
            rows = ((keys.list_key(items.key(row).sort) for row in table.query(of)) for of in ranges)
            yield from heapq.merge(*rows)
        case Scope.TREE:
            yield _tree_of(table, choice.named)


def _tree_of(table: Table, conversation_id: str) -> ListKey:
    pointer = keys.pointer(conversation_id)
    if not ids.is_uuid(conversation_id):
        raise NoSuchTreeError(f"{conversation_id!r} is no id of a conversation")
    found = table.get([pointer])
    at = found.pointer(conversation_id, now_s=table.now_s())
    group = table.get([keys.group(at.group_id)]).group(at.group_id) if at and at.group_id else None
    if group is None or not group.is_live:
        raise NoSuchTreeError(f"no conversation {conversation_id!r}")
    return ListKey(group.created_at, group.group_id)
