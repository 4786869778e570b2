"""Which calls make conversations: they are cut into batches of entries. Nothing is sent here.

`plan_trees` says which conversations and forks a tree of another system becomes, `plan_forks` those
of forklore's own lines.
"""

import heapq
import uuid
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

from forklore.client import jsontext
from forklore.client.generated.limits import ENTRY_BYTES_MAX, escaped_size, packs
from forklore.importing.foreign_trees import MalformedFileError
from forklore.importing.there import Own

BATCH_ENTRIES_MAX = 44  # of one append, each with a key
_NAMESPACE = uuid.UUID("5f1b7a5e-3c5e-5d0e-9d5a-7f2a6f6b6c11")


@dataclass(frozen=True, slots=True)
class PlannedAt:
    """An entry of a plan: the number of its conversation, and its index there."""

    conversation: int
    index: int


@dataclass(frozen=True, slots=True)
class PlannedFork:
    """Where a conversation forks.

    source: the number of the conversation that is forked. at: an entry that it shows, and position
    (`before` or `after`); at None: it inherits nothing (`blank`). `child`: it is no fork, but
    started by the entry. up_to: the last entry that it inherits, where an agent's context stands
    there: one append must end with it, because no fork comes between a message and the context that
    is appended with it.
    """

    source: int
    at: PlannedAt | None
    position: str = "after"
    up_to: PlannedAt | None = None


@dataclass(frozen=True, slots=True)
class PlannedEntry:
    """An entry to append. body: its fields without the key; the content may be written already.
    size: of its content, as escaped.

    merged_from: the number of the conversation that it sums up. merged_up_to: an entry of that.
    entry_id: which entry it is, if it is there. is_other: it is there, and not of the source.
    notes: what to note on it, each the body of an `addNote`.
    """

    key: str
    body: Mapping[str, Any]
    size: int
    merged_from: int | None = None
    merged_up_to: PlannedAt | None = None
    entry_id: str = ""
    is_other: bool = False
    notes: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class PlannedConversation:
    """A conversation to make. fork: None for the root. settings: title, tags, metadata, agentId."""

    conversation_id: str
    fork: PlannedFork | None
    entries: tuple[PlannedEntry, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """The entries from `start` to before `end` of a conversation, for one append.

    needs: the numbers of the batches that must be done before.
    """

    conversation: int
    start: int
    end: int
    needs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A fork tree to make.

    conversations: the root first, each after the one that it forks. batches: each after those that
    it needs, so they can be sent one after the other. current: the number of the branch that
    becomes the current one. namespace: of the ids that are made of keys. kind: the format, if the
    tree is of another system. is_archived: the user has archived the tree there. digest: of all
    that it was made of, and of who imports. is_back: the session has ended in another conversation
    before, and ends in one now that was there.
    """

    tree_id: str
    namespace: uuid.UUID
    conversations: tuple[PlannedConversation, ...]
    batches: tuple[PlannedBatch, ...]
    current: int
    kind: str = ""
    is_archived: bool = False
    digest: str = ""
    session: str = ""
    is_promoted: bool = True
    is_back: bool = False
    own: Mapping[int, Sequence[Own]] = field(default_factory=dict)
    ends: PlannedAt = PlannedAt(0, 0)
    end_line: int | None = None
    names: frozenset[str] = frozenset()
    numbers: Sequence[tuple[int, PlannedAt]] = ()

    @property
    def title(self) -> str:
        """What the root is called; the tree's id if it has no title."""
        title = self.conversations[0].settings.get("title")
        return title if isinstance(title, str) else self.tree_id

    @property
    def entries(self) -> int:
        """How many entries the source has."""
        return sum(not one.is_other for conversation in self.conversations for one in conversation.entries)

    def settings_of(self, number: int, *, is_whole: bool) -> Mapping[str, Any]:
        """Return the settings of a conversation.

        is_whole: the root tells the digest, too; of a session the conversation where it ends.
        """
        settings = self.conversations[number].settings
        if number != (self.told_in if self.session else 0) or not (is_whole and self.digest):
            return settings
        told = {"sessions": {self.session: self.told}} if self.session else {"digest": self.digest}
        source = {**settings["metadata"]["source"], **told}
        return {**settings, "metadata": {**settings["metadata"], "source": source}}

    @property
    def told_in(self) -> int:
        """The number of the conversation that is the session: where it ends."""
        return self.ends.conversation if self.end_line is None else self.end_line

    @property
    def told(self) -> dict[str, Any]:
        """What is told of a session where it ends: its last entry, and how many it has."""
        last = self.conversations[self.ends.conversation].entries[self.ends.index].key
        return {"digest": self.digest, "last": last, "entries": self.entries}

    def line_id(self, key: str) -> str:
        """Return the id of a conversation whose first own message has this key."""
        return str(uuid.uuid5(self.namespace, f"line {key}"))


def namespace_of(*, owner: str, kind: str, tree_id: str, again: str = "") -> uuid.UUID:
    """Return the namespace of a tree's ids.

    owner: who imports; the same user of the same service must always be named alike. again: any
    text, to import the same once more, beside what was imported before.
    """
    return uuid.uuid5(
        _NAMESPACE, jsontext.write([owner, kind, tree_id.encode(errors="replace").decode(), again])
    )


def planned(
    tree_id: str,
    namespace: uuid.UUID,
    conversations: Sequence[PlannedConversation],
    *,
    current: int,
    begins_empty: bool = False,
) -> Plan:
    """Return the plan of these conversations, cut into batches.

    begins_empty: the root is made before its first entry.
    Raises MalformedFileError if they need each other in a circle.
    """
    ends = {conversation.fork.up_to for conversation in conversations if conversation.fork}
    batches: list[PlannedBatch] = []
    first_of: list[int] = []
    for number, conversation in enumerate(conversations):
        first_of.append(len(batches))
        kept = {place.index for place in ends if place is not None and place.conversation == number}
        mentions_itself = bool(conversation.entries) and conversation.entries[0].merged_from == number
        if mentions_itself or (begins_empty and number == 0):
            batches.append(PlannedBatch(number, 0, 0, ()))
        batches += [PlannedBatch(number, start, end, ()) for start, end in _cuts(conversation.entries, kept)]
    holding = _holding(batches)
    conversations = [_anchored(conversation, holding) for conversation in conversations]
    needs = _needs(conversations, batches, first_of, holding)
    order = _order(needs)
    if order is None:
        raise MalformedFileError(f"tree {tree_id}: its merges mention each other in a circle")
    number_of = {old: new for new, old in enumerate(order)}
    for number, need in _siblings_first(conversations, first_of, holding):
        if number_of[need] < number_of[number]:  # a merge may need them the other way round
            needs[number].add(need)
    return Plan(
        tree_id,
        namespace,
        tuple(conversations),
        tuple(
            replace(batches[old], needs=tuple(sorted(number_of[need] for need in needs[old])))
            for old in order
        ),
        current,
    )


def _order(needs: Sequence[set[int]]) -> list[int] | None:
    """Return the batches, each after those that it needs, else as they stand; None in a circle."""
    sorter = TopologicalSorter(dict(enumerate(needs)))
    try:
        sorter.prepare()
    except CycleError:
        return None
    ready: list[int] = []
    order: list[int] = []
    while sorter.is_active():
        for number in sorter.get_ready():
            heapq.heappush(ready, number)
        order.append(heapq.heappop(ready))
        sorter.done(order[-1])
    return order


def entry_of(
    key: str,
    body: Mapping[str, Any],
    *,
    merged_from: int | None = None,
    merged_up_to: PlannedAt | None = None,
) -> PlannedEntry:
    """Return an entry with the size of its content and its metadata."""
    size = escaped_size(jsontext.write([body["content"], body.get("metadata")]))
    return PlannedEntry(key, body, size, merged_from, merged_up_to)


def _cuts(entries: Sequence[PlannedEntry], ends: AbstractSet[int]) -> list[tuple[int, int]]:
    """Return the first and the end of each batch. The entries in `ends` end one.

    An entry that mentions another branch begins one. So a batch never has to wait for another one
    that waits for its beginning. What stands in the context behind a message is in the batch of the
    message, if there is room: so a fork after the message has both.
    """
    if not entries:
        return [(0, 0)]
    begins = [at for at, one in enumerate(entries) if at and (one.merged_from is not None or at - 1 in ends)]
    most = BATCH_ENTRIES_MAX, ENTRY_BYTES_MAX
    return [
        (batch[0][0], batch[-1][-1] + 1)
        for some in pairwise([0, *begins, len(entries)])
        for batch in packs(
            _turns(entries, range(*some)),
            most,
            lambda turn: (len(turn), sum(entries[at].size for at in turn)),
        )
    ]


def _turns(entries: Sequence[PlannedEntry], numbers: range) -> Iterator[list[int]]:
    """Yield the entries one by one, but a message with what stands of it in the context."""
    turn: list[int] = []
    size = 0
    for at in numbers:
        is_behind = bool(turn) and "channel" in entries[at].body and "channel" not in entries[turn[0]].body
        size += entries[at].size
        if is_behind and size <= ENTRY_BYTES_MAX and len(turn) < BATCH_ENTRIES_MAX:
            turn.append(at)
            continue
        if turn:
            yield turn
        turn, size = [at], entries[at].size
    yield turn


def _holding(batches: Sequence[PlannedBatch]) -> dict[PlannedAt, int]:
    """Return the number of the batch that holds each entry."""
    return {
        PlannedAt(batch.conversation, index): number
        for number, batch in enumerate(batches)
        for index in range(batch.start, batch.end)
    }


def _anchored(conversation: PlannedConversation, holding: Mapping[PlannedAt, int]) -> PlannedConversation:
    """Return the same, forked after its `up_to` if that is not in one append with the anchor."""
    fork = conversation.fork
    if fork is None or fork.at is None or fork.up_to is None or fork.position == "before":
        return conversation
    if holding[fork.at] == holding[fork.up_to]:
        return conversation
    return replace(conversation, fork=replace(fork, at=fork.up_to))


def _siblings_first(
    conversations: Sequence[PlannedConversation], first_of: Sequence[int], holding: Mapping[PlannedAt, int]
) -> Iterator[tuple[int, int]]:
    """Yield the first batch of each fork, with the batch of the message that follows its anchor.

    An earlier run may have put what the fork holds there. That is known after this batch.
    """
    for conversation, number in zip(conversations, first_of, strict=True):
        at = conversation.fork.at if conversation.fork else None
        if at is None:
            continue
        entries = conversations[at.conversation].entries
        behind = (PlannedAt(at.conversation, index) for index in range(at.index + 1, len(entries)))
        follower = next((one for one in behind if "channel" not in entries[one.index].body), None)
        if follower is not None and holding[follower] != number:
            yield number, holding[follower]


def _needs(
    conversations: Sequence[PlannedConversation],
    batches: Sequence[PlannedBatch],
    first_of: Sequence[int],
    holding: Mapping[PlannedAt, int],
) -> list[set[int]]:
    """Return the batches that each batch needs."""
    needs: list[set[int]] = []
    for number, batch in enumerate(batches):
        conversation = conversations[batch.conversation]
        needed: set[int] = set()
        if number != first_of[batch.conversation]:
            needed.add(number - 1)
        elif conversation.fork is not None:
            needed.add(first_of[conversation.fork.source])
            if conversation.fork.at is not None:
                needed.add(holding[conversation.fork.at])
        if batch.end > batch.start:
            entry = conversation.entries[batch.start]
            if entry.merged_from is not None:
                needed.add(first_of[entry.merged_from])
            if entry.merged_up_to is not None:
                needed.add(holding[entry.merged_up_to])
        needs.append(needed - {number})
    return needs
