"""A copy of a whole tree: what its items say under the ids of the copy.

An entry id is moved by one number for all entries. So their order stays, and with it every path,
every turn and what an entry names as shown before it. Nothing here reads the table.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.ancestry import Path, Segment
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import (
    Conversation,
    Entry,
    EntryRef,
    Head,
    LastEntries,
    Metrics,
    StoredEntry,
    Turn,
)
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import ClientContext, ForkRecord, Group


class Branch(NamedTuple):
    """A live conversation of a tree."""

    conversation: Conversation
    head: Head
    path: Path


class CopiedTree(NamedTuple):
    """A tree as it was at one moment, as far as its copy has it.

    remnants: the removed branches of which a live one shows entries, with their paths. contexts: by
    conversation and client. entries: those that a live branch shows, in order.
    """

    group: Group
    branches: Sequence[Branch]
    remnants: Sequence[tuple[Remnant, Path]]
    contexts: Sequence[tuple[str, str, ClientContext]]
    entries: Sequence[StoredEntry]

    @property
    def live_ids(self) -> list[str]:
        """The live conversations."""
        return [branch.conversation.conversation_id for branch in self.branches]

    @property
    def kept_ids(self) -> list[str]:
        """The conversations that entries of the copy may belong to."""
        return [*self.live_ids, *(remnant.conversation_id for remnant, _ in self.remnants)]

    @property
    def lost_ids(self) -> list[str]:
        """The removed branches that a fork point or the tree names, and of which nothing stays."""
        points = (branch.conversation.fork_point for branch in self.branches)
        named = [self.group.group_id, *(point.conversation_id for point in points if point)]
        kept = set(self.kept_ids)
        return [one for one in dict.fromkeys(named) if one not in kept]

    @property
    def is_whole(self) -> bool:
        """Whether all is there that the HEADs and the entries name. A read may come too early."""
        there = {stored.entry_id for stored in self.entries}
        own: dict[str, int] = {}
        for stored in self.entries:
            of = stored.entry.conversation_id
            own[of] = own.get(of, 0) + 1
        heads = {one.conversation.conversation_id: one.head for one in self.branches}
        lasts = [head.lasts for head in heads.values()] + [stored.entry.after for stored in self.entries]
        named = {one for pair in lasts for one in pair if one is not None}
        return named <= there and all(own.get(of, 0) == head.own_entries for of, head in heads.items())


def ends_of_shown(branches: Iterable[Branch]) -> dict[str, EntryId]:
    """Return for each conversation the first position of its own that no live branch shows.

    >>> fork = Branch(Conversation("c", "g", ""), Head("ann", ""), (Segment("a", EntryId("d")),))
    >>> ends_of_shown([fork])["a"]
    'd'
    """
    ends: dict[str, EntryId] = {}
    for conversation, head, path in branches:
        own = ids.next_id(head.last) if head.own_entries else FIRST
        for owner, stop in (*path, Segment(conversation.conversation_id, own)):
            ends[owner] = max(ends.get(owner, FIRST), stop)
    return ends


class Renaming(NamedTuple):
    """How the ids and times of a tree become those of its copy.

    group_id: of the copy. owner: of the copy. conversations: their new ids, by the old ones.
    created: when each of those was made that the copy has, by its old id. by: how far entry ids are
    moved.
    """

    group_id: str
    owner: str
    conversations: Mapping[str, str]
    created: Mapping[str, str]
    by: int

    @classmethod
    def of(
        cls, tree: CopiedTree, group_id: str, owner: str, *, fresh: Iterable[str], created_at: str, by: int
    ) -> "Renaming":
        """Return the renaming of a tree. fresh: new ids, as many as are needed.

        Each live branch is a millisecond younger than the one before it, the root the oldest.
        """
        root = tree.group.group_id
        made = [one.conversation for one in tree.branches]
        order = sorted(ListKey(one.created_at, one.conversation_id) for one in made if not one.is_root)
        began = ids.milliseconds(created_at)
        times = {of.conversation_id: ids.timestamp(began + at) for at, of in enumerate(order, start=1)}
        named = [one for one in [*tree.kept_ids, *tree.lost_ids] if one != root]
        return cls(
            group_id,
            owner,
            {root: group_id, **dict(zip(named, fresh, strict=False))},
            {**dict.fromkeys([root, *tree.kept_ids], created_at), **times},
            by,
        )

    def moved(self, entry_id: EntryId) -> EntryId:
        """Return the new id of an entry, or a position. FIRST stays: nothing comes before it."""
        return FIRST if entry_id == FIRST else ids.moved_id(entry_id, self.by)

    def _maybe(self, entry_id: EntryId | None) -> EntryId | None:
        return None if entry_id is None else self.moved(entry_id)

    def _lasts(self, lasts: LastEntries) -> LastEntries:
        return LastEntries(*map(self._maybe, lasts))

    def path(self, path: Path) -> Path:
        return tuple(Segment(self.conversations[of], self.moved(stop)) for of, stop in path)

    def branch(self, branch: Branch) -> Branch:
        """Return a branch of the copy. Nothing has started it, and no answer is begun in it."""
        of, point, head = branch.conversation, branch.conversation.fork_point, branch.head
        conversation = of._replace(
            conversation_id=self.conversations[of.conversation_id],
            group_id=self.group_id,
            created_at=self.created[of.conversation_id],
            fork_point=point
            and point._replace(
                conversation_id=self.conversations[point.conversation_id],
                entry_id=self._maybe(point.entry_id),
            ),
            started_by=None,
        )
        copied = head._replace(
            owner=self.owner,
            changed_at=conversation.created_at,
            floor=self.moved(head.floor),
            first=self._maybe(head.first),
            last=self.moved(head.last),
            lasts=self._lasts(head.lasts),
            metrics=Metrics(head.metrics.entries),
            promoted_at=None,
            answer=None,
        )
        return Branch(conversation, copied, self.path(branch.path))

    def remnant(self, remnant: Remnant) -> Remnant:
        record = remnant.record
        of = remnant.conversation_id
        return remnant._replace(
            group_id=self.group_id,
            conversation_id=self.conversations[of],
            answer_id=None,
            in_trash=False,
            successor=None,
            record=record
            and ForkRecord(
                self.conversations[record.owner],
                self.moved(record.stop),
                self.created[of],
                self.conversations[of],
                is_removed=True,
            ),
        )

    def context(self, context: ClientContext, *, forgets: bool) -> ClientContext:
        """Return a client's context. forgets: whether its digest may be of what was erased."""
        epoch = context.epoch
        digest = None if forgets else epoch.digest
        return context._replace(
            epoch=Epoch(epoch.number, self._maybe(epoch.first), digest), last=self.moved(context.last)
        )

    def entry(self, entry: Entry) -> Entry:
        """Return the copy of an entry. It names its original and has no usage."""
        turn = entry.turn
        return entry._replace(
            entry_id=self.moved(entry.entry_id),
            conversation_id=self.conversations[entry.conversation_id],
            usage=None,
            after=self._lasts(entry.after),
            turn=turn
            and Turn(
                self.moved(turn.first),
                self.moved(turn.last),
                self._lasts(turn.before),
                self._lasts(turn.after),
            ),
            merged_from=self._merged(entry.merged_from),
            copied_from=EntryRef(entry.conversation_id, entry.entry_id),
        )

    def _merged(self, of: EntryRef | None) -> EntryRef | None:
        """Return what an entry sums up; None if it names a branch that the copy does not have."""
        if of is None or of.conversation_id not in self.created:
            return None
        return EntryRef(self.conversations[of.conversation_id], self._maybe(of.entry_id))
