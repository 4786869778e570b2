"""Keys of entries: each key has its KEY item, which names the one entry that has it."""

from collections.abc import Iterator

from forklore_local.fsck.facts import Tree
from forklore_local.fsck.finding import Finding
from forklore_service.domain import keys


def check(tree: Tree) -> Iterator[Finding]:
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
