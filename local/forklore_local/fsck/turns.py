"""Turns: the entries that were appended together and belong to one history entry."""

from collections.abc import Iterator
from heapq import merge

from forklore_local.fsck.facts import Own, Tree
from forklore_local.fsck.finding import Finding
from forklore_service.domain import ids, keys
from forklore_service.domain.model import Turn


def check(tree: Tree, conversation_id: str) -> Iterator[Finding]:
    """Yield each turn of the conversation that its entries do not make."""
    own = tree.own_of(conversation_id)
    if not own.turns:
        return
    history = ((entry_id, True) for entry_id in own.history)
    entries = list(merge(history, ((entry.entry_id, False) for entry in own.context)))
    at = 0
    while at < len(entries):
        turn = own.turns.get(entries[at][0])
        if turn is None:
            at += 1
            continue
        end = at
        while end < len(entries) and own.turns.get(entries[end][0]) == turn:
            end += 1
        if not _is_whole(own, turn, entries[at:end]):
            key = keys.entry(tree.group_id, ids.EntryId(entries[at][0]))
            yield Finding(key, "wrong_turn", "its turn is not made of its neighbours", 4, tree.group_id)
        at = end


def _is_whole(own: Own, turn: Turn, entries: list[tuple[str, bool]]) -> bool:
    """Tell whether these neighbours are the turn that they all name. They tell their channels."""
    (first, _), (last, is_history) = entries[0], entries[-1]
    history, context = own.after[last]
    after = (last, context) if is_history else (history, last)
    return (
        (turn.first, turn.last) == (first, last)
        and len(entries) > 1
        and sum(is_history for _, is_history in entries) == 1
        and (turn.before.history, turn.before.context) == own.after[first]
        and (turn.after.history, turn.after.context) == after
    )
