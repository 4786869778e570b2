"""Every HEAD and every CHILD of a tree, and none missed.

A fork or a child becomes visible item by item, so a Query may come before the HEAD or the CHILD of one that
GROUP counts already: then it is made again. Whoever closes or rewrites all of them must not miss one.
"""

from collections.abc import Iterator

from forklore.domain import keys
from forklore.domain.keys import Key
from forklore.domain.tree import Group
from forklore.errors import UnavailableError
from forklore.storage.table import LOOKS_MAX, Table


def all_head_owners(table: Table, group: Group) -> Iterator[tuple[str, str]]:
    """Yield each conversation of a tree once, with the owner that its HEAD names.

    group: as it was read after what stops further forks, or changes how they are made.
    Only the ids of what was read are kept: a HEAD that is closed meanwhile has been seen.
    Raises UnavailableError when some cannot be read yet.
    """
    seen = set[str]()
    for attempt in range(LOOKS_MAX):
        table.pause(attempt)
        for conversation_id, owner in table.read.head_owners(group.group_id):
            if conversation_id not in seen:
                seen.add(conversation_id)
                yield conversation_id, owner
        if len(seen) > group.forks:
            return
    raise UnavailableError("a fork that was made cannot be read yet; try again")


def all_head_ids(table: Table, group: Group) -> Iterator[str]:
    """Yield each conversation of a tree once, as `all_head_owners` does."""
    return (conversation_id for conversation_id, _ in all_head_owners(table, group))


def all_child_keys(table: Table, group: Group) -> list[Key]:
    """Return the CHILD of each child of a tree that has just got its tombstone.

    group: as it was read after the tombstone. It is read before the CHILD, each time: a child at the end of
    its own deletion loses its CHILD first, and is counted for a moment longer.
    Raises UnavailableError when some stay away.
    """
    own = keys.group(group.group_id)
    for attempt in range(LOOKS_MAX):
        table.pause(attempt)
        if attempt:
            now = table.get([own]).group(group.group_id)
            if now is None:
                return []  # another worker has deleted the tree to the end
            group = now
        if group.children == 0:
            return []
        child_keys = child_keys_now(table, group.group_id)
        if len(child_keys) >= group.children:
            return child_keys
    raise UnavailableError("a child that was started cannot be read yet; try again")


def child_keys_now(table: Table, group_id: str) -> list[Key]:
    """Return the CHILD that can be read now."""
    return list(table.read.all_child_keys(group_id))
