"""The calls that carry a plan out, and what they find if an earlier run has done a part of it.

Nothing is sent here. `Loading.batch(number)` is a generator: it yields a Call, and is sent an
Answer or a Refusal. It ends when the entries of the batch are there. Batches of one plan may run at
the same time, in threads too, as long as each begins after those that it needs.

What an earlier run has appended is recognised by the keys of the entries. A call is only refused
where something is there already; then the conversation's own entries are read, and the line goes on

* after its last entry, if the conversation holds nothing else;
* in a fork after the last entry that both have, if somebody has gone on in the conversation, or the
  source has changed. So nothing is doubled, and nothing is put behind a stranger's words.

Only the history decides that. What is missing of an agent's context comes behind the history that
is there. It is left out where the context is another client's, where somebody has gone on, and in a
fork that does not inherit what it goes on from. So the history always comes, and no context has a
hole.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from forklore.client import jsontext
from forklore.exporting.jsonlines import notes_in
from forklore.importing.plan import Plan, PlannedAt, PlannedBatch, PlannedEntry, PlannedFork
from forklore.importing.there import Own

ATTEMPTS_MAX = 20  # of one batch, each after a refusal
OWN_PAGE = 1_000
NOTES_PAGE = 200  # more than an entry has
FORBIDDEN = 403
NAMES_FILES = '"attachments":'
"""Stands in the text of each content that names any."""
RECOVERED = frozenset({"key_in_use", "not_the_fork", "not_the_child", "stale", "id_in_use", "epoch_over"})
"""The conflicts that say that something is there already."""


@dataclass(frozen=True, slots=True)
class ImportCall:
    """A call of an operation. given: path, query and body side by side, under their names."""

    operation: str
    given: Mapping[str, Any]
    idempotency_key: str | None = None
    if_match: str | None = None


@dataclass(frozen=True, slots=True)
class ImportAnswer:
    """The body of a successful answer."""

    body: Any


@dataclass(frozen=True, slots=True)
class ImportRefusal:
    """An error of the service: its status, and `reason` and `field` of its details, if any."""

    status: int
    reason: str | None = None
    message: str = ""
    field: str | None = None


class ImportRefusedError(Exception):
    """A batch cannot be carried out, nor what needs it. The message is one line."""


Steps = Generator[ImportCall, ImportAnswer | ImportRefusal, None]


@dataclass(frozen=True, slots=True)
class _Line:
    """Where the rest of a planned conversation goes.

    base: the index of its first own entry there. skip: how many own entries of the conversation
    come before that one. forked_after: the conversation from which it forks where that is not as
    planned, and the entry after which it does. is_made: it is known to exist. last: its last own
    entry of the history that is known.
    """

    conversation_id: str
    base: int = 0
    skip: int = 0
    forked_after: tuple[str, str] | None = None
    is_made: bool = False
    last: str | None = None


@dataclass(slots=True)
class Loading:
    """A plan that is carried out.

    placed: the conversation and the id of each entry that is there. since: when the run began, as
    the service writes times. An older entry is from an earlier run, whose call was repeated.
    changed: the keys of the messages that say something else in the source than in an earlier run.
    unnoted: for each note that was refused, the key of its entry.
    """

    plan: Plan
    placed: dict[PlannedAt, tuple[str, str]] = field(default_factory=dict)
    since: str = ""
    changed: set[str] = field(default_factory=set)
    unnoted: list[str] = field(default_factory=list)
    _found: set[PlannedAt] = field(default_factory=set)
    # Of the entries of the context: those behind later messages, appended alone, and not written
    _late: set[PlannedAt] = field(default_factory=set)
    _alone: set[PlannedAt] = field(default_factory=set)
    _left_out: set[PlannedAt] = field(default_factory=set)
    _lines: dict[int, _Line] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, own in self.plan.own.items():
            self._recover(number, own)

    @property
    def found(self) -> int:
        """How many entries were there already, from an earlier run."""
        return len(self._found)

    @property
    def others(self) -> int:
        """How many of these are no entries of the source."""
        conversations = self.plan.conversations
        return sum(conversations[at.conversation].entries[at.index].is_other for at in self._found)

    @property
    def appended(self) -> int:
        """How many entries this run has appended."""
        return len(self.placed) - len(self._found)

    @property
    def left_out(self) -> list[str]:
        """The keys of the entries of the context that are not written, in their order."""
        places = sorted((at.conversation, at.index) for at in self._left_out)
        return [self.plan.conversations[number].entries[index].key for number, index in places]

    @property
    def sizes(self) -> Counter[int]:
        """How many entries of each conversation are there."""
        return Counter(at.conversation for at in self.placed)

    @property
    def additions(self) -> Counter[int]:
        """How many entries of each conversation this run has appended."""
        return Counter(at.conversation for at in self.placed.keys() - self._found)

    def conversation_id(self, number: int) -> str:
        """Return the id of the conversation that shows the whole line of a planned conversation."""
        return self._line(number).conversation_id

    def settings(self, number: int) -> Mapping[str, Any]:
        """Return with which settings a conversation is made.

        The root tells the digest at once only if each conversation is made with all its entries:
        then a missing one is noticed. In one that is made in pieces, somebody may have said as much
        as is missing.
        """
        in_pieces = len(self.plan.batches) > len(self.plan.conversations)
        return self.plan.settings_of(number, is_whole=not in_pieces)

    def batch(self, number: int) -> Steps:
        """Carry a batch out. Raises ImportRefusedError."""
        batch = self.plan.batches[number]
        for _ in range(ATTEMPTS_MAX):
            missing = [at for at in range(batch.start, batch.end) if self._is_missing(batch.conversation, at)]
            line = self._line(batch.conversation)
            if not missing and (line.is_made or line.base >= batch.end > 0):
                yield from self._notes(batch)
                return
            answer = yield self._call(batch.conversation, missing, line)
            if isinstance(answer, ImportAnswer):
                self._accept(batch.conversation, missing, line, answer.body)
            elif answer.status == FORBIDDEN and self._leave_out(batch.conversation):
                continue
            elif answer.reason in RECOVERED:
                own = yield from self._own(batch.conversation)
                self._recover(batch.conversation, own)
                if line == self._line(batch.conversation):  # what is there does not tell why
                    self._leave_out(batch.conversation)
            else:
                raise ImportRefusedError(self._told(batch, answer))
            if not missing and self.plan.is_archived and not self.placed:
                # Before its first entry: so a later import does not archive it again.
                yield ImportCall("archiveConversation", {"conversationId": line.conversation_id})
        raise ImportRefusedError(
            f"{self.conversation_id(batch.conversation)} changes all the time; try again"
        )

    def _notes(self, batch: PlannedBatch) -> Steps:
        """Note on each entry of a batch what is missing there. What is refused is left out."""
        entries = self.plan.conversations[batch.conversation].entries
        for index in range(batch.start, batch.end):
            place = PlannedAt(batch.conversation, index)
            if not entries[index].notes or place not in self.placed:
                continue
            conversation_id, entry_id = self.placed[place]
            of = {"conversationId": conversation_id, "entryId": entry_id}
            there: list[Mapping[str, Any]] = []
            if place in self._found:  # by an earlier run, which may have brought its notes
                answer = yield ImportCall("listNotes", {**of, "limit": NOTES_PAGE})
                there += notes_in(answer.body["data"]) if isinstance(answer, ImportAnswer) else []
            for number, note in enumerate(entries[index].notes):
                if note in there:
                    there.remove(note)
                    continue
                answer = yield _keyed("addNote", {**of, **note}, run=str(number))
                if isinstance(answer, ImportRefusal):
                    self.unnoted.append(entries[index].key)

    def _is_missing(self, number: int, index: int) -> bool:
        at = PlannedAt(number, index)
        if at not in self.placed and self._has_hole(at):
            self._left_out.add(at)
        return at not in self.placed and at not in self._left_out

    def _has_hole(self, at: PlannedAt) -> bool:
        """Tell whether an entry would go on from a context that is not there."""
        if not (self._found or self._left_out) or not self._epoch(at):
            return False
        before = self._remembered_before(at)
        if before is None or self._epoch(before) != self._epoch(at):
            return False
        if before in self._left_out or before.conversation == at.conversation:
            return before in self._left_out
        first, above = self.placed.get(PlannedAt(at.conversation, 0)), self.placed.get(before)
        is_older = first is not None and above is not None and first[1] < above[1]
        return before in self._late or is_older

    def _remembered_before(self, at: PlannedAt) -> PlannedAt | None:
        """Return the entry of the context that a conversation shows before an entry, if any."""
        number, end = at.conversation, at.index
        while True:
            places = (PlannedAt(number, index) for index in reversed(range(end)))
            found = next((place for place in places if self._epoch(place)), None)
            fork = self.plan.conversations[number].fork
            if found is not None or fork is None or fork.at is None or fork.position == "child":
                return found
            upto = fork.up_to or fork.at
            number, end = upto.conversation, upto.index + (fork.position == "after" or upto == fork.up_to)

    def _epoch(self, at: PlannedAt) -> int:
        return _epoch_of(self.plan.conversations[at.conversation].entries[at.index])

    def _leave_out(self, number: int, *, below: float = math.inf) -> bool:
        """Leave out what is missing of the context below an epoch; tell if that is anything."""
        entries = self.plan.conversations[number].entries
        places = {PlannedAt(number, at) for at, one in enumerate(entries) if 0 < _epoch_of(one) < below}
        missing = places - self.placed.keys() - self._left_out
        self._left_out |= missing
        return bool(missing)

    def _line(self, number: int) -> _Line:
        return self._lines.get(number) or _Line(self.plan.conversations[number].conversation_id)

    # Calls

    def _call(self, number: int, missing: Sequence[int], line: _Line) -> ImportCall:
        """Return the call that makes the conversation, or appends what is missing."""
        conversation = self.plan.conversations[number]
        if not missing:
            return self._empty(number, conversation.fork)
        given: dict[str, Any] = {"conversationId": line.conversation_id}
        given["entries"] = self._entries([conversation.entries[at] for at in missing])
        if not line.is_made:
            given |= {name: value for name, value in self.settings(number).items() if name != "agentId"}
            given |= self._origin(number, line, conversation.fork)
        return _keyed("appendEntry", given, line.last)

    def _origin(self, number: int, line: _Line, fork: PlannedFork | None) -> dict[str, Any]:
        """Return the fields that say what a new conversation is a fork of."""
        is_current = number == self.plan.current and self.plan.is_promoted
        promote = {"promote": True} if is_current else {}
        if line.forked_after is not None:
            source, entry = line.forked_after
            return {
                "forkedAtConversationId": source,
                "forkedAtEntryId": entry,
                "forkedAtPosition": "after",
                **promote,
            }
        if fork is None:
            return {}
        source, anchor, position = self._source(fork)
        if anchor is None:
            return {"forkedAtConversationId": source, **promote}
        if fork.position == "child":
            return {"startedByConversationId": source, "startedByEntryId": anchor}
        return {
            "forkedAtConversationId": source,
            "forkedAtEntryId": anchor,
            "forkedAtPosition": position,
            **promote,
        }

    def _source(self, fork: PlannedFork) -> tuple[str, str | None, str]:
        """Return the conversation to fork, the entry at which, and the position.

        Where the entry of the context is not there or comes too late, that is the one before it.
        """
        if fork.at is None:
            return self.conversation_id(fork.source), None, fork.position
        is_alone = fork.up_to in self._alone and fork.up_to not in self._late
        there = self._at_or_before(fork.up_to if fork.up_to and is_alone else fork.at)
        if there is None:
            above = self.plan.conversations[fork.at.conversation].fork
            is_inherited = above is not None and above.position != "child"
            return (
                self._source(above)
                if above and is_inherited
                else (self.conversation_id(fork.source), None, "")
            )
        owner, entry_id = self.placed[there]
        source = owner if there.conversation == fork.source else self.conversation_id(fork.source)
        return source, entry_id, fork.position if there == fork.at else "after"

    def _at_or_before(self, at: PlannedAt) -> PlannedAt | None:
        places = (PlannedAt(at.conversation, index) for index in range(at.index, -1, -1))
        return next((one for one in places if one in self.placed and one not in self._late), None)

    def _empty(self, number: int, fork: PlannedFork | None) -> ImportCall:
        """Return the call that makes a conversation without entries."""
        conversation_id = self.plan.conversations[number].conversation_id
        settings: dict[str, Any] = {"id": conversation_id, **self.settings(number)}
        if fork is None:
            # Each run has a key of its own, and so reads what is there before it archives the tree.
            return _keyed("createConversation", settings, run=self.since)
        source, anchor, position = self._source(fork)
        given = {"conversationId": source, **settings}
        if anchor is not None:
            given |= {"atEntryId": anchor, "position": position}
        if number == self.plan.current and self.plan.is_promoted:
            given["promote"] = True
        return _keyed("forkConversation", given)

    def _entries(self, planned: Sequence[PlannedEntry]) -> list[dict[str, Any]] | jsontext.Written:
        """Return the entries of an append: written, where no file must be uploaded before."""
        entries = [self._entry(one) for one in planned]
        contents = (entry["content"] for entry in entries)
        is_plain = all(isinstance(one, jsontext.Written) and NAMES_FILES not in one.text for one in contents)
        return jsontext.Written(jsontext.write(entries)) if is_plain else entries

    def _entry(self, entry: PlannedEntry) -> dict[str, Any]:
        body: dict[str, Any] = {"key": entry.key, **entry.body}
        if entry.merged_from is not None:
            body["mergedFromConversationId"] = self.conversation_id(entry.merged_from)
        up_to = entry.merged_up_to and self._at_or_before(entry.merged_up_to)
        if up_to is not None:
            body["mergedUpToEntryId"] = self.placed[up_to][1]
        return body

    # Answers

    def _accept(self, number: int, missing: Sequence[int], line: _Line, body: Any) -> None:
        last = line.last
        for index, row in zip(missing, body["data"] if missing else (), strict=True):
            place, entry_id = PlannedAt(number, index), str(row["id"])
            last = last if self._epoch(place) else entry_id
            self.placed[place] = (line.conversation_id, entry_id)
            if str(row.get("createdAt", self.since)) < self.since:
                self._found.add(place)
            if self._epoch(place) and index - 1 not in missing:
                self._alone.add(place)
        self._lines[number] = replace(line, is_made=True, last=last)

    def _own(self, number: int) -> Generator[ImportCall, ImportAnswer | ImportRefusal, list[Own]]:
        """Return the own entries of the conversation to which the line goes."""
        own: list[Own] = []
        cursor: dict[str, Any] = {}
        while True:
            given = {"conversationId": self.conversation_id(number), "own": True, "limit": OWN_PAGE}
            answer = yield ImportCall("listEntries", {**given, **cursor})
            if isinstance(answer, ImportRefusal):
                raise ImportRefusedError(f"{self.conversation_id(number)}: {answer.message or answer.status}")
            own += [
                Own(
                    str(row["id"]),
                    row.get("key"),
                    row.get("content"),
                    row.get("epoch") or 0,
                    row["createdAt"],
                )
                for row in answer.body["data"]
            ]
            after = answer.body["afterCursor"]
            if after is None:
                return own
            cursor = {"afterCursor": after}

    def _recover(self, number: int, own: Sequence[Own]) -> None:
        """Decide how the line goes on in a conversation that is there, and holds `own`."""
        line, planned = self._line(number), self.plan.conversations[number].entries
        remembered = {one.key: at for at, one in enumerate(planned) if _epoch_of(one)}
        said = [at for at in range(line.base, len(planned)) if not _epoch_of(planned[at])]
        same, over = 0, 0
        last: Own | None = None
        other: int | None = None
        for at, one in enumerate(own[line.skip :], start=line.skip):
            if one.epoch:
                over = max(over, one.epoch + (one.key not in remembered))
                index = remembered.get(one.key or "")
            elif same < len(said) and _is_same(one, planned[said[same]]):
                index, same = said[same], same + 1
            else:
                other = at
                break
            if index is not None:
                last = one
                self._find(PlannedAt(number, index), line, one, planned[index])
                self._note_where(PlannedAt(number, index), own, at, end=said[same - 1] if same else 0)
        if other is None or same == len(said):
            end = said[same - 1] if same else 0
            ends = next((one.id for one in reversed(own) if not one.epoch), None)
            self._lines[number] = replace(line, is_made=True, last=ends)
            self._leave_out(number, below=over if other is None else math.inf)
        elif last is not None:
            end = said[same]
            after = (line.conversation_id, last.id)
            self._lines[number] = _Line(self.plan.line_id(planned[end].key), end, forked_after=after)
            self._recover_other(line.conversation_id, own, other)
        else:
            raise ImportRefusedError(f"{line.conversation_id} holds another conversation")
        missing = {PlannedAt(number, at) for at in remembered.values() if at < end} - self.placed.keys()
        self._late |= missing

    def _note_where(self, place: PlannedAt, own: Sequence[Own], at: int, *, end: int) -> None:
        """Note of an entry of the context whether it stands behind its message, in one append.

        end: the index of the last message that comes before it there.
        """
        if not own[at].epoch:
            return
        if place.index < end:
            self._late.add(place)
        message = self.plan.conversations[place.conversation].entries[place.index - 1]
        if (own[at - 1].key, own[at - 1].at) != (message.key, own[at].at):
            self._alone.add(place)

    def _find(self, place: PlannedAt, line: _Line, one: Own, planned: PlannedEntry) -> None:
        """Note that an earlier run has brought an entry."""
        if place not in self.placed:
            self._found.add(place)
        if self.plan.kind and _says_other(one, planned):
            self.changed.add(planned.key)
        self.placed[place] = (line.conversation_id, one.id)

    def _recover_other(self, conversation_id: str, own: Sequence[Own], skip: int) -> None:
        """Find the planned conversation that an earlier run has put there, if it is one.

        That is so when the source shows its replies in another order than before.
        """
        for number, planned in enumerate(self.plan.conversations):
            if number not in self._lines and planned.entries and planned.entries[0].key == own[skip].key:
                self._lines[number] = _Line(conversation_id, skip=skip, is_made=True)
                self._recover(number, own)
                return

    def _told(self, batch: PlannedBatch, refusal: ImportRefusal) -> str:
        where = self.conversation_id(batch.conversation)
        is_gone = refusal.status == 404 and refusal.field != "attachments"
        if is_gone or refusal.reason == "deleted_recently":
            return f"{where} was imported before, and deleted since"
        said = " ".join(filter(None, (str(refusal.status), refusal.reason, refusal.message)))
        return f"{where}: {said}"


def _epoch_of(entry: PlannedEntry) -> int:
    """Return the epoch of an entry of the context; 0 of one of the history."""
    return (entry.body.get("epoch") or 1) if entry.body.get("channel") == "context" else 0


def _is_same(own: Own, planned: PlannedEntry) -> bool:
    return own.id == planned.entry_id or own.key == planned.key


def _says_other(own: Own, planned: PlannedEntry) -> bool:
    """Tell whether a message has changed. Of an erased author nothing is there."""
    content = planned.body["content"]
    now = jsontext.read(content.text) if isinstance(content, jsontext.Written) else content
    return bool(own.content) and _said(own.content) != _said(now)


def _said(content: Any) -> Any:
    """Return what a content says without the ids of its attachments, which are others here."""
    files = content[0].get("attachments") if content and isinstance(content[0], Mapping) else None
    if not isinstance(files, list):
        return content
    named = [{**one, "id": None, "attachmentId": None} for one in files if isinstance(one, Mapping)]
    return [{**content[0], "attachments": named}, *content[1:]]


def _keyed(
    operation: str, given: Mapping[str, Any], if_match: str | None = None, *, run: str = ""
) -> ImportCall:
    """Return a call whose Idempotency-Key is made of all that it says, and of the run."""
    said = jsontext.write([operation, given, if_match, run]).encode()
    return ImportCall(operation, given, f"import-{hashlib.sha256(said).hexdigest()}", if_match)
