"""Copy a conversation to a new tree of the caller's.

A reader cannot fork, because forks belong to everybody who shares the tree. A short copy is one
transaction. A longer one is staged in a tree that nobody can see until all entries are copied.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, takewhile
from typing import NamedTuple

from forklore_service.domain import content, ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import view_of
from forklore_service.domain.epochs import NO_EPOCH
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller, Conversation, Description, Head, Metrics, StoredEntry, Tip
from forklore_service.domain.tree import Group, Member
from forklore_service.errors import PayloadTooLargeError
from forklore_service.limits import packs
from forklore_service.storage import actions, bodies
from forklore_service.storage.actions import Action
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.creation import Creation, Obstacle, PreparedCreation
from forklore_service.usecases.branches.roots import cache_entry_of_root
from forklore_service.usecases.branches.staging import (
    StagedTree,
    clear_entries,
    find_begun,
    keys_of_begun,
    stage,
)
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.copied_entries import Originals, copy_of, entry_ids, pages, shown_entry
from forklore_service.usecases.shared.drafts import (
    OTHER_WRITES_MAX,
    TRANSACTION_BYTES_MAX,
    TRANSACTION_WRITES_MAX,
    batch_actions,
    mint_batch,
)
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import (
    ConversationDetails,
    LoadedConversation,
    LookUp,
    TreeExtras,
    look_up,
)

COPIED_MAX = 1_000
"""Entries that a copy holds at most."""
PAGE_ENTRIES = COPIED_MAX + 1
"""Entries to read at once: enough to see that there are too many."""
COPIED_BYTES_MAX = 50_000_000
"""Bytes of content, as an answer escapes them, that one request can copy in its time."""
PORTION_WRITES_MAX = TRANSACTION_WRITES_MAX - OTHER_WRITES_MAX
"""Entries and chunks that one transaction copies."""


class Copy(NamedTuple):
    """What to copy. copy_id None: an id is made. title None: the source's.

    up_to: the last entry to copy; None: all that the source shows.
    """

    source_id: str
    copy_id: str | None = None
    title: str | None = None
    up_to: str | None = None


def copy_conversation(
    table: Table, *, caller: Caller, request: Copy, idempotency_key: IdempotencyKey | None = None
) -> ConversationDetails:
    """Make a tree that only the caller is a member of, with copies of the source's history.

    Raises NotFoundError, ForbiddenError if the caller is not a member, ConflictError if the id is
    in use, ValidationError if the source does not show `up_to`, PayloadTooLargeError for more than
    COPIED_MAX entries or COPIED_BYTES_MAX, IdempotentReplay for a replay.
    """
    creation = Creation[ConversationDetails](table, caller, idempotency_key)
    copying = _Copying(table, caller, request, creation.once)
    for nonce in creation.attempts():
        creation.write(copying.prepare(nonce))
    if creation.answer is None:
        raise creation.id_conflict(request.copy_id)
    return creation.answer


class _Copying:
    """One copy, whose actions are decided anew for each attempt."""

    def __init__(self, table: Table, caller: Caller, request: Copy, once: Once) -> None:
        self._table = table
        self._caller = caller
        self._request = request
        self._once = once
        self._copy_id = request.copy_id

    def prepare(self, nonce: str) -> PreparedCreation[ConversationDetails] | Obstacle:
        request, table = self._request, self._table
        looked_up = self._look_up()
        source = looked_up.require(request.source_id, AccessLevel.READER)
        wanted = self._wanted(source, looked_up)
        begun = self._begun(looked_up)
        if isinstance(begun, Obstacle):
            return begun
        originals = self._read(source, wanted)
        self._copy_id = self._copy_id or table.mint_conversation()
        root = self._root(self._copy_id, source.conversation, begun)
        head = self._head(source, originals, root)
        copies = _Copies(table, self._caller, root, source.group.group_id, nonce)
        if begun is None and len(list(portions(originals))) <= 1:
            copied = copies.put(originals) if originals else []
            head = copies.head_over(head, len(originals))
            made = [*actions.group.put_root(root, head, nonce=nonce, now_s=table.now_s()), *copied]
        else:
            tree = StagedTree(root, head.owner, 1, None, begun)
            if not stage(table, tree, copies.steps(originals, begun=begun is not None), nonce=nonce):
                return Obstacle.CHANGED
            head = copies.head_over(head, len(originals))
            owner = Member(head.owner, AccessLevel.OWNER, root.created_at)
            made = [
                *actions.group.open_tree(root, head, members=1, nonce=nonce),
                *actions.member.copy(root, owner),
            ]
        details = ConversationDetails(root, head, AccessLevel.OWNER, head.owner, is_current=True)
        source_group = source.group.group_id
        writes = [
            *self._once.record(root.group_id, root.conversation_id, details),
            *made,  # before the checks: a request that is sent twice recognises its own tree
            actions.conversation.check_exists(source_group, request.source_id),
            actions.member.check(source_group, self._caller.user_id, AccessLevel.READER),
        ]
        cached = cache_entry_of_root(self._caller, root, head, NO_EPOCH)
        return PreparedCreation(writes, details, root.conversation_id, cached)

    def _look_up(self) -> LookUp:
        request = self._request
        begun = keys_of_begun(self._copy_id) if self._copy_id else []
        looked_up = look_up(
            self._table,
            request.source_id,
            caller=self._caller,
            extra_keys=[*begun, *self._once.keys],
            extras=TreeExtras(entries=entry_ids(request.up_to)),
        )
        self._once.raise_if_answered(looked_up.found)
        return looked_up

    def _begun(self, looked_up: LookUp) -> Group | Obstacle | None:
        if self._copy_id is None:
            return None
        return find_begun(looked_up.found, self._copy_id, is_child=False, now_s=self._table.now_s())

    def _wanted(self, source: LoadedConversation, looked_up: LookUp) -> Originals:
        up_to, view, group_id = self._request.up_to, source.view, source.group.group_id
        whole = Originals.of(view, source.head)
        if up_to is None:
            return whole
        found = looked_up.found
        return whole.up_to(shown_entry(found, self._caller, group_id, view, up_to, field="upToEntryId"))

    def _read(self, source: LoadedConversation, wanted: Originals) -> list[StoredEntry]:
        """Return the entries to copy, in order, without the content that lies in chunks."""
        found: list[StoredEntry] = []
        for page in pages(self._table, source.group.group_id, wanted, limit=PAGE_ENTRIES):
            found += page
            if len(found) > COPIED_MAX or sum(s.escaped_bytes for s in found) > COPIED_BYTES_MAX:
                raise PayloadTooLargeError(
                    f"a copy holds at most {COPIED_MAX} entries and {COPIED_BYTES_MAX} bytes;"
                    " copy a part, with upToEntryId"
                )
        return found

    def _root(self, copy_id: str, source: Conversation, begun: Group | None) -> Conversation:
        return Conversation(
            conversation_id=copy_id,
            group_id=copy_id,
            created_at=begun.created_at if begun else self._table.now(),
            described=Description(title=self._request.title),
            agent_id=source.agent_id,
            client_id=self._caller.client_id,
        ).titled(source.title)

    def _head(self, source: LoadedConversation, originals: Sequence[StoredEntry], root: Conversation) -> Head:
        """Return the HEAD of the copy as it is without entries."""
        preview = source.head.preview if self._request.up_to is None else None
        if preview is None:
            text = view_pages.first_preview(self._table, source.group.group_id, originals[::-1])
            preview = text.beginning(content.PREVIEW_CHARACTERS) if text else None
        return Head(
            owner=self._caller.user_id,
            changed_at=root.created_at,
            untitled=root.described.title is None,
            preview=preview,
        )


class _Copies:
    """The entries of a copy, as they are written one portion after the other.

    first: the first entry; None as long as there is none. tip: where the next one goes.
    """

    def __init__(
        self, table: Table, caller: Caller, root: Conversation, source_group: str, nonce: str
    ) -> None:
        self._table = table
        self._caller = caller
        self._root = root
        self._source_group = source_group
        self._nonce = nonce
        self.first: EntryId | None = None
        self.tip = Tip(ids.FIRST)

    def put(self, originals: Sequence[StoredEntry]) -> list[Action]:
        """Return the actions that put copies of these entries behind those that are there."""
        entries = self._table.with_bodies(self._source_group, originals, linked=False)
        batch = mint_batch(
            self._table,
            [copy_of(entry) for entry in entries],
            conversation_id=self._root.conversation_id,
            caller=self._caller,
            after=self.tip,
            epoch=NO_EPOCH,
            linked=False,
        )
        self.first, self.tip = self.first or batch.first, batch.tip
        return batch_actions(batch, group_id=self._root.group_id, nonce=self._nonce)

    def steps(self, originals: Sequence[StoredEntry], *, begun: bool) -> Iterator[list[Action]]:
        """Yield the steps that give a tree that is being made these copies and no other entries.

        begun: whether a request has begun to copy already. What it has copied of them stays.
        """
        there = self._there() if begun else []
        kept = _copied(there, originals)
        yield from clear_entries(self._table, self._root.group_id, [one.layout for one in there[kept:]])
        if kept:
            last = there[kept - 1].entry
            self.first, self.tip = there[0].entry_id, Tip(last.entry_id, last.lasts_after)
        for portion in portions(originals[kept:]):
            yield self.put(portion)

    def _there(self) -> list[StoredEntry]:
        view = view_of(self._root.conversation_id, ())
        return list(
            chain.from_iterable(pages(self._table, self._root.group_id, Originals(view), limit=PAGE_ENTRIES))
        )

    def head_over(self, head: Head, count: int) -> Head:
        """Return the HEAD of the copy with its entries. count: how many there are."""
        return head._replace(
            first=self.first,
            last=self.tip.last,
            lasts=self.tip.lasts,
            history=count,
            metrics=Metrics(count),
        )


def _copied(there: Sequence[StoredEntry], originals: Sequence[StoredEntry]) -> int:
    """Return how many of the first entries that are there are copies of the first originals."""
    pairs = zip(there, originals, strict=False)
    wanted = (
        copy.entry.copied_from == (original.entry.conversation_id, original.entry_id)
        for copy, original in pairs
    )
    return sum(takewhile(bool, wanted))


def portions(originals: Sequence[StoredEntry]) -> Iterator[list[StoredEntry]]:
    """Return the entries in groups that one transaction can copy, each as large as possible."""
    most = PORTION_WRITES_MAX, TRANSACTION_BYTES_MAX
    return packs(originals, most, lambda one: (_writes(one), bodies.stored_bytes(one)))


def _writes(one: StoredEntry) -> int:
    """Return how many actions copy an entry, with its chunks, its key and what it names."""
    return 1 + one.chunks + (one.entry.key is not None) + 2 * len(one.entry.attachments)
