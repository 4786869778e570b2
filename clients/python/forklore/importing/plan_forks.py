"""The plan of a fork tree of forklore's own: the same conversations, forked at the same places."""

import uuid
from dataclasses import dataclass, replace

from forklore.importing.checks import keys_for
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.formats.own_lines import FileEntry, ForkTree, StoredConversation, StoredFork
from forklore.importing.plan import (
    Plan,
    PlannedAt,
    PlannedConversation,
    PlannedEntry,
    PlannedFork,
    entry_of,
    namespace_of,
    planned,
)
from forklore.importing.readers import OWN


def plan_fork_tree(
    tree: ForkTree, *, owner: str, report: ImportReport, again: str = "", with_context: bool = True
) -> Plan:
    """Return the plan of a fork tree.

    owner, again: as for `namespace_of`. with_context: False for a user who is no agent, and may not
    write the context. Then its entries are left out and reported, and a fork at one of them is a
    fork after the history before it.
    """
    namespace = namespace_of(owner=owner, kind=OWN, tree_id=tree.tree_id, again=again)
    taking = _Taking(tree, report, with_context=with_context)
    conversations = [
        PlannedConversation(
            str(uuid.uuid5(namespace, f"conversation {stored.conversation_id}")),
            taking.fork_of(stored),
            tuple(taking.entries_of(stored)),
            {**({"title": stored.title} if stored.title else {}), **stored.settings},
        )
        for stored in taking.conversations
    ]
    current = next((at for at, stored in enumerate(taking.conversations) if stored.is_current), 0)
    return planned(tree.tree_id, namespace, conversations, current=current)


@dataclass(frozen=True, slots=True)
class _Anchor:
    """Where an entry of the file is in the plan. place: of itself, or of the last entry before it.

    is_itself: False for an entry that is left out. place None: nothing is before it.
    """

    place: PlannedAt | None
    is_itself: bool


def _next(place: PlannedAt) -> PlannedAt:
    return PlannedAt(place.conversation, place.index + 1)


class _Taking:
    """What is taken of a tree, and where it comes to stand."""

    def __init__(self, tree: ForkTree, report: ImportReport, *, with_context: bool) -> None:
        self._report = report
        self._with_context = with_context
        self.conversations: list[StoredConversation] = []
        self._taken: list[list[FileEntry]] = []
        self._number_of: dict[str, int] = {}
        self._anchors: dict[str, _Anchor] = {}
        for stored in tree.conversations:
            self._take(stored)

    def _take(self, stored: StoredConversation) -> None:
        fork = stored.fork
        entries = [entry for entry in stored.entries if self._takes(entry)]
        if not entries and fork is not None and self._is_blank(fork):
            # No request makes it. What forks it inherits nothing either.
            self._report.add(Reason.BLANK_BRANCH, stored.conversation_id)
            self._number_of[stored.conversation_id] = self._number_of[fork.conversation_id]
            return
        number = len(self.conversations)
        self._taken.append(entries)
        self._number_of[stored.conversation_id] = number
        self.conversations.append(stored)
        before = self._inherited(fork)
        index = 0
        for entry in stored.entries:
            if self._takes(entry):
                before = PlannedAt(number, index)
                index += 1
                self._anchors[entry.entry_id] = _Anchor(before, is_itself=True)
            else:
                self._report.add(Reason.ERASED if entry.is_erased else Reason.CONTEXT, entry.entry_id)
                self._anchors[entry.entry_id] = _Anchor(before, is_itself=False)

    def _takes(self, entry: FileEntry) -> bool:
        return bool(entry.members) and (self._with_context or not entry.is_context)

    def _is_blank(self, fork: StoredFork) -> bool:
        return fork.entry_id is None or self._anchors[fork.entry_id].place is None

    def _inherited(self, fork: StoredFork | None) -> PlannedAt | None:
        """Return the last entry that a fork inherits, as far as one is known."""
        if fork is None or fork.entry_id is None:
            return None
        anchor = self._anchors[fork.entry_id]
        place = anchor.place
        if place is None or fork.position == "after" or not anchor.is_itself:
            return place
        if place.index:
            return PlannedAt(place.conversation, place.index - 1)
        return self._inherited(self.conversations[place.conversation].fork)

    def fork_of(self, stored: StoredConversation) -> PlannedFork | None:
        """Return where a conversation of the plan forks; None for the root."""
        fork = stored.fork
        if fork is None:
            return None
        source = self._number_of[fork.conversation_id]
        anchor = self._anchors[fork.entry_id] if fork.entry_id is not None else None
        if anchor is None or anchor.place is None:
            return PlannedFork(source, None, "blank")
        position = fork.position if anchor.is_itself else "after"
        usual = self._up_to(anchor.place, position)
        said = self._anchors[fork.up_to] if fork.up_to is not None else None
        up_to = said.place if said and said.is_itself else usual
        if up_to is not None and up_to != usual:
            return PlannedFork(source, up_to, "after", up_to)
        beside = self._is_context(up_to) or (up_to is not None and self._is_context(_next(up_to)))
        return PlannedFork(source, anchor.place, position, up_to if beside else None)

    def _up_to(self, at: PlannedAt, position: str) -> PlannedAt | None:
        """Return the last entry that a fork there inherits of the same conversation, if any.

        After an entry, that is the last one of the context that follows it.
        """
        if position == "before":
            return PlannedAt(at.conversation, at.index - 1) if at.index else None
        while self._is_context(_next(at)):
            at = _next(at)
        return at

    def _is_context(self, place: PlannedAt | None) -> bool:
        if place is None:
            return False
        taken = self._taken[place.conversation]
        return place.index < len(taken) and taken[place.index].is_context

    def entries_of(self, stored: StoredConversation) -> list[PlannedEntry]:
        """Return the entries of a conversation of the plan."""
        taken = [entry for entry in stored.entries if self._takes(entry)]
        keys = keys_for(entry.key or entry.entry_id for entry in taken)
        return [
            replace(self._entry(entry, key), notes=entry.notes)
            for entry, key in zip(taken, keys, strict=True)
        ]

    def _entry(self, entry: FileEntry, key: str) -> PlannedEntry:
        if entry.merged_from is None:
            return entry_of(key, entry.members)
        anchor = self._anchors.get(entry.merged_up_to) if entry.merged_up_to else None
        if entry.merged_from not in self._number_of or (entry.merged_up_to and anchor is None):
            self._report.add(Reason.LOST_MERGE, entry.entry_id)
            return entry_of(key, entry.members)
        return entry_of(
            key,
            entry.members,
            merged_from=self._number_of[entry.merged_from],
            merged_up_to=anchor.place if anchor else None,
        )
