"""Context: what CTX says of its client's own entries, and epochs that never fall along a view."""

from collections.abc import Iterator

from forklore.domain import ids, keys
from forklore.domain.keys import Key
from fsck.conversations import segments_backward
from fsck.facts import Ctx, Thought, Tree
from fsck.finding import Finding


def check(tree: Tree) -> Iterator[Finding]:
    """Yield what does not agree with the context entries of a tree."""
    own = {(c, client): some for c in tree.own for client, some in _by_client(tree, c).items()}
    for (conversation_id, client), thoughts in own.items():
        yield from _entries(tree, conversation_id, client, thoughts)
        ctx = tree.contexts.get((conversation_id, client))
        key = _key(tree, conversation_id, client)
        # An append to a tree whose HEADs are not closed yet is whole; after that, entries go first.
        if ctx is None:
            yield Finding(key, "missing_ctx", f"for {len(thoughts)} entries", 8, tree.group_id)
        elif tree.keeps_entries:
            expected = _expected(tree, conversation_id, client, thoughts)
            if ctx != expected:
                yield Finding(key, "wrong_ctx", f"{ctx}, and the entries say {expected}", 8, tree.group_id)
    if tree.keeps_entries:
        for conversation_id, client in tree.contexts.keys() - own.keys():
            key = _key(tree, conversation_id, client)
            yield Finding(key, "orphan_ctx", "without an entry", 8, tree.group_id)


def _key(tree: Tree, conversation_id: str, escaped_client: str) -> Key:
    return Key(tree.group_id, f"CTX#{conversation_id}#{escaped_client}")


def _by_client(tree: Tree, conversation_id: str) -> dict[str, list[Thought]]:
    """Return a conversation's own context, of each client apart, in order."""
    found: dict[str, list[Thought]] = {}
    for thought in tree.own_of(conversation_id).context:
        if thought.client_id is not None and thought.epoch is not None:
            found.setdefault(keys.escape(thought.client_id), []).append(thought)
    return found


def _entries(tree: Tree, conversation_id: str, client: str, thoughts: list[Thought]) -> Iterator[Finding]:
    conversation = tree.conversations.get(conversation_id)
    bound_to = conversation.client_id if conversation else None
    if bound_to is not None and keys.escape(bound_to) != client:
        key = keys.entry(tree.group_id, ids.EntryId(thoughts[0].entry_id))
        detail = "the conversation's context is another client's"
        yield Finding(key, "foreign_context", detail, 8, tree.group_id)
    latest = _inherited(tree, conversation_id, client) if tree.keeps_entries else 0
    for thought in thoughts:
        if (thought.epoch or 0) < latest:
            key = keys.entry(tree.group_id, ids.EntryId(thought.entry_id))
            detail = f"{thought.epoch} after {latest}"
            yield Finding(key, "fallen_epoch", detail, 8, tree.group_id)
        latest = max(latest, thought.epoch or 0)


def _inherited(tree: Tree, conversation_id: str, client: str) -> int:
    """Return the latest epoch of a client that a conversation's path shows; 0 for none."""
    return next((t.epoch or 0 for t in _shown_backward(tree, conversation_id, client)), 0)


def _shown_backward(tree: Tree, conversation_id: str, client: str) -> Iterator[Thought]:
    """Yield the client's context that the conversation's path shows, the latest first."""
    for owner, stop in segments_backward(tree.paths.get(conversation_id, b"")):
        for thought in reversed(tree.own_of(owner).context):
            if thought.entry_id < stop and thought.client_id and keys.escape(thought.client_id) == client:
                yield thought


def _expected(tree: Tree, conversation_id: str, client: str, thoughts: list[Thought]) -> Ctx:
    """Return the CTX that the entries make."""
    epoch = thoughts[-1].epoch or 0
    own = [thought.entry_id for thought in thoughts if thought.epoch == epoch]
    first = own[0]
    if thoughts[0].epoch == epoch:
        for thought in _shown_backward(tree, conversation_id, client):
            if thought.epoch != epoch:
                break
            first = thought.entry_id
    return Ctx(epoch, first, thoughts[-1].entry_id, len(own))
