"""Which conversations and forks a tree becomes, in batches of entries. Nothing is sent here.

The first reply continues the conversation; every further reply is a fork of it, after the message
that is replied to. So a conversation is one line of messages, and what it shows is one path from
the beginning to a leaf. A second root is a blank fork of the conversation of the first one. The
branch that the source showed last becomes the current one.

Ids and keys follow from the source alone, so an import that runs again finds what an earlier run
has made, also after the service has forgotten the Idempotency-Keys:

* The id of a conversation is made of the owner, the format, the tree's id and the key of the line's
  first message. It does not depend on how long the line is, nor on the order of its siblings: a
  newer export of the same source adds to the conversations of the older one.
* The key of an entry is the id of its message.

Where an agent imports, a summary that a model goes on with begins an epoch of the agent's context:
from there on each message stands in the context, too, behind its entry in the history.
"""

import hashlib
import heapq
import uuid
from collections.abc import Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

from forklore.client import jsontext
from forklore.client.generated.limits import ENTRY_BYTES_MAX, METADATA_BYTES_MAX, escaped_size, packs
from forklore.importing.checks import keys_for, storable_metadata, title_of
from forklore.importing.foreign_trees import (
    ForeignMessage,
    ForeignTree,
    ImportReport,
    MalformedFileError,
    Reason,
)
from forklore.importing.members import usage_of

BATCH_ENTRIES_MAX = 44  # of one append, each with a key
TITLE_CHARACTERS = 40
"""So much of the first text is a title, where the source has none."""
SOURCE_TAG = "source"
"""The tag that every imported conversation has, with the format as its value."""
READ_AS = 3
"""Grows when readers make other trees than before. Then no earlier import is taken for the same."""
ABOUT_LINE_BYTES = 200
"""Of the metadata, for what is told of one line of a tree."""
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
    """

    key: str
    body: Mapping[str, Any]
    size: int
    merged_from: int | None = None
    merged_up_to: PlannedAt | None = None


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
    that it was made of, and of who imports.
    """

    tree_id: str
    namespace: uuid.UUID
    conversations: tuple[PlannedConversation, ...]
    batches: tuple[PlannedBatch, ...]
    current: int
    kind: str = ""
    is_archived: bool = False
    digest: str = ""

    @property
    def title(self) -> str:
        """What the root is called; the tree's id if it has no title."""
        title = self.conversations[0].settings.get("title")
        return title if isinstance(title, str) else self.tree_id

    @property
    def entries(self) -> int:
        """How many entries the plan has."""
        return sum(len(conversation.entries) for conversation in self.conversations)

    def settings_of(self, number: int, *, is_whole: bool) -> Mapping[str, Any]:
        """Return the settings of a conversation. is_whole: the root tells the digest, too."""
        settings = self.conversations[number].settings
        if number or not (is_whole and self.digest):
            return settings
        source = {**settings["metadata"]["source"], "digest": self.digest}
        return {**settings, "metadata": {**settings["metadata"], "source": source}}

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


def plan_tree(
    tree: ForeignTree, *, owner: str, report: ImportReport, again: str = "", client: str | None = None
) -> Plan:
    """Return the plan of a tree of messages: as many conversations as it has leaves.

    owner, again: as for `namespace_of`. client: the agent that imports, if it is one, and whose
    context is written. What the service would not take of the tree's metadata is left out and
    reported.
    """
    namespace = namespace_of(owner=owner, kind=tree.source, tree_id=tree.tree_id, again=again)
    keys = keys_for(message.message_id for message in tree.messages)
    about = _about(tree, report)
    entries = [_entry(key, message) for key, message in zip(keys, tree.messages, strict=True)]
    remembered = _remembered(tree, keys, entries) if client else {}
    lines, forks, place_of = lines_of(tree, remembered)
    source = tree.digest or _digest(tree, entries, about)
    digest = digest_of(
        source, owner=owner, kind=tree.source, again=again, client=client if remembered else None
    )
    begins, conversations = _beginning(tree), []
    for line, fork in zip(lines, forks, strict=True):
        said_at = tree.messages[line[-1]].said_at
        own = [one for index in line for one in (entries[index], *remembered.get(index, ()))]
        metadata = {
            "source": {
                **about,
                **({} if fork else {"conversations": len(lines)}),
                "entries": len(own),
                **({"saidAt": said_at} if said_at else {}),
            }
        }
        conversations.append(
            PlannedConversation(
                str(uuid.uuid5(namespace, f"line {keys[line[0]]}")),
                fork,
                tuple(own),
                {"tags": {SOURCE_TAG: tree.source}, **_title(tree, fork, begins), "metadata": metadata},
            )
        )
    current = 0 if tree.current is None else place_of[tree.current].conversation
    plan = planned(tree.tree_id, namespace, conversations, current=current, begins_empty=tree.is_archived)
    return replace(plan, kind=tree.source, is_archived=tree.is_archived, digest=digest)


def _remembered(
    tree: ForeignTree, keys: Sequence[str], entries: Sequence[PlannedEntry]
) -> dict[int, tuple[PlannedEntry]]:
    """Return by the index of each message from a summary on what of it stands in the context.

    Its epoch is the number of summaries on the way to it. A child of a message begins anew.
    """
    if not any(message.is_summary for message in tree.messages):
        return {}
    others = keys_for([*keys, *(f"context {key}" for key in keys)])[len(keys) :]
    epochs: list[int] = []
    found: dict[int, tuple[PlannedEntry]] = {}
    for index, message in enumerate(tree.messages):
        above = 0 if message.parent is None or message.is_child else epochs[message.parent]
        epochs.append(above + message.is_summary)
        if epochs[index]:
            body = {**entries[index].body, "channel": "context", "epoch": epochs[index]}
            found[index] = (replace(entries[index], key=others[index], body=body),)
    return found


def lines_of(
    tree: ForeignTree, remembered: Container[int] = ()
) -> tuple[list[list[int]], list[PlannedFork | None], list[PlannedAt]]:
    """Return the messages of each conversation, where each forks, and the place of each message.

    remembered: the messages behind which stands an entry of the context.
    """
    lines: list[list[int]] = []
    sizes: list[int] = []
    forks: list[PlannedFork | None] = []
    place_of: list[PlannedAt] = []
    for index, message in enumerate(tree.messages):
        above = None if message.parent is None else place_of[message.parent]
        if message.parent is not None and above and tree.messages[message.parent].replies[:1] == (index,):
            conversation = above.conversation
        else:
            conversation = len(lines)
            lines.append([])
            sizes.append(0)
            forks.append(PlannedFork(0, None, "blank") if conversation else None)
            if message.parent is not None and above:
                is_inherited = message.parent in remembered and not message.is_child
                up_to = PlannedAt(above.conversation, above.index + 1) if is_inherited else None
                position = "child" if message.is_child else "after"
                forks[-1] = PlannedFork(above.conversation, above, position, up_to)
        place_of.append(PlannedAt(conversation, sizes[conversation]))
        lines[conversation].append(index)
        sizes[conversation] += 2 if index in remembered else 1
    return lines, forks, place_of


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


def _entry(key: str, message: ForeignMessage) -> PlannedEntry:
    text = message.written or jsontext.write([message.content])
    body = {"contentType": "history", "content": jsontext.Written(text), **usage_of(message.content)}
    return PlannedEntry(key, body, escaped_size(text))


def _title(tree: ForeignTree, fork: PlannedFork | None, begins: str) -> dict[str, str]:
    """Return the title of a conversation of a tree: its source's, or else how the tree begins.

    Where it does not begin with the system's words, the service gives the root the same. A child
    has the one that the service gives it.
    """
    if fork is not None and fork.position == "child":
        return {}
    if tree.title:
        return {"title": tree.title}
    is_left = fork is None and tree.messages[0].role != "SYSTEM"
    return {} if is_left or not begins else {"title": begins}


def _beginning(tree: ForeignTree) -> str:
    """Return the beginning of the first text: of one that is not the system's, if there is any."""
    texts = [(one.role == "SYSTEM", at) for at, one in enumerate(tree.messages) if one.text]
    return title_of(tree.messages[min(texts)[1]].text[:TITLE_CHARACTERS]) or "" if texts else ""


def _about(tree: ForeignTree, report: ImportReport) -> dict[str, Any]:
    """Return what the metadata of each conversation tells of the source of a tree."""
    named = {"format": tree.source, "id": tree.tree_id}
    about, lost = storable_metadata(tree.metadata, METADATA_BYTES_MAX - ABOUT_LINE_BYTES, named)
    for name in lost:
        report.add(Reason.MEMBER, f"{name} of {tree.tree_id}")
    return about


def digest_of(source: str, *, owner: str, kind: str, again: str = "", client: str | None = None) -> str:
    """Return what the root of an imported tree tells of its source, to know it again.

    source: the digest of its text, or of all its messages. owner, again: as for `namespace_of`.
    client: the agent whose context was written, too. Another user has another one: a tree that is
    shared is not the import of who sees it.
    """
    told = [READ_AS, owner, kind, source, again, *([client] if client else [])]
    return hashlib.sha256(jsontext.write(told).encode()).hexdigest()[:32]


def _digest(tree: ForeignTree, entries: Sequence[PlannedEntry], about: Mapping[str, Any]) -> str:
    """Return a text that another tree has not: of its messages, where they hang, and all else."""
    told = [tree.title, tree.current, tree.is_archived, about]
    digest = hashlib.sha256(jsontext.write(told).encode())
    for message, entry in zip(tree.messages, entries, strict=True):
        said = hashlib.sha256(entry.body["content"].text.encode()).digest()
        digest.update(f"\n{entry.key} {message.parent} {message.is_child} ".encode() + said)
    return digest.hexdigest()


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
    for at in numbers:
        is_behind = len(turn) == 1 and "channel" in entries[at].body and "channel" not in entries[at - 1].body
        if is_behind and entries[at - 1].size + entries[at].size <= ENTRY_BYTES_MAX:
            turn.append(at)
            continue
        if turn:
            yield turn
        turn = [at]
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
