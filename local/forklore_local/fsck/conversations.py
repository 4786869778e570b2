"""Conversations of a tree: HEAD, the place in the tree's list, path, entries and their keys.

A path is valid if it equals the path of the conversation that its last segment names, plus that
segment. By induction its stops ascend, its ranges are disjoint, it has no cycle, and it stays
inside the tree. So only the last segment is checked, and a chain of 1,000 forks costs 1,000 checks.
"""

import uuid
from bisect import bisect_left
from collections.abc import Iterator
from heapq import merge

from forklore_local.fsck.facts import Conv, Own, Tree
from forklore_local.fsck.finding import Finding
from forklore_service.domain import ancestry, ids, keys
from forklore_service.domain.ancestry import SEGMENT_BYTES
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.model import ForkPoint, ForkPosition, Head, Metrics, Turn
from forklore_service.domain.tree import State
from forklore_service.errors import BrokenAncestryError
from forklore_service.storage import items


def check(tree: Tree) -> Iterator[Finding]:
    """Yield what does not agree among the conversations of a tree that has a GROUP item."""
    assert tree.group is not None
    for conversation_id, conversation in tree.conversations.items():
        yield from _listing(tree, conversation_id, conversation)
        yield from _path(tree, conversation_id, conversation)
        head = tree.heads.get(conversation_id)
        if tree.keeps_entries:
            yield from chain(tree, conversation_id)
            yield from _turns(tree, conversation_id)
        if head is not None:
            yield from check_head(tree, conversation_id, conversation, head)
        elif not tree.is_deleting:
            key = keys.head(tree.group_id, conversation_id)
            yield Finding(key, "missing_head", "the conversation has no HEAD", 3, tree.group_id)
    yield from _strays(tree)
    yield from _keys(tree)


def _listing(tree: Tree, conversation_id: str, conversation: Conv) -> Iterator[Finding]:
    place = keys.ListKey(conversation.created_at, conversation_id)
    if tree.keeps_rest and place not in tree.listed:
        key = keys.tree_row(tree.group_id, *place)
        yield Finding(key, "missing_tree", "the conversation is not listed", None, tree.group_id)
    elif tree.keeps_rest and tree.records[conversation_id] != record(tree, place):
        key = keys.tree_row(tree.group_id, *place)
        yield Finding(key, "wrong_record", "it does not say where its path ends", 16, tree.group_id)
    if tree.group is not None and tree.group.state is State.CREATING:
        key = keys.conversation(tree.group_id, conversation_id)
        yield Finding(key, "early_conv", "the tree is still being created", None, tree.group_id)


def record(tree: Tree, place: keys.ListKey) -> str | None:
    """Return the key in the local index that says where a conversation leaves; None for a root."""
    if place.conversation_id == tree.group_id:
        return None
    packed = tree.paths.get(place.conversation_id, b"")
    owner, stop = (_conversation(packed), _stop(packed)) if packed else (tree.group_id, FIRST)
    return keys.fork_record(owner, ids.EntryId(stop), place) if ids.is_entry_id(stop) else None


def _strays(tree: Tree) -> Iterator[Finding]:
    """Yield items that belong to conversations which the tree does not have."""
    known, group_id = tree.conversations, tree.group_id
    for conversation_id in tree.heads.keys() - known.keys():
        key = keys.head(group_id, conversation_id)
        yield Finding(key, "orphan_head", "there is no such conversation", 1, group_id)
    if tree.group is not None and tree.group.state is State.CREATING:
        yield from _early_entries(tree)
    if not tree.keeps_rest:
        return
    for conversation_id in tree.paths.keys() - known.keys() - tree.remnants.keys():
        key = keys.path(group_id, conversation_id)
        yield Finding(key, "orphan_path", "there is no such conversation", 1, group_id)
    for conversation_id, own in tree.own.items():
        if not tree.knows(conversation_id):
            key = keys.entry(group_id, ids.EntryId(own.first or FIRST))
            detail = f"{len(own)} entries of {conversation_id}, which the tree does not have"
            yield Finding(key, "orphan_entry", detail, 1, group_id)
    for place in tree.listed:
        conversation = known.get(place.conversation_id)
        if conversation is None or conversation.created_at != place.created_at:
            key = keys.tree_row(group_id, *place)
            yield Finding(key, "orphan_tree", "there is no such conversation", None, group_id)


def _early_entries(tree: Tree) -> Iterator[Finding]:
    """Yield what is wrong with the entries of a tree that is still being created.

    It may be a copy, which gets all its entries before it is visible: one of a conversation those
    of its root, one of a tree those of all branches. A child gets none.
    """
    assert tree.group is not None
    is_of_tree = tree.group.conversations == 0
    for conversation_id, own in tree.own.items():
        yield from chain(tree, conversation_id)
        if tree.group.is_child or not (is_of_tree or conversation_id == tree.group_id):
            key = keys.entry(tree.group_id, ids.EntryId(own.first or FIRST))
            detail = f"{len(own)} entries of {conversation_id}, while the tree is being created"
            yield Finding(key, "orphan_entry", detail, 1, tree.group_id)


# HEAD


def check_head(tree: Tree, conversation_id: str, conversation: Conv, head: Head) -> Iterator[Finding]:
    """Yield what HEAD gets wrong about its conversation, which is live or in the trash."""
    group, own = tree.group, tree.own_of(conversation_id)
    assert group is not None

    def wrong(kind: str, detail: str, invariant: int | None = 3) -> Finding:
        return Finding(keys.head(tree.group_id, conversation_id), kind, detail, invariant, tree.group_id)

    if head.owner not in (group.owner, group.rewriting):
        yield wrong("wrong_head_owner", "it names neither the tree's owner nor the former owner", 9)
    if head.last != (own.last or head.floor):
        yield wrong("wrong_head_last", f"{head.last}, but the last own entry is {own.last}")
    if head.first != own.first:
        yield wrong("wrong_head_first", f"{head.first}, but the first own entry is {own.first}")
    if (head.history, head.context) != (len(own.history), len(own.context)):
        counted = f"there are {len(own.history)} history and {len(own.context)} context entries"
        yield wrong("wrong_head_counts", f"{head.history} and {head.context}, but {counted}")
    for name, beyond, most in _beyond_own(tree, conversation, head, own):
        if not 0 <= beyond <= most:
            yield wrong("wrong_metrics", f"{name}: {beyond} more than its own; at most {most} is possible")
    if own.first is not None and own.first <= head.floor:
        yield wrong("entry_below_floor", f"{own.first} is not after {head.floor}")
    packed = tree.paths.get(conversation_id, b"")
    floor = _stop(packed) if packed else FIRST
    if head.floor != floor:
        yield wrong("wrong_floor", f"{head.floor}, but the path ends before {floor}", 5)
    last_history = own.history[-1] if own.history else _last_history(tree, packed)
    if head.last_history != last_history:
        yield wrong("wrong_last_history", f"{head.last_history}, but the view ends with {last_history}")
    last_context = own.context[-1].entry_id if own.context else _last_context(tree, packed)
    if head.lasts.context != last_context:
        yield wrong("wrong_last_context", f"{head.lasts.context}, but the view ends with {last_context}")
    if head.untitled and conversation.has_title:
        yield wrong("wrong_untitled", "the conversation has a title", None)
    if conversation.names_answer:
        yield wrong("early_answer", "CONV names an answer, but the conversation is not closed", None)
    if tree.changes[conversation_id] != conversation.changes:
        counted = f"{tree.changes[conversation_id]} changes, but CONV counts {conversation.changes}"
        yield wrong("wrong_changes", counted, None)


def _beyond_own(tree: Tree, conversation: Conv, head: Head, own: Own) -> Iterator[tuple[str, int, int]]:
    """Yield for each sum in HEAD: its name, the part that is inherited, and the most it may be.

    The inherited part is what own entries do not explain. It is at most the sum of the source.
    """
    sums = items.counters(head.metrics)
    of_own = items.counters(Metrics(head.own_entries, own.usage))
    most = dict.fromkeys(sums, 0)
    if conversation.fork_point is not None:
        source = tree.heads.get(conversation.fork_point.conversation_id)
        most = items.counters(source.metrics) if source else sums
    for name, of_all in sums.items():
        yield name, of_all - of_own[name], most[name]


def chain(tree: Tree, conversation_id: str) -> Iterator[Finding]:
    """Yield the first entry that does not name the entries which were shown last before it."""
    own, packed = tree.own_of(conversation_id), tree.paths.get(conversation_id, b"")
    shown = _last_history(tree, packed), _last_context(tree, packed)
    contexts = [(entry.entry_id, False) for entry in own.context]
    for entry_id, is_history in merge(((entry_id, True) for entry_id in own.history), contexts):
        if own.after[entry_id] != shown:
            key = keys.entry(tree.group_id, ids.EntryId(entry_id))
            yield Finding(key, "wrong_prev", "it does not name the entries shown before it", 6, tree.group_id)
            return
        shown = (entry_id, shown[1]) if is_history else (shown[0], entry_id)


# Paths


def _path(tree: Tree, conversation_id: str, conversation: Conv) -> Iterator[Finding]:
    if not tree.keeps_entries:  # The entry that a fork point names may be deleted already.
        return
    packed = tree.paths.get(conversation_id, b"")
    fault = _fault_of_fork(tree, conversation_id, conversation, packed)
    if fault is not None:
        kind, detail = fault
        yield Finding(keys.path(tree.group_id, conversation_id), kind, detail, 5, tree.group_id)


def _fault_of_fork(
    tree: Tree, conversation_id: str, conversation: Conv, packed: bytes
) -> tuple[str, str] | None:
    """Return what is wrong with the fork point and the path, as (kind, detail); None if nothing."""
    point = conversation.fork_point
    if (conversation_id == tree.group_id) != (point is None):
        return "wrong_fork_point", "only the root may have no fork point, and it must have none"
    if point is None or (point.position is ForkPosition.BLANK):
        return ("orphan_path", "it inherits nothing") if packed else None
    source = tree.conversations.get(point.conversation_id)
    is_removed = tree.was_removed(point.conversation_id)
    if not is_removed and (source is None or source.created_at >= conversation.created_at):
        return "wrong_fork_point", "its source is not an older conversation of its tree"
    source_path = tree.paths.get(point.conversation_id, b"")
    if not packed:
        is_first = point.position is ForkPosition.BEFORE and not _misplaced(tree, point, packed)
        return None if is_first else ("missing_path", "it inherits entries")
    if packed != source_path:  # The check of the source finds the faults of the source's path.
        fault = _fault_of_last(tree, packed)
        if fault is None and not is_removed:
            fault = _widened(packed, source_path, point.conversation_id)
        if fault is not None:
            return fault
    return _misplaced(tree, point, packed)


def _fault_of_last(tree: Tree, packed: bytes) -> tuple[str, str] | None:
    """Return what is wrong with the last segment of a path, as (kind, detail); None if nothing."""
    last_id, before = _conversation(packed), packed[:-SEGMENT_BYTES]
    if not tree.knows(last_id):
        return "path_leaves_tree", f"there is no {last_id}"
    if before != tree.paths.get(last_id, b""):
        try:
            ancestry.unpack(packed)
        except BrokenAncestryError as error:
            return "broken_path", str(error)
        return "broken_path", f"it does not contain the path of {last_id}"
    stop = _stop(packed)
    if not ids.is_entry_id(stop) or (before and stop <= _stop(before)):
        return "broken_path", f"the stop {stop} is not after the previous stop"
    return None


def _widened(packed: bytes, source_path: bytes, source_id: str) -> tuple[str, str] | None:
    """Return how a path shows entries that its source does not show; None if it does not."""
    last_id, at = _conversation(packed), len(packed) - SEGMENT_BYTES
    if last_id == source_id:
        return None
    segment = source_path[at : at + SEGMENT_BYTES]
    if not segment or _conversation(segment) != last_id:
        return "path_widened", f"the source shows nothing of {last_id}"
    if _stop(packed) > _stop(segment):
        return "path_widened", f"the source shows {last_id} before {_stop(segment)}"
    return None


def _misplaced(tree: Tree, point: ForkPoint, packed: bytes) -> tuple[str, str] | None:
    """Return how the end of a path differs from the fork point; None if it does not differ."""
    entry_id, is_after = str(point.entry_id), point.position is ForkPosition.AFTER
    source = tree.paths.get(point.conversation_id, b"")
    shown = [point.conversation_id, *(owner for owner, _ in segments_backward(source))]
    owner_id = next((owner for owner in shown if tree.own_of(owner).holds(entry_id)), None)
    if owner_id is None and any(map(tree.was_removed, shown)):
        return None  # the entry may have been removed with its branch
    own = tree.own_of(owner_id) if owner_id is not None else None
    if is_after and (own is None or own.has_history(entry_id)):  # Context may follow it.
        last = _last_history(tree, packed)
        return None if last == point.entry_id else ("wrong_fork_point", f"the path ends with {last}")
    ends = False
    if owner_id is not None and own is not None:
        turn = own.turns.get(entry_id)
        begins = turn.first if turn else entry_id
        stop = ids.next_id(turn.last if turn else EntryId(entry_id)) if is_after else begins
        if not is_after and own.first == begins:
            ends = packed == tree.paths.get(owner_id, b"")
        else:
            ends = bool(packed) and (_conversation(packed), _stop(packed)) == (owner_id, stop)
    where = "after" if is_after else "before"
    return None if ends else ("wrong_fork_point", f"the path does not end {where} {point.entry_id}")


def _last_history(tree: Tree, packed: bytes) -> str | None:
    """Return the last history entry that a path shows."""
    for conversation_id, stop in segments_backward(packed):
        history = tree.own_of(conversation_id).history
        at = bisect_left(history, stop)
        if at:
            return history[at - 1]
    return None


def _last_context(tree: Tree, packed: bytes) -> str | None:
    """Return the last context entry that a path shows, of any client."""
    for conversation_id, stop in segments_backward(packed):
        context = tree.own_of(conversation_id).context
        at = bisect_left(context, stop, key=lambda entry: entry.entry_id)
        if at:
            return context[at - 1].entry_id
    return None


def segments_backward(packed: bytes) -> Iterator[tuple[str, str]]:
    """Yield a path's segments as (conversation, stop), the nearest first."""
    for end in range(len(packed), SEGMENT_BYTES - 1, -SEGMENT_BYTES):
        segment = packed[end - SEGMENT_BYTES : end]
        yield _conversation(segment), _stop(segment)


def is_shown(tree: Tree, conversation_id: str, entry_id: str) -> bool:
    """Tell whether a conversation shows an entry of its tree."""
    own = tree.paths.get(conversation_id, b"")
    view = [(conversation_id, str(LAST)), *segments_backward(own)]
    return any(entry_id < stop and tree.own_of(owner).holds(entry_id) for owner, stop in view)


def _conversation(segments: bytes) -> str:
    return str(uuid.UUID(bytes=segments[-SEGMENT_BYTES : -SEGMENT_BYTES // 2]))


def _stop(segments: bytes) -> str:
    return str(uuid.UUID(bytes=segments[-SEGMENT_BYTES // 2 :]))


# Turns: the entries that were appended together and belong to one history entry


def _turns(tree: Tree, conversation_id: str) -> Iterator[Finding]:
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


# Keys of entries


def _keys(tree: Tree) -> Iterator[Finding]:
    """Yield the KEY items that do not agree with the entries of their conversation.

    A conversation that is being deleted or pruned loses its entries and these items one by one.
    """
    whole = tree.heads.keys() | (tree.remnants.keys() - tree.to_prune if tree.keeps_entries else set())
    for conversation_id in whole:
        for text, entry_id in tree.own_of(conversation_id).keys.items():
            named = tree.keyed.get((conversation_id, text))
            key = keys.entry_key(tree.group_id, conversation_id, text)
            if named is None:
                yield Finding(key, "missing_key", f"{entry_id} has this key", None, tree.group_id)
            elif named != entry_id:
                yield Finding(key, "wrong_key", f"{named}, but {entry_id} has this key", None, tree.group_id)
    for (conversation_id, text), named in tree.keyed.items():
        is_unused = conversation_id in whole and text not in tree.own_of(conversation_id).keys
        if is_unused or (tree.keeps_rest and not tree.knows(conversation_id)):
            key = keys.entry_key(tree.group_id, conversation_id, text)
            yield Finding(key, "orphan_key", f"{named} does not have this key", None, tree.group_id)
