"""Note that a fork tree was used: its row moves to the top of its members' lists by use.

That is done after the transaction of the use, and never fails it: a move that is lost is only a row
that stays where it was, until the tree is used in other ten minutes.
"""

from collections import deque
from contextlib import suppress

from forklore_service.domain import keys
from forklore_service.domain.tree import is_moved
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.loading import LoadedConversation

MOVES_SECONDS = 2.0
"""How long a use waits for the rows at the most."""


def note_use(table: Table, group_id: str, *, tree_created_at: str, was: str, at: str) -> None:
    """Move the tree's row in each member's list, unless it was moved in these ten minutes.

    at: when the tree was used. was: when the conversation was used before that. If that was in the
    same ten minutes, nothing is read.
    """
    if is_moved(tree_created_at, was=was, at=at):
        with suppress(UnavailableError):
            _move_rows(table.within(MOVES_SECONDS, usage=table.connection.usage), group_id, at)


def note_use_of(table: Table, used: LoadedConversation, *, at: str) -> None:
    """Note the use of a conversation that was read before it."""
    group, was = used.group, used.conversation.used_at(used.head)
    note_use(table, group.group_id, tree_created_at=group.created_at, was=was, at=at)


def _move_rows(table: Table, group_id: str, at: str) -> None:
    members = table.start(lambda: [*table.read.member_ids(group_id)])
    group = table.get([keys.group(group_id)]).group(group_id)
    if group is None or not group.is_live:
        return
    rows = {
        user_id: keys.user_tree(user_id, group.created_at, group_id, is_child=group.is_child)
        for user_id in members.result()
    }
    found = table.get(rows.values())
    known = ((user_id, found.tree_row(key)) for user_id, key in rows.items())
    moves = [
        actions.member.move_row(group, user_id, row, at=at)
        for user_id, row in known
        if row is not None and is_moved(group.created_at, was=row.used.created_at, at=at)
    ]
    deque(table.side_by_side(table.update, moves), maxlen=0)
