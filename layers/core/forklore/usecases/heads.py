"""Every HEAD of a tree, and none missed."""

from forklore.domain import keys
from forklore.errors import UnavailableError
from forklore.storage.connection import Item
from forklore.storage.items import Group
from forklore.storage.table import LOOKS_MAX, Table


def all_heads(table: Table, group: Group, *, only: tuple[str, ...] | None = None) -> list[Item]:
    """Return the HEAD of each conversation of a live tree, or of one that has just got its tombstone.

    A fork becomes visible item by item, so a Query may come before the HEAD of one that GROUP counts already:
    then it is made again. Whoever closes or rewrites all HEADs must not miss one.
    group: as it was read after what stops further forks, or changes how they are made.
    only: the attributes wanted beside the key; None: all. Raises UnavailableError when some stay away.
    """
    for attempt in range(LOOKS_MAX):
        table.pause(attempt)
        heads = list(table.query(keys.heads_range(group.group_id), only=only))
        if len(heads) > group.forks:
            return heads
    raise UnavailableError("a fork that was made cannot be read yet; try again")
