"""Lays the messages of a tree out in conversations, around those that are there already.

A reply goes on in the conversation of the message before it, if that is its last one; each further
reply is a fork after the message. A message that is there stays where it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from forklore.client import jsontext
from forklore.importing.foreign_trees import ForeignMessage, ForeignTree
from forklore.importing.plan import PlannedAt, PlannedEntry, PlannedFork
from forklore.importing.there import Own, Ref, There, ThereLine, last_said


class Match(NamedTuple):
    """An entry that is there, and is a message of a tree."""

    ref: Ref
    own: Own


def matched_in(
    there: There, tree: ForeignTree, keys: Sequence[str], entries: Sequence[PlannedEntry]
) -> dict[int, Match]:
    """Return by its index each message that is there.

    Several messages are one entry only if `resume` has written them as its rows.
    """
    found: dict[int, Match] = {}
    used: set[Ref] = set()
    contents = [jsontext.read(entry.body["content"].text) for entry in entries]

    def match(at: int, refs: Iterable[Ref]) -> None:
        ref = next((ref for ref in refs if ref not in used), None)
        if ref is not None:
            used.add(ref)
            found[at] = Match(ref, there.own(ref))

    for at, (message, key) in enumerate(zip(tree.messages, keys, strict=True)):
        match(at, there.matches(message, key, contents[at]))
    for at, message in enumerate(tree.messages):
        if at in found:
            continue
        row_of = there.row_of(message)
        if row_of is not None:
            used.add(row_of)
            found[at] = Match(row_of, there.own(row_of))
        elif message.parent is None or message.parent in found:
            above = None if message.parent is None else found[message.parent].ref
            match(at, there.with_words(above, contents[at]))
    return found


@dataclass(slots=True)
class Line:
    """A conversation of a plan.

    items: the indexes of its messages, and entries that are there and are none of them. fork: None
    for the root, and for one that is there: that has its conversation_id. tail: the place after
    which it may go on.
    """

    conversation_id: str | None = None
    fork: PlannedFork | None = None
    items: list[int | Ref] = field(default_factory=list)
    size: int = 0
    tail: PlannedAt | None = None

    @property
    def messages(self) -> list[int]:
        """The indexes of its messages."""
        return [item for item in self.items if isinstance(item, int)]

    @property
    def first(self) -> int:
        """The index of its first message; 0 if it has none."""
        return next(iter(self.messages), 0)


def lines_of(
    tree: ForeignTree, remembered: Mapping[int, Sequence[Any]] | None = None
) -> tuple[list[Line], list[PlannedAt]]:
    """Return the conversations of a tree of which nothing is there, and the place of each message.

    remembered: what stands in the context behind a message.
    """
    return Laying(tree, remembered or {}).laid()


class Laying:
    """Lays the messages of a tree out in conversations."""

    def __init__(
        self,
        tree: ForeignTree,
        remembered: Mapping[int, Sequence[Any]],
        there: There | None = None,
        matched: Mapping[int, Match] | None = None,
        anchor: Ref | None = None,
    ) -> None:
        self._tree, self._remembered, self._there = tree, remembered, there
        self._matched, self._anchor = matched or {}, anchor
        self._lines: list[Line] = []
        self._place_of: list[PlannedAt | None] = [None] * len(tree.messages)
        self._there_at: dict[Ref, PlannedAt] = {}
        self._up_to: dict[PlannedAt, PlannedAt] = {}  # of an entry, the last that is in the context
        self._empty: dict[PlannedAt, int] = {}  # of an entry, the fork after it that is to be gone on in
        self.end_line: int | None = None
        """The fork without messages that the session is: it ends in the midst of a conversation."""

    def laid(self) -> tuple[list[Line], list[PlannedAt]]:
        """Return the conversations, and the place of each message."""
        behind = self._behind()
        if self._there is not None:
            self._lay_what_is_there(self._there, {*behind.values()})
        for index, message in enumerate(self._tree.messages):
            if self._place_of[index] is not None:
                continue
            if index in self._matched:  # a further row of an entry
                self._place_of[index] = self._there_at[self._matched[index].ref]
                continue
            above = self._above(message) if index not in behind else self._there_at[behind[index]]
            is_child = message.is_child or (message.parent is None and self._tree.is_started)
            number = None if is_child or above is None else self._empty.pop(above, above.conversation)
            if number is None or self._lines[number].tail != above:
                number = len(self._lines)
                self._lines.append(Line(fork=self._fork(above, is_child=is_child)))
            self._put(number, index)
        self._lay_end()
        return self._lines, [place for place in self._place_of if place is not None]

    def _above(self, message: ForeignMessage) -> PlannedAt | None:
        if message.parent is not None:
            return self._place_of[message.parent]
        return self._there_at.get(self._anchor) if self._anchor else None

    def _fork(self, above: PlannedAt | None, *, is_child: bool) -> PlannedFork | None:
        if above is None:
            return PlannedFork(0, None, "blank") if self._lines else None
        up_to = None if is_child else self._up_to.get(above)
        return PlannedFork(above.conversation, above, "child" if is_child else "after", up_to)

    def _put(self, number: int, item: int | Ref) -> None:
        """Put a message, or an entry that is there, at the end of a line."""
        line = self._lines[number]
        line.items.append(item)
        place = PlannedAt(number, line.size)
        line.size += 1
        if isinstance(item, int):
            self._place_of[item] = line.tail = place
            line.size += len(self._remembered.get(item, ()))
        elif self._there is not None and self._there.own(item).epoch:
            if line.tail is not None:
                self._up_to[line.tail] = place
            return
        else:
            self._there_at[item] = line.tail = place
        if line.size > place.index + 1:
            self._up_to[place] = PlannedAt(number, line.size - 1)

    def _behind(self) -> dict[int, Ref]:
        """Return what new messages follow that is there, and is left out by now."""
        if self._there is None:
            return {}
        found: dict[int, Ref] = {}
        for index, message in enumerate(self._tree.messages):
            if message.behind and index not in self._matched:
                refs = (ref for key in reversed(message.behind) for ref in self._there.with_key(key))
                ref = next(refs, None)
                if ref is not None:
                    found[index] = ref
        return found

    def _lay_what_is_there(self, there: There, followed: AbstractSet[Ref]) -> None:
        """Lay out the conversations that are there, up to the last entry that is of the tree."""
        index_of = {match.ref: index for index, match in reversed([*self._matched.items()])}
        contexts = {one.key for some in self._remembered.values() for one in some}
        ends: dict[str, int] = {there.root: -1}
        for ref in (*index_of, *followed, *([self._anchor] if self._anchor else [])):
            ends[ref.conversation_id] = max(ref.at, ends.get(ref.conversation_id, -1))
        for conversation_id in sorted(ends, key=lambda one: (one != there.root, [*there.lines].index(one))):
            number, own = len(self._lines), there.lines[conversation_id].own
            self._lines.append(Line(conversation_id))
            last = last_said(own)
            for at, one in enumerate(own):
                ref = Ref(conversation_id, at)
                if not one.epoch and at > ends[conversation_id]:
                    break
                if one.epoch:
                    if one.key not in contexts and self._lines[number].items:
                        self._put(number, ref)
                    continue
                self._put(number, index_of.get(ref, ref))
                self._there_at[ref] = self._lines[number].tail or PlannedAt(number, 0)
            if conversation_id in there.others or (last is not None and last > ends[conversation_id]):
                self._lines[number].tail = None
        for name in {there.written, there.branches.get(self._tree.tree_id, ("", ""))[0]}:
            if name in there.lines:
                self._lay_empty(there, there.lines[name])

    def _lay_end(self) -> None:
        """Lay out a fork for a session that ends in the midst of a conversation: it is found by it.

        It is all in another session, or what follows in it is hidden, as after a revert.
        """
        tree, there = self._tree, self._there
        place = self._place_of[tree.current] if tree.current is not None else None
        if place is None or tree.current is None or tree.is_started or not tree.session:
            return
        match = self._matched.get(tree.current)
        is_in_another = match is not None and there is not None and not there.is_known
        if there is not None and match is not None:
            is_in_another &= match.ref.conversation_id in there.others
        is_followed = bool(tree.messages[tree.current].replies)
        if not (is_in_another or is_followed) or self._lines[place.conversation].tail == place:
            return
        self.end_line = self._empty.get(place)
        if self.end_line is None:
            self.end_line = len(self._lines)
            made = there.emptied_after(match.ref) if there is not None and match is not None else None
            self._lines.append(Line(made) if made else Line(fork=self._fork(place, is_child=False)))

    def _lay_empty(self, there: There, line: ThereLine) -> None:
        """Lay out a fork that the tree goes on in, if nothing has been said in it."""
        begin = there.begins_after(line) if last_said(line.own) is None else None
        tail = self._there_at.get(begin) if begin else None
        if tail is not None:
            self._empty[tail] = len(self._lines)
            self._lines.append(Line(line.conversation_id, tail=tail))
