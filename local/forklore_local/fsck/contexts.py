"""Context: CTX agrees with its client's own entries, and epochs never go down along a view."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain

from forklore_local.fsck.conversations import segments_backward
from forklore_local.fsck.facts import ContextEntry, Ctx, Tree
from forklore_local.fsck.finding import Finding
from forklore_service.domain import ids, keys
from forklore_service.domain.epochs import NO_ELEMENTS, joined
from forklore_service.domain.keys import Key

OwnContext = dict[tuple[str, str], list[ContextEntry]]
"""Own context entries by conversation and escaped client, in order."""


def check(tree: Tree) -> Iterator[Finding]:
    """Yield what does not agree with the context entries of a tree.

    A copy of a tree gets what tells of contexts before the entries, and loses it after them.
    """
    if tree.was_never_live:
        return
    own = _own(tree)
    for (conversation_id, client), entries in own.items():
        yield from _bound(tree, conversation_id, client, entries)
        ctx = tree.contexts.get((conversation_id, client))
        key = _key(tree, conversation_id, client)
        if ctx is None:
            yield Finding(key, "missing_ctx", f"for {len(entries)} entries", 8, tree.group_id)
        elif tree.keeps_entries and conversation_id in tree.conversations:
            yield from _epochs(tree, own, conversation_id, client)
            expected = _expected(tree, own, conversation_id, client, ctx)
            if ctx != expected:
                yield Finding(key, "wrong_ctx", f"{ctx}, but the entries say {expected}", 8, tree.group_id)
    if tree.keeps_entries:
        for conversation_id, client in tree.contexts.keys() - own.keys():
            if conversation_id in tree.remnants:
                continue  # it stays as it was, although a worker removes entries
            key = _key(tree, conversation_id, client)
            yield Finding(key, "orphan_ctx", "the client has no entry here", 8, tree.group_id)


def _key(tree: Tree, conversation_id: str, escaped_client: str) -> Key:
    return Key(tree.group_id, f"CTX#{conversation_id}#{escaped_client}")


def _own(tree: Tree) -> OwnContext:
    found: OwnContext = {}
    for conversation_id, own in tree.own.items():
        for entry in own.context:
            if entry.client_id is not None and entry.epoch is not None:
                found.setdefault((conversation_id, keys.escape(entry.client_id)), []).append(entry)
    return found


def _bound(tree: Tree, conversation_id: str, client: str, entries: list[ContextEntry]) -> Iterator[Finding]:
    conversation = tree.conversations.get(conversation_id)
    bound_to = conversation.client_id if conversation else None
    if bound_to is not None and keys.escape(bound_to) != client:
        key = keys.entry(tree.group_id, ids.EntryId(entries[0].entry_id))
        detail = "the conversation's context belongs to another client"
        yield Finding(key, "foreign_context", detail, 8, tree.group_id)


def _epochs(tree: Tree, own: OwnContext, conversation_id: str, client: str) -> Iterator[Finding]:
    latest = next((shown[-1].epoch or 0 for shown in _inherited(tree, own, conversation_id, client)), 0)
    for entry in own[conversation_id, client]:
        if (entry.epoch or 0) < latest:
            key = keys.entry(tree.group_id, ids.EntryId(entry.entry_id))
            yield Finding(key, "fallen_epoch", f"{entry.epoch} after {latest}", 8, tree.group_id)
        latest = max(latest, entry.epoch or 0)


def _inherited(
    tree: Tree, own: OwnContext, conversation_id: str, client: str
) -> Iterator[list[ContextEntry]]:
    """Yield the client's context that a path shows: a list for each segment, the nearest first.

    Segments without such an entry are left out.
    """
    for owner, stop in segments_backward(tree.paths.get(conversation_id, b"")):
        entries = own.get((owner, client), [])
        end = bisect_left(entries, stop, key=lambda entry: entry.entry_id)
        if end:
            yield entries[:end]


def _expected(tree: Tree, own: OwnContext, conversation_id: str, client: str, ctx: Ctx) -> Ctx:
    """Return the CTX that the client's entries imply. ctx: as it is; it may have no digest."""
    entries = own[conversation_id, client]
    epoch = entries[-1].epoch or 0
    whole = [entry for entry in entries if entry.epoch == epoch]
    count = len(whole)
    first, begins = _first(entries, epoch)
    if begins:
        for shown in _inherited(tree, own, conversation_id, client):
            if shown[-1].epoch != epoch:
                break
            first, begins = _first(shown, epoch)
            whole = [entry for entry in shown if entry.epoch == epoch] + whole
            if not begins:
                break
    digest = ctx.digest
    hashes = [entry.hashes for entry in whole if entry.hashes is not None]
    if digest is not None and len(hashes) == len(whole):
        digest = joined(NO_ELEMENTS, chain.from_iterable(hashes))
    return Ctx(epoch, first, entries[-1].entry_id, count, digest)


def _first(entries: list[ContextEntry], epoch: int) -> tuple[str, bool]:
    """Return the first entry of an epoch, and whether it is the first of all the entries."""
    at = bisect_left(entries, epoch, key=lambda entry: entry.epoch or 0)
    at = min(at, len(entries) - 1)  # The bound matters if epochs go down: see `_epochs`.
    return entries[at].entry_id, at == 0
