"""Removed branches: what is left of them is what others show, or has a job.

The forks that leave a branch say how much of it others show. A removed fork counts as long as it is
a remnant itself. So each remnant without a job is shown by a live conversation, by induction over
the forks that leave it.
"""

from collections.abc import Iterator

from forklore_local.fsck import conversations
from forklore_local.fsck.facts import Kept, Own, Tree
from forklore_local.fsck.finding import Finding
from forklore_service.domain import keys
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.keys import ListKey
from forklore_service.domain.remnants import Remnant
from forklore_service.errors import ForkloreError


def check(tree: Tree) -> Iterator[Finding]:
    """Yield what does not agree among the remnants of a tree."""
    if not (tree.remnants or tree.kept) or not tree.keeps_entries:
        return
    if tree.is_kept:
        yield from _kept(tree)
    ends = _ends(tree)
    for conversation_id, remnant in tree.remnants.items():
        key = keys.remnant(tree.group_id, conversation_id)
        if conversation_id in tree.conversations:
            yield Finding(key, "wrong_gone", "the conversation is live", 1, tree.group_id)
        if conversation_id in tree.to_prune:
            continue
        if _record(remnant) != conversations.record(tree, _place(remnant)):
            yield Finding(key, "wrong_record", "it does not say where its path ends", 16, tree.group_id)
        yield from conversations.chain(tree, conversation_id)
        if remnant.in_trash:
            continue
        end = ends.get(conversation_id, FIRST)
        if end == FIRST:
            yield Finding(key, "idle_gone", "nobody shows it, and it has no job", 16, tree.group_id)
        beyond = _first_from(tree.own_of(conversation_id), end)
        if beyond is not None:
            detail = f"nobody shows entries of {conversation_id} from here on, and it has no job"
            yield Finding(
                keys.entry(tree.group_id, EntryId(beyond)), "unshown_entry", detail, 16, tree.group_id
            )


def _kept(tree: Tree) -> Iterator[Finding]:
    """Yield what is wrong with the hidden items of branches in the trash."""
    assert tree.group is not None
    for conversation_id in {*tree.kept, *filter(tree.is_in_trash, tree.remnants)}:
        key = keys.remnant(tree.group_id, conversation_id)
        kept, remnant = tree.kept.get(conversation_id, Kept()), tree.remnants.get(conversation_id)
        head, conversation = kept.head, kept.conversation
        if remnant is None or not remnant.in_trash or not kept.at <= {remnant.removed_at}:
            yield Finding(key, "wrong_kept", "its hidden items are of another removal", 23, tree.group_id)
        elif head is None or conversation is None or kept.place is None:
            yield Finding(key, "missing_kept", "hidden items are missing", 23, tree.group_id)
        else:
            place = ListKey(conversation.created_at, conversation_id)
            if (kept.place, kept.record) != (place, conversations.record(tree, place)):
                row = keys.tree_row(tree.group_id, *kept.place)
                yield Finding(row, "wrong_record", "it does not say where its path ends", 16, tree.group_id)
            head = head._replace(owner=tree.group.owner)
            yield from conversations.check_head(tree, conversation_id, conversation, head)


def _ends(tree: Tree) -> dict[str, EntryId]:
    """Return for each conversation that forks leave the first position that none of them shows."""
    ends: dict[str, EntryId] = {}
    for record in [*tree.records.values(), *map(_record, tree.remnants.values())]:
        try:
            owner, stop, _ = keys.in_fork_record(record or "")
        except (ValueError, ForkloreError):
            continue
        ends[owner] = max(ends.get(owner, FIRST), stop)
    return ends


def _record(remnant: Remnant) -> str | None:
    """Return the remnant's key in the local index; None for a root."""
    one = remnant.record
    if one is None:
        return None
    return keys.fork_record(one.owner, one.stop, ListKey(one.created_at, one.conversation_id))


def _place(remnant: Remnant) -> ListKey:
    """Return the place that the branch had in the list of its tree, as its record says."""
    record = remnant.record
    return ListKey(record.created_at if record else "", remnant.conversation_id)


def _first_from(own: Own, end: str) -> str | None:
    """Return the first own entry at a position or after it."""
    entry_ids = [*own.history, *(entry.entry_id for entry in own.context)]
    return min((entry_id for entry_id in entry_ids if entry_id >= end), default=None)
