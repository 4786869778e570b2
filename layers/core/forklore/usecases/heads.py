"""Every HEAD and every CHILD of a tree, and none missed.

A fork or a child becomes visible item by item, so a Query may come before the HEAD or the CHILD of one that
GROUP counts already: then it is made again. Whoever closes or rewrites all of them must not miss one.
"""

from collections.abc import Iterator

from forklore.domain import keys
from forklore.domain.keys import Key
from forklore.errors import UnavailableError
from forklore.storage import items
from forklore.storage.connection import Item
from forklore.storage.items import Group
from forklore.storage.table import LOOKS_MAX, Table


def all_heads(table: Table, group: Group, *, only: tuple[str, ...]) -> Iterator[Item]:
    """Yield the HEAD of each conversation of a live tree, or of one that has just got its tombstone, once.

    Of what was read only the ids are kept: a HEAD that is closed meanwhile has been seen.
    group: as it was read after what stops further forks, or changes how they are made.
    only: the attributes wanted beside the key. Raises UnavailableError when some stay away.
    """
    seen = set[str]()
    for attempt in range(LOOKS_MAX):
        table.pause(attempt)
        for item in table.query(keys.heads_range(group.group_id), only=only):
            conversation_id = keys.in_head(item["SK"]["S"])
            if conversation_id not in seen:
                seen.add(conversation_id)
                yield item
        if len(seen) > group.forks:
            return
    raise UnavailableError("a fork that was made cannot be read yet; try again")


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
            item = table.get([own]).get(own)
            if item is None:
                return []  # another has deleted the tree to the end
            group = items.group(item)
        if group.children == 0:
            return []
        child_keys = child_keys_now(table, group.group_id)
        if len(child_keys) >= (group.children or 0):
            return child_keys
    raise UnavailableError("a child that was started cannot be read yet; try again")


def child_keys_now(table: Table, group_id: str) -> list[Key]:
    """Return the CHILD that can be read now."""
    return [
        Key(group_id, item["SK"]["S"]) for item in table.query(keys.all_children_range(group_id), only=())
    ]
