"""Read all HEADs or all CHILD items of a tree.

The items of a transaction become visible one by one. So a Query may miss the HEAD of a fork, or the
CHILD of a child, that GROUP counts already. Then the Query is repeated. A caller that closes or
rewrites all of them must not miss one.
"""

from collections.abc import Iterator

from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.domain.tree import Group, HeadRow
from forklore_service.errors import UnavailableError
from forklore_service.storage.table import LOOKS_MAX, Table


def all_heads(table: Table, group: Group) -> Iterator[HeadRow]:
    """Yield what HEAD names of each conversation of a tree, once.

    group: GROUP, read after the write that stops new forks or changes how they are made.
    In a tree with a tombstone, a HEAD that was read counts as seen, even if it is closed before the
    next Query. In a live tree, which may go into the trash meanwhile, a branch may be removed. So
    GROUP is read again before the next Query, which must find as many HEADs as GROUP counts then.
    Raises UnavailableError if some HEADs cannot be read yet.
    """
    seen = set[str]()
    is_kept = group.is_kept
    for attempt in range(LOOKS_MAX):
        table.pause(attempt)
        if attempt and is_kept:
            now = table.get([keys.group(group.group_id)]).group(group.group_id)
            if now is None or not now.is_kept:
                return  # it was deleted meanwhile
            group = now
        found = 0
        for head in table.read.head_rows(group.group_id):
            found += 1
            if head.conversation_id not in seen:
                seen.add(head.conversation_id)
                yield head
        if (found if is_kept else len(seen)) >= group.conversations:
            return
    raise UnavailableError("a fork that was made cannot be read yet; try again")


def all_child_keys(table: Table, group: Group) -> list[Key]:
    """Return the CHILD of each child of a tree.

    group: GROUP, read after the write that stops new children or changes how they are made. Each
    attempt reads GROUP before the CHILD items, because a deleted child loses its CHILD first and is
    still counted for a moment. In a live tree GROUP is read after them, too: a CHILD may be that of
    a child that was started meanwhile.
    Raises UnavailableError if some CHILD items cannot be read yet.
    """
    own = keys.group(group.group_id)
    for attempt in range(LOOKS_MAX):
        table.pause(attempt)
        if attempt:
            now = table.get([own]).group(group.group_id)
            if now is None:
                return []  # another worker has finished the deletion
            group = now
        if group.children == 0:
            return []
        child_keys = list(table.read.all_child_keys(group.group_id))
        after = table.get([own]).group(group.group_id) if group.is_live else group
        if after is None:
            return []
        if len(child_keys) >= max(group.children, after.children):
            return child_keys
    raise UnavailableError("a child that was started cannot be read yet; try again")
