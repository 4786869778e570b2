"""Vectors of entries: each is of something that is said and not erased."""

from collections.abc import Iterator

from forklore_local.fsck.facts import Tree
from forklore_local.fsck.finding import Finding
from forklore_service.domain import keys
from forklore_service.domain.ids import EntryId

RULE = 22
"""A vector is of a history entry that is there and has its text."""


def check(tree: Tree) -> Iterator[Finding]:
    """Yield where vectors do not agree with the entries of a tree, or with each other.

    A worker that prunes a branch removes vectors before entries.
    """
    assert tree.group is not None
    if not tree.vectors or not tree.keeps_entries:
        return
    if not tree.group.embedded:
        key = keys.group(tree.group_id)
        yield Finding(key, "wrong_embedded", "entries have vectors", RULE, tree.group_id)
    lengths: dict[str, int] = {}
    for (conversation_id, entry_id), pieces in sorted(tree.vectors.items()):
        first = keys.vector(tree.group_id, conversation_id, EntryId(entry_id), min(pieces))
        if not tree.own_of(conversation_id).has_history(entry_id):
            yield Finding(first, "orphan_vec", "its tree has no such history", RULE, tree.group_id)
        elif entry_id in tree.erased:
            yield Finding(first, "erased_vec", "the entry was erased", RULE, tree.group_id)
        for model, size, shelf in pieces.values():
            if shelf not in (None, tree.group.shelf):
                yield Finding(first, "stray_vec", "its tree is on another one", RULE, tree.group_id)
            if size and size != lengths.setdefault(model, size):
                yield Finding(first, "wrong_vec", "it is as long as no other one", RULE, tree.group_id)
