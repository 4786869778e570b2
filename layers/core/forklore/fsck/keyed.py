"""Keys of entries: each key has its KEY item, which names the one entry that has it."""

from collections.abc import Iterator

from forklore.domain import keys
from forklore.fsck.facts import Tree
from forklore.fsck.finding import Finding


def check(tree: Tree) -> Iterator[Finding]:
    """Yield the KEY items of open conversations that do not agree with their entries.

    A conversation that is being deleted loses its entries and these items one by one.
    """
    for conversation_id in tree.heads:
        own = tree.own_of(conversation_id).keys
        for text, entry_id in own.items():
            named = tree.keyed.get((conversation_id, text))
            key = keys.entry_key(tree.group_id, conversation_id, text)
            if named is None:
                yield Finding(key, "missing_key", f"{entry_id} has this key", None, tree.group_id)
            elif named != entry_id:
                yield Finding(key, "wrong_key", f"{named}, but {entry_id} has this key", None, tree.group_id)
    for (conversation_id, text), named in tree.keyed.items():
        is_gone = tree.keeps_rest and _is_unknown(tree, conversation_id)
        is_unused = conversation_id in tree.heads and text not in tree.own_of(conversation_id).keys
        if is_gone or is_unused:
            key = keys.entry_key(tree.group_id, conversation_id, text)
            yield Finding(key, "orphan_key", f"{named} does not have this key", None, tree.group_id)


def _is_unknown(tree: Tree, conversation_id: str) -> bool:
    """Tell whether nothing of a conversation is in the tree but its keys."""
    return all(place.conversation_id != conversation_id for place in tree.listed)
