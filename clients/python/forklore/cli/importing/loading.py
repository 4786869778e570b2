"""The calls that carry a plan out, and what they find if an earlier run has done a part of it.

Nothing is sent here. `Loading.batch(number)` is a generator: it yields a Call, and is sent an
Answer or a Refusal. It ends when the entries of the batch are there. Batches of one plan may run at
the same time, in threads too, as long as each begins after those that it needs.

What an earlier run has appended is recognised by the keys of the entries. A call is only refused
where something is there already; then the conversation's own entries are read, and the line goes on

* after its last entry, if the conversation holds nothing else;
* in a fork after the last entry that both have, if somebody has gone on in the conversation, or the
  source has changed. So nothing is doubled, and nothing is put behind a stranger's words.
"""

import hashlib
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from forklore.cli.importing.plan import (
    Plan,
    PlannedAt,
    PlannedBatch,
    PlannedEntry,
    PlannedFork,
)
from forklore.client import jsontext

ATTEMPTS_MAX = 20  # of one batch, each after a refusal
OWN_PAGE = 1_000
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
    """An error of the service: its status, and `reason` of its details, if any."""

    status: int
    reason: str | None = None
    message: str = ""


class ImportRefusedError(Exception):
    """A batch cannot be carried out, nor what needs it. The message is one line."""


Steps = Generator[ImportCall, ImportAnswer | ImportRefusal, None]


@dataclass(frozen=True, slots=True)
class _Line:
    """Where the rest of a planned conversation goes.

    base: the index of its first own entry there. skip: how many own entries of the conversation
    come before that one. forked_after: the conversation from which it forks where that is not as
    planned, and the entry after which it does. is_made: it is known to exist.
    """

    conversation_id: str
    base: int = 0
    skip: int = 0
    forked_after: tuple[str, str] | None = None
    is_made: bool = False


@dataclass(frozen=True, slots=True)
class _Own:
    """An entry that is there."""

    id: str
    key: str | None
    content: Any


@dataclass(slots=True)
class Loading:
    """A plan that is carried out.

    placed: the conversation and the id of each entry that is there. since: when the run began, as
    the service writes times. An older entry is from an earlier run, whose call was repeated.
    changed: the keys of the messages that say something else in the source than in an earlier run.
    """

    plan: Plan
    placed: dict[PlannedAt, tuple[str, str]] = field(default_factory=dict)
    since: str = ""
    changed: set[str] = field(default_factory=set)
    _found: set[PlannedAt] = field(default_factory=set)
    _lines: dict[int, _Line] = field(default_factory=dict)

    @property
    def found(self) -> int:
        """How many entries were there already, from an earlier run."""
        return len(self._found)

    @property
    def appended(self) -> int:
        """How many entries this run has appended."""
        return len(self.placed) - len(self._found)

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
            at = next((at for at in range(batch.start, batch.end) if self._is_missing(batch, at)), None)
            if at is None and (batch.end > batch.start or self._line(batch.conversation).is_made):
                return
            line = self._line(batch.conversation)
            answer = yield self._call(batch, batch.end if at is None else at, line)
            if isinstance(answer, ImportAnswer):
                self._accept(batch, at, line, answer.body)
            elif answer.reason in RECOVERED:
                own = yield from self._own(batch.conversation)
                self._recover(batch.conversation, own)
            else:
                raise ImportRefusedError(self._told(batch, answer))
            if at is None and self.plan.is_archived and not self.placed:
                # Before its first entry: so a later import does not archive it again.
                yield ImportCall("archiveConversation", {"conversationId": line.conversation_id})
        raise ImportRefusedError(
            f"{self.conversation_id(batch.conversation)} changes all the time; try again"
        )

    def _is_missing(self, batch: PlannedBatch, at: int) -> bool:
        return PlannedAt(batch.conversation, at) not in self.placed

    def _line(self, number: int) -> _Line:
        return self._lines.get(number) or _Line(self.plan.conversations[number].conversation_id)

    # Calls

    def _call(self, batch: PlannedBatch, start: int, line: _Line) -> ImportCall:
        """Return the call that makes the conversation, or appends from `start` on."""
        number = batch.conversation
        conversation = self.plan.conversations[number]
        entries = conversation.entries[start : batch.end]
        if not entries:
            return self._empty(number, conversation.fork)
        given: dict[str, Any] = {"conversationId": line.conversation_id}
        given["entries"] = [self._entry(entry) for entry in entries]
        before = self.placed.get(PlannedAt(number, start - 1))
        if_match = before[1] if before and before[0] == line.conversation_id else None
        if if_match is None and not line.is_made:
            given |= {name: value for name, value in self.settings(number).items() if name != "agentId"}
            given |= self._origin(number, line, conversation.fork)
        return _keyed("appendEntry", given, if_match)

    def _origin(self, number: int, line: _Line, fork: PlannedFork | None) -> dict[str, Any]:
        """Return the fields that say what a new conversation is a fork of."""
        promote = {"promote": True} if number == self.plan.current else {}
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
        source, anchor = self._source(fork)
        if anchor is None:
            return {"forkedAtConversationId": source, **promote}
        if fork.position == "child":
            return {"startedByConversationId": source, "startedByEntryId": anchor}
        return {
            "forkedAtConversationId": source,
            "forkedAtEntryId": anchor,
            "forkedAtPosition": fork.position,
            **promote,
        }

    def _source(self, fork: PlannedFork) -> tuple[str, str | None]:
        """Return the conversation to fork, and the entry at which."""
        if fork.at is None:
            return self.conversation_id(fork.source), None
        owner, entry_id = self.placed[fork.at]
        return (owner if fork.at.conversation == fork.source else self.conversation_id(fork.source)), entry_id

    def _empty(self, number: int, fork: PlannedFork | None) -> ImportCall:
        """Return the call that makes a conversation without entries."""
        conversation_id = self.plan.conversations[number].conversation_id
        settings: dict[str, Any] = {"id": conversation_id, **self.settings(number)}
        if fork is None:
            # Each run has a key of its own, and so reads what is there before it archives the tree.
            return _keyed("createConversation", settings, run=self.since)
        source, anchor = self._source(fork)
        given = {"conversationId": source, **settings}
        if anchor is not None:
            given |= {"atEntryId": anchor, "position": fork.position}
        if number == self.plan.current:
            given["promote"] = True
        return _keyed("forkConversation", given)

    def _entry(self, entry: PlannedEntry) -> dict[str, Any]:
        body: dict[str, Any] = {"key": entry.key, **entry.body}
        if entry.merged_from is not None:
            body["mergedFromConversationId"] = self.conversation_id(entry.merged_from)
        if entry.merged_up_to is not None:
            body["mergedUpToEntryId"] = self.placed[entry.merged_up_to][1]
        return body

    # Answers

    def _accept(self, batch: PlannedBatch, at: int | None, line: _Line, body: Any) -> None:
        if at is not None:
            for index, row in enumerate(body["data"], start=at):
                place = PlannedAt(batch.conversation, index)
                self.placed[place] = (line.conversation_id, str(row["id"]))
                if str(row.get("createdAt", self.since)) < self.since:
                    self._found.add(place)
        self._lines[batch.conversation] = replace(line, is_made=True)

    def _own(self, number: int) -> Generator[ImportCall, ImportAnswer | ImportRefusal, list[_Own]]:
        """Return the own entries of the conversation to which the line goes."""
        own: list[_Own] = []
        cursor: dict[str, Any] = {}
        while True:
            given = {"conversationId": self.conversation_id(number), "own": True, "limit": OWN_PAGE}
            answer = yield ImportCall("listEntries", {**given, **cursor})
            if isinstance(answer, ImportRefusal):
                raise ImportRefusedError(f"{self.conversation_id(number)}: {answer.message or answer.status}")
            own += [_Own(str(row["id"]), row.get("key"), row.get("content")) for row in answer.body["data"]]
            after = answer.body["afterCursor"]
            if after is None:
                return own
            cursor = {"afterCursor": after}

    def _recover(self, number: int, own: Sequence[_Own]) -> None:
        """Decide how the line goes on in a conversation that is there, and holds `own`."""
        line, planned = self._line(number), self.plan.conversations[number].entries
        rest, there = planned[line.base :], own[line.skip :]
        same = 0
        while same < min(len(there), len(rest)) and there[same].key == rest[same].key:
            place = PlannedAt(number, line.base + same)
            if place not in self.placed:
                self._found.add(place)
            if self.plan.kind and _says_other(there[same], rest[same]):
                self.changed.add(rest[same].key)
            self.placed[place] = (line.conversation_id, there[same].id)
            same += 1
        if same in (len(rest), len(there)):
            self._lines[number] = replace(line, is_made=True)
        elif same:
            base = line.base + same
            self._lines[number] = _Line(
                self.plan.line_id(planned[base].key),
                base,
                forked_after=(line.conversation_id, there[same - 1].id),
            )
            self._recover_other(line.conversation_id, own, line.skip + same)
        else:
            raise ImportRefusedError(f"{line.conversation_id} holds another conversation")

    def _recover_other(self, conversation_id: str, own: Sequence[_Own], skip: int) -> None:
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
        if refusal.status == 404 or refusal.reason == "deleted_recently":
            return f"{where} was imported before, and deleted since"
        said = " ".join(filter(None, (str(refusal.status), refusal.reason, refusal.message)))
        return f"{where}: {said}"


def _says_other(own: _Own, planned: PlannedEntry) -> bool:
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
