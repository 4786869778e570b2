"""What of a tree is in the service already: its conversations and their own entries."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from forklore.exporting.written_ids import id_beside
from forklore.importing.foreign_trees import ForeignMessage, Link
from forklore.importing.identity import (
    calls_in,
    loose_words_of,
    number_in,
    parts_in,
    results_that_tell,
    words_of,
)

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.client import Forklore

PAGE_ENTRIES = 1_000


class Own(NamedTuple):
    """An entry that is there, and when it was appended. epoch: of the context; 0 in the history."""

    id: str
    key: str | None
    content: Any
    epoch: int
    at: str


class Ref(NamedTuple):
    """An entry of a tree that is there: its conversation, and its index among that one's own."""

    conversation_id: str
    at: int


@dataclass(slots=True)
class ThereLine:
    """A conversation that is there. forked_at: what it forks, the entry and the position."""

    conversation_id: str
    own: list[Own] = field(default_factory=list)
    forked_at: tuple[str, str | None, str] | None = None


@dataclass
class There:
    """A tree that is there, perhaps with the trees that its entries have started.

    tree_id: what the ids of its conversations are made of. root: the first conversation. branches:
    for each session or part of one that is known, the conversation where it ends and the key of its
    last entry. others: the conversations of other sessions, in which this one does not go on.
    numbers: of the messages of sessions that this import has read, with their entries. written: the
    conversation that the tree to be matched was written out of; empty for one of elsewhere.
    is_known: something of its session is there.
    """

    tree_id: str
    root: str
    lines: dict[str, ThereLine]
    branches: dict[str, tuple[str, str]] = field(default_factory=dict)
    newest: str = ""
    others: frozenset[str] = frozenset()
    numbers: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict)
    written: str = ""
    is_known: bool = True

    @cached_property
    def _known(self) -> dict[tuple[str, str], list[Ref]]:
        known: dict[tuple[str, str], list[Ref]] = {}
        for line in self.lines.values():
            for index, one in enumerate(line.own):
                if one.epoch:
                    continue
                ref = Ref(line.conversation_id, index)
                known.setdefault(("id", one.id), []).append(ref)
                if one.key:
                    known.setdefault(("key", one.key), []).append(ref)
                for call in calls_in(one.content):
                    known.setdefault(("call", call), []).append(ref)
        return known

    @cached_property
    def _beside(self) -> dict[str, Ref]:
        """The entries by the ids of the further rows that a program has for each."""
        return {
            id_beside(one.id, number): Ref(line.conversation_id, index)
            for line in self.lines.values()
            for index, one in enumerate(line.own)
            for number in range(1, parts_in(one.content) + 2)
            if not one.epoch
        }

    @cached_property
    def _next(self) -> dict[Ref | None, list[Ref]]:
        """The entries that follow each in the history; behind None the first ones."""
        found: dict[Ref | None, list[Ref]] = {}
        for line in self.lines.values():
            above = self.begins_after(line)
            for index, one in enumerate(line.own):
                if not one.epoch:
                    ref = Ref(line.conversation_id, index)
                    found.setdefault(above, []).append(ref)
                    above = ref
        return found

    def begins_after(self, line: ThereLine) -> Ref | None:
        """Return the entry of the history that a fork begins after; None without one."""
        anchor, position = (line.forked_at or ("", None, ""))[1:]
        above = next(iter(self._known.get(("id", anchor or ""), ())), None)
        if above is not None and position == "before":
            return next((ref for ref in self._upwards(*above) if not self.own(ref).epoch), None)
        return above

    def emptied_after(self, ref: Ref) -> str | None:
        """Return a fork of this session after an entry, in which nothing has been said; or None."""
        empty = (one for one in self.lines.values() if last_said(one.own) is None)
        own = (one for one in empty if one.conversation_id not in self.others)
        return next((one.conversation_id for one in own if self.begins_after(one) == ref), None)

    def own(self, ref: Ref) -> Own:
        """Return the entry."""
        return self.lines[ref.conversation_id].own[ref.at]

    def with_key(self, key: str) -> list[Ref]:
        """Return the entries of the history that have a key."""
        return self._known.get(("key", key), [])

    def matches(self, message: ForeignMessage, key: str, content: Any) -> Iterator[Ref]:
        """Yield the entries that a message may be: by its entry's id, its key, or an earlier key.

        It says the same words. Of an entry whose author was erased, nothing is there to compare.
        """
        yield from self._known.get(("id", message.entry_id), ())
        words = words_of(content)
        for ref in self.with_key(key):
            there = self.own(ref).content
            if not there or words_of(there) == words:
                yield ref
        for earlier in message.earlier_keys:
            for ref in self.with_key(earlier):
                if loose_words_of(self.own(ref).content) == loose_words_of(content):
                    yield ref

    def row_of(self, message: ForeignMessage) -> Ref | None:
        """Return the entry that a message is a further row of, as it was written for a program."""
        return self._beside.get(message.entry_id) if self.written and message.entry_id else None

    def with_words(self, above: Ref | None, content: Any) -> Iterator[Ref]:
        """Yield the entries that follow one, and say the same: of a tree that was written out for a
        program that has not kept the ids of all messages."""
        words = words_of(content) if self.written else ""
        for ref in self._next.get(above, ()) if words else ():
            if words_of(self.own(ref).content) == words:
                yield ref

    def place_of(self, link: Link) -> Ref | None:
        """Return the entry that a link names; None if it is not there."""
        if link.call or link.message:
            named = ("call", link.call) if link.call else ("key", link.message)
            return next(iter(self._known.get(named, ())), None)
        if link.told:
            return self._call_that_told(link.told)
        if self.branches and link.session not in self.branches:
            return None
        branch, last = self.branches.get(link.session, (self.root, ""))
        upwards = (ref for ref in self._upwards(branch) if not self.own(ref).epoch)
        if link.before is not None and link.session in self.numbers:
            below = [entry for number, entry in self.numbers[link.session] if number < link.before]
            return next(iter(self._known.get(("id", below[-1]), ())), None) if below else None
        if link.before is None:
            ends = (ref for ref in self.with_key(last))
            return next(ends, None) or next(upwards, None)
        for ref in upwards:
            number = number_in(self.own(ref).content)
            if number is not None and number < link.before:
                return ref
        return None

    def _call_that_told(self, text: str) -> Ref | None:
        """Return the entry that makes the call whose result tells a text."""
        for line in self.lines.values():
            for one in line.own:
                for call in results_that_tell(one.content, text) if not one.epoch else ():
                    return next(iter(self._known.get(("call", call), ())), None)
        return None

    def epoch_at(self, ref: Ref) -> int:
        """Return the epoch of the context that a fork after an entry inherits; 0 without one."""
        own = self.lines[ref.conversation_id].own
        end = next((at for at in range(ref.at + 1, len(own)) if not own[at].epoch), len(own))
        epochs = (self.own(one).epoch for one in self._upwards(ref.conversation_id, end))
        return next(filter(None, epochs), 0)

    def _upwards(self, conversation_id: str, end: int | None = None) -> Iterator[Ref]:
        """Yield what a conversation shows, the last entry first. end: before it, of its own."""
        while (line := self.lines.get(conversation_id)) is not None:
            for index in reversed(range(len(line.own) if end is None else end)):
                yield Ref(conversation_id, index)
            if line.forked_at is None or line.forked_at[1] is None:
                return
            _, anchor, position = line.forked_at
            found = next(iter(self._known.get(("id", anchor or ""), ())), None)
            if found is None:
                return
            conversation_id, end = found.conversation_id, found.at + (position == "after")


def read_trees(client: "Forklore", roots: Iterable[str]) -> dict[str, ThereLine]:
    """Return the conversations of fork trees, by one conversation of each. Raises ApiError."""
    lines: dict[str, ThereLine] = {}
    for root in roots:
        conversation = client.conversation(root)
        for fork in conversation.forks():
            at = fork.forked_at_conversation_id
            forked = (at, fork.forked_at_entry_id, fork.forked_at_position or "") if at else None
            lines[fork.conversation_id] = ThereLine(fork.conversation_id, forked_at=forked)
        for entry in conversation.entries(all_forks=True, page_entries=PAGE_ENTRIES):
            line = lines.get(entry.conversation_id)
            if line is not None:
                epoch = entry.epoch or 0
                line.own.append(Own(entry.id, entry.key, entry.content, epoch, entry.created_at))
    return lines


def last_said(own: Sequence[Own]) -> int | None:
    """Return the index of the last entry of the history; None if there is none."""
    return next((index for index in reversed(range(len(own))) if not own[index].epoch), None)
