"""Copy a whole tree with its branches to a new tree of the caller's.

The tree is read as it is at one moment, and copied while nobody can see the copy. The last
transaction shows all of its branches at once: so a tree of many branches is refused. A request that
goes on with a copy which did not end begins it again.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.copied_trees import Branch, CopiedTree, Renaming, ends_of_shown
from forklore_service.domain.epochs import NO_EPOCH
from forklore_service.domain.ids import FIRST
from forklore_service.domain.model import Caller, Conversation, Entry, StoredEntry, Tip
from forklore_service.domain.tree import Group, Member
from forklore_service.errors import PayloadTooLargeError
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.cache import CachedConversation
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.copying import COPIED_BYTES_MAX, COPIED_MAX, portions
from forklore_service.usecases.branches.creation import Creation, Obstacle, PreparedCreation
from forklore_service.usecases.branches.staging import (
    STEP_WRITES_MAX,
    StagedTree,
    clear,
    find_begun,
    keys_of_begun,
    stage,
)
from forklore_service.usecases.shared.drafts import Batch, batch_actions
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import ConversationDetails, LookUp, look_up

BRANCHES_MAX = 30
"""Branches that a tree to copy has at most. One transaction shows them all, with three writes each.

A removed branch counts if others show entries of it, or were forked from it.
"""


def copy_tree(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    copy_id: str | None = None,
    idempotency_key: IdempotencyKey | None = None,
) -> ConversationDetails:
    """Make a tree that only the caller is a member of, as a copy of the whole tree of this one.

    copy_id: of its root; None: one is made. Return the copy of the conversation that is named.
    Raises NotFoundError, ForbiddenError if the caller is not a member, ConflictError if the id is
    in use, PayloadTooLargeError for more than BRANCHES_MAX, COPIED_MAX entries or COPIED_BYTES_MAX,
    IdempotentReplay for a replay.
    """
    creation = Creation[ConversationDetails](table, caller, idempotency_key)
    copying = _Copying(table, caller, conversation_id, copy_id, creation.once)
    for nonce in creation.attempts():
        creation.write(copying.prepare(nonce))
    if creation.answer is None:
        raise creation.id_conflict(copy_id)
    return creation.answer


class _Copying:
    """One copy, which is decided anew for each attempt."""

    def __init__(self, table: Table, caller: Caller, source_id: str, copy_id: str | None, once: Once) -> None:
        self._table = table
        self._caller = caller
        self._source_id = source_id
        self._copy_id = copy_id
        self._once = once

    def prepare(self, nonce: str) -> PreparedCreation[ConversationDetails] | Obstacle:
        table, caller = self._table, self._caller
        looked_up = self._look_up()
        source = looked_up.require(self._source_id, AccessLevel.READER)
        begun = self._begun(looked_up)
        if isinstance(begun, Obstacle):
            return begun
        tree = _read_tree(table, source.group)
        if tree is None or self._source_id not in tree.live_ids:  # or it was removed just now
            return Obstacle.CHANGED
        self._copy_id = copy_id = self._copy_id or table.mint_conversation()
        renaming = Renaming.of(
            tree,
            copy_id,
            caller.user_id,
            fresh=(table.mint_conversation() for _ in range(BRANCHES_MAX)),
            created_at=begun.created_at if begun else table.now(),
            by=1 + int(nonce, 16),
        )
        branches = [renaming.branch(one) for one in tree.branches]
        root = Conversation(copy_id, copy_id, renaming.created[source.group.group_id])
        staged = StagedTree(root, caller.user_id, 1, None, begun, is_whole=True)
        steps = _Steps(table, tree, renaming, root, branches, nonce)
        if not stage(table, staged, steps.all(begun=begun is not None), nonce=nonce):
            return Obstacle.CHANGED
        current = renaming.conversations[source.group.current]
        named = renaming.conversations[self._source_id]
        shown = next(one for one in branches if one.conversation.conversation_id == named)
        details = ConversationDetails(
            shown.conversation, shown.head, AccessLevel.OWNER, caller.user_id, is_current=named == current
        )
        writes = [
            *self._once.record(copy_id, named, details),
            *steps.opening(current),  # before the checks, as in a copy of one conversation
            *actions.member.copy(root, Member(caller.user_id, AccessLevel.OWNER, root.created_at)),
            actions.conversation.check_exists(source.group.group_id, self._source_id),
            actions.member.check(source.group.group_id, caller.user_id, AccessLevel.READER),
        ]
        cached = CachedConversation.of(shown.conversation, shown.head, tree_created_at=root.created_at)
        return PreparedCreation(writes, details, named, cached)

    def _look_up(self) -> LookUp:
        begun = keys_of_begun(self._copy_id) if self._copy_id else []
        extra_keys = [*begun, *self._once.keys]
        looked_up = look_up(self._table, self._source_id, caller=self._caller, extra_keys=extra_keys)
        self._once.raise_if_answered(looked_up.found)
        return looked_up

    def _begun(self, looked_up: LookUp) -> Group | Obstacle | None:
        if self._copy_id is None:
            return None
        now_s = self._table.now_s()
        return find_begun(looked_up.found, self._copy_id, is_child=False, is_whole=True, now_s=now_s)


def _read_tree(table: Table, group: Group) -> CopiedTree | None:
    """Return a tree as it is at one moment; None if it changes while it is read.

    group: GROUP, read before. If it and all HEADs are the same before and after, no branch, title
    or entry came or went in between, whatever is read there. Only what an erasure takes is not told
    by them: a later pass of it finds the copy.
    Raises PayloadTooLargeError.
    """
    group_id = group.group_id
    if group.conversations > BRANCHES_MAX:
        raise _too_many_branches()
    heads = table.read.heads(group_id).heads(group_id)
    conversations = list(table.read.whole_conversations(group_id))
    gone = list(table.read.remnants(group_id))
    contexts = list(table.read.all_contexts(group_id))
    named = [one.conversation_id for one in conversations] + [one.conversation_id for one in gone]
    paths = table.get(keys.path(group_id, one) for one in named)
    branches = [
        Branch(one, heads[one.conversation_id], paths.path(group_id, one.conversation_id))
        for one in conversations
        if one.conversation_id in heads
    ]
    ends = ends_of_shown(branches)
    remnants = [
        (one, paths.path(group_id, one.conversation_id)) for one in gone if one.conversation_id in ends
    ]
    entries: list[StoredEntry] = []
    size = 0
    for stored in table.read.entries(group_id):
        if stored.entry_id < ends.get(stored.entry.conversation_id, FIRST):
            entries.append(stored)
            size += stored.escaped_bytes
        if len(entries) > COPIED_MAX or size > COPIED_BYTES_MAX:
            raise PayloadTooLargeError(
                f"a copy of a tree holds at most {COPIED_MAX} entries and {COPIED_BYTES_MAX} bytes;"
                " export it, or copy a conversation"
            )
    tree = CopiedTree(group, branches, remnants, contexts, entries)
    now = table.get([keys.group(group_id)]).group(group_id)
    if now != group or table.read.heads(group_id).heads(group_id) != heads:
        return None
    has_all = len(branches) == len(heads) == group.conversations and ends.keys() <= set(tree.kept_ids)
    if not (has_all and group.current in tree.live_ids and tree.is_whole):
        return None
    if len(tree.kept_ids) + len(tree.lost_ids) > BRANCHES_MAX:
        raise _too_many_branches()
    return tree


def _too_many_branches() -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"a tree to copy has at most {BRANCHES_MAX} branches; export it, or copy a conversation"
    )


class _Steps(NamedTuple):
    """The steps of a copy. branches: those of the copy."""

    table: Table
    tree: CopiedTree
    renaming: Renaming
    root: Conversation
    branches: Sequence[Branch]
    nonce: str

    def all(self, *, begun: bool) -> Iterator[list[Action]]:
        """Yield the steps that give a tree that is being made all that nobody can see yet.

        begun: whether a request has begun to copy already. What it has written goes first: it may
        be of a tree that was another one then.
        """
        if begun:
            yield from clear(self.table, self.root.group_id)
        yield from _in_steps(self._places())
        for portion in portions(self.tree.entries):
            entries = self.table.with_bodies(self.tree.group.group_id, portion, linked=False)
            yield self._put([self.renaming.entry(entry) for entry in entries])

    def _places(self) -> Iterator[Action]:
        """Yield what says where the branches are, and what each client's context is."""
        for conversation, _, path in self.branches:
            yield from actions.conversation.place(conversation, path)
        for remnant, path in self.tree.remnants:
            of = self.root._replace(conversation_id=self.renaming.conversations[remnant.conversation_id])
            yield from actions.conversation.put_path(of, self.renaming.path(path))
        forgets = any(stored.entry.is_erased for stored in self.tree.entries)
        for conversation_id, client_id, context in self.tree.contexts:
            if conversation_id in self.tree.kept_ids:
                yield actions.context.put(
                    self.root.group_id,
                    self.renaming.conversations[conversation_id],
                    client_id,
                    self.renaming.context(context, forgets=forgets),
                )

    def _put(self, entries: list[Entry]) -> list[Action]:
        batch = Batch((), entries, Tip(FIRST), NO_EPOCH, Tip(entries[-1].entry_id), NO_EPOCH)
        return batch_actions(batch, group_id=self.root.group_id, nonce=self.nonce)

    def opening(self, current: str) -> list[Action]:
        """Return the actions that show all branches at once, and block the ids of removed ones."""
        tree_id, now_s = self.root.group_id, self.table.now_s()
        renamed = self.renaming.conversations
        live = [one.conversation for one in self.branches]
        lost = [renamed[one] for one in self.tree.lost_ids]
        gone = [self.renaming.remnant(one)._replace(nonce=self.nonce) for one, _ in self.tree.remnants]
        resting = [*(one.conversation_id for one in gone), *({tree_id} & {*lost})]
        return [
            *actions.group.open_copy(
                tree_id,
                owner=self.renaming.owner,
                conversations=len(live),
                promoted=None if current == tree_id else current,
                forked_at=max(one.created_at for one in live),
                nonce=self.nonce,
            ),
            *(
                one
                for conversation, head, _ in self.branches
                for one in actions.conversation.show(conversation, head)
            ),
            *(
                actions.conversation.claim_id(one, nonce=self.nonce, now_s=now_s)
                for one in live
                if not one.is_root
            ),
            *(actions.conversation.block_id(one, tree_id) for one in resting),
            *(actions.conversation.retire_id(one, now_s=now_s) for one in lost if one != tree_id),
            *map(actions.remnant.put_copy, gone),
        ]


def _in_steps(wanted: Iterator[Action]) -> Iterator[list[Action]]:
    """Yield the actions in lists that one step can hold each."""
    while some := list(islice(wanted, STEP_WRITES_MAX)):
        yield some
