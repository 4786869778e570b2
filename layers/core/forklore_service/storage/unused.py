"""Find the fork trees that nobody has used for long. This only reads."""

from collections.abc import Callable

from forklore_service.domain import keys
from forklore_service.domain.keys import ListKey
from forklore_service.domain.retention import UnusedTree, is_exempt, used_at
from forklore_service.errors import UnavailableError
from forklore_service.storage.table import Table

TREES_AT_ONCE = 100
"""Trees whose GROUP is read in one request."""


def find_unused(
    table: Table,
    *,
    shard: int,
    after: ListKey,
    before: str,
    ignore_tag: bool,
    report: Callable[[Exception], object],
) -> tuple[list[UnusedTree], int, ListKey | None]:
    """Look at the next trees of a shard of the list of all trees, the oldest first.

    after: the place where the last look has ended. before: when a tree must have been used last.
    ignore_tag: whether the tag `retention` keeps no tree. report: called with the error of each
    tree that cannot be read; such a tree is not unused.
    Return the unused ones, how many trees were looked at, and where to go on; None at the end. The
    list is eventually consistent; what decides is read from the trees. Raises UnavailableError.
    """
    places = table.oldest_trees(keys.old_trees_range(shard, after=after, before=before), limit=TREES_AT_ONCE)
    unused = []
    for found in table.side_by_side(lambda one: _looked_at(table, one, before, ignore_tag), places):
        if isinstance(found, Exception):
            report(found)
        elif found is not None:
            unused.append(found)
    return unused, len(places), places[-1] if len(places) == TREES_AT_ONCE else None


def _looked_at(table: Table, place: ListKey, before: str, ignore_tag: bool) -> UnusedTree | Exception | None:
    """Do the same as `_unused`, and return the error of a tree with damaged items."""
    try:
        return _unused(table, place, before, ignore_tag)
    except UnavailableError:
        raise
    except Exception as error:  # noqa: BLE001 (one tree must not stop the others)
        return error


def _unused(table: Table, place: ListKey, before: str, ignore_tag: bool) -> UnusedTree | None:
    """Return the tree at a place if it is unused, has no children, and no tag keeps it."""
    group_id = place.conversation_id
    group = table.get([keys.group(group_id)]).group(group_id)
    if group is None or not group.is_live or group.children:
        return None
    heads = table.read.heads(group_id).heads(group_id)
    if len(heads) != group.conversations or used_at(group, heads) >= before:
        return None
    if not ignore_tag and any(map(is_exempt, table.read.whole_conversations(group_id))):
        return None
    return UnusedTree(group, heads)
