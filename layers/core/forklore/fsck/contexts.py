"""Context: what CTX says of its client's own entries, and epochs that never fall along a view."""

from bisect import bisect_left
from collections.abc import Iterator

from forklore.domain import ids, keys
from forklore.domain.keys import Key
from forklore.fsck.conversations import segments_backward
from forklore.fsck.facts import Ctx, Thought, Tree
from forklore.fsck.finding import Finding

OwnContext = dict[tuple[str, str], list[Thought]]
"""Own context entries by conversation and escaped client, in order."""


def check(tree: Tree) -> Iterator[Finding]:
    """Yield what does not agree with the context entries of a tree."""
    own = _own(tree)
    for (conversation_id, client), thoughts in own.items():
        yield from _bound(tree, conversation_id, client, thoughts)
        ctx = tree.contexts.get((conversation_id, client))
        key = _key(tree, conversation_id, client)
        if ctx is None:
            yield Finding(key, "missing_ctx", f"for {len(thoughts)} entries", 8, tree.group_id)
        elif tree.keeps_entries:
            yield from _epochs(tree, own, conversation_id, client)
            expected = _expected(tree, own, conversation_id, client)
            if ctx != expected:
                yield Finding(key, "wrong_ctx", f"{ctx}, and the entries say {expected}", 8, tree.group_id)
    if tree.keeps_entries:
        for conversation_id, client in tree.contexts.keys() - own.keys():
            key = _key(tree, conversation_id, client)
            yield Finding(key, "orphan_ctx", "without an entry", 8, tree.group_id)


def _key(tree: Tree, conversation_id: str, escaped_client: str) -> Key:
    return Key(tree.group_id, f"CTX#{conversation_id}#{escaped_client}")


def _own(tree: Tree) -> OwnContext:
    found: OwnContext = {}
    for conversation_id, own in tree.own.items():
        for thought in own.context:
            if thought.client_id is not None and thought.epoch is not None:
                found.setdefault((conversation_id, keys.escape(thought.client_id)), []).append(thought)
    return found


def _bound(tree: Tree, conversation_id: str, client: str, thoughts: list[Thought]) -> Iterator[Finding]:
    conversation = tree.conversations.get(conversation_id)
    bound_to = conversation.client_id if conversation else None
    if bound_to is not None and keys.escape(bound_to) != client:
        key = keys.entry(tree.group_id, ids.EntryId(thoughts[0].entry_id))
        detail = "the conversation's context is another client's"
        yield Finding(key, "foreign_context", detail, 8, tree.group_id)


def _epochs(tree: Tree, own: OwnContext, conversation_id: str, client: str) -> Iterator[Finding]:
    latest = next((shown[-1].epoch or 0 for shown in _inherited(tree, own, conversation_id, client)), 0)
    for thought in own[conversation_id, client]:
        if (thought.epoch or 0) < latest:
            key = keys.entry(tree.group_id, ids.EntryId(thought.entry_id))
            yield Finding(key, "fallen_epoch", f"{thought.epoch} after {latest}", 8, tree.group_id)
        latest = max(latest, thought.epoch or 0)


def _inherited(tree: Tree, own: OwnContext, conversation_id: str, client: str) -> Iterator[list[Thought]]:
    """Yield the client's context that a path shows, the nearest conversation's first, never empty."""
    for owner, stop in segments_backward(tree.paths.get(conversation_id, b"")):
        thoughts = own.get((owner, client), [])
        end = bisect_left(thoughts, stop, key=lambda thought: thought.entry_id)
        if end:
            yield thoughts[:end]


def _expected(tree: Tree, own: OwnContext, conversation_id: str, client: str) -> Ctx:
    """Return the CTX that the entries make."""
    thoughts = own[conversation_id, client]
    epoch = thoughts[-1].epoch or 0
    first, begins = _first(thoughts, epoch)
    if begins:
        for shown in _inherited(tree, own, conversation_id, client):
            if shown[-1].epoch != epoch:
                break
            first, begins = _first(shown, epoch)
            if not begins:
                break
    count = sum(thought.epoch == epoch for thought in thoughts)
    return Ctx(epoch, first, thoughts[-1].entry_id, count)


def _first(thoughts: list[Thought], epoch: int) -> tuple[str, bool]:
    """Return the first entry of an epoch, and whether it is the first of all."""
    at = bisect_left(thoughts, epoch, key=lambda thought: thought.epoch or 0)
    at = min(at, len(thoughts) - 1)  # where epochs fall, which is found apart
    return thoughts[at].entry_id, at == 0
