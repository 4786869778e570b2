"""Reads sessions of Gemini CLI: a log of messages and changes, or, as older ones are, one object.

A row of a message replaces an earlier one with its id. `$set.messages` tells all that the model has
from there on, mostly messages that are there already: after a compression a summary, and copies of
those that are kept; after a turn that was cancelled all but what the user had asked. `$rewindTo`
names the message before which the next one goes on. A session that is resumed begins again with its
head. A sub-agent's file stands in a folder that is called as the session that has started it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Link, Reason
from forklore.importing.formats.google_parts import call_of, results_in, said_in, usage_of
from forklore.importing.members import mapped, objects, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

Row = Mapping[str, Any]
_HIDDEN = "<session_context>"
_SUMMARY = "<state_snapshot>"
_TAKEN = "Got it. Thanks for the additional context!"
"""What the program lets the model answer to a summary."""
_MAPPED = (
    *("id", "timestamp", "type", "content", "displayContent", "thoughts", "tokens", "model", "toolCalls"),
)


def is_session(value: Row) -> bool:
    """Tell whether a record is the head of a session, or an older one."""
    return {"sessionId", "projectHash"} <= value.keys()


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield the session of a file."""
    log = _Log()
    head: Row = {}
    told: dict[str, Any] = {}
    for record in source:
        row = mapped(record.value)
        changes = mapped(row.get("$set"))
        if is_session(row):
            head, changes = head or rest(row, "messages"), row
        told |= rest(changes, "messages")
        if text_in(row.get("$rewindTo")):
            log.rewind(row["$rewindTo"])
        elif row.get("id") is not None:
            log.put(row, record.place, report)
        elif not changes:
            report.add(Reason.OTHER_RECORD, record.place)
        log.take(objects(changes.get("messages")), record.place, report)
    if head or log.rows:
        session = text_in(head.get("sessionId")) or None
        messages = log.messages()
        yield Conversation(
            id=session,
            messages=messages,
            title=told.get("summary"),
            created_at=head.get("startTime"),
            updated_at=told.get("lastUpdated"),
            current=log.ends.get(log.tip or ""),
            about=rest(head, "sessionId", "startTime", "lastUpdated", "summary"),
            child_of=_link(source, session) if head.get("kind") == "subagent" and session else None,
        )


class _Log:
    """The messages of a log. tip: after which the next one goes on. rows: by their ids."""

    def __init__(self) -> None:
        self.tip: str | None = None
        self.rows: dict[str, Row] = {}
        self.ends: dict[str, str] = {}  # of a row, the last message that is made of it
        self._above: dict[str, str | None] = {}
        self._copies: set[str] = set()  # of messages that are kept beside a summary, and its answer
        self._kept: dict[str, list[str]] = {}  # by the summary, the rows that are kept

    def rewind(self, name: str) -> None:
        """Go on before a message."""
        self.tip = self._above.get(name, self.tip)

    def put(self, row: Row, place: str, report: ImportReport) -> None:
        """Take a message, new or told again. What else the program shows has no place."""
        name = text_in(row.get("id"))
        if name in self._copies:
            return
        if not name or row.get("type") not in ("user", "gemini"):
            report.add(Reason.OTHER_RECORD, f"{row.get('type')} in {place}")
        elif name in self.rows:
            self.rows[name] = {**self.rows[name], **row}
        else:
            self.rows[name], self._above[name] = row, self.tip
            self.tip = name

    def take(self, rows: Sequence[Row], place: str, report: ImportReport) -> None:
        """Take all that the model has from now on."""
        new = [at for at, row in enumerate(rows) if self._is_new(row)]
        begins = next((at for at in new if _is_summary(rows, at)), len(rows))
        above = self.tip
        for row in rows[: begins + 1]:
            above = self.tip
            self.put(row, place, report)
        held = [row for row in rows[begins + 1 :] if self._is_new(row)]
        if begins == len(rows):
            names = [text_in(row.get("id")) for row in rows]
            self.tip = next((name for name in reversed(names) if name in self.rows), self.tip)
            return
        if self.tip != text_in(rows[begins].get("id")):
            return
        kept = self._kept[self.tip or ""] = []
        while held and (not _words(held[-1]) or (above := self._same(held[-1], above)) is not None):
            if _words(held[-1]):
                kept.append(above or "")
                above = self._above[above or ""]
            self._copies.add(text_in(held.pop().get("id")))
        kept.reverse()
        for row in held:
            if _words(row) == [_TAKEN]:
                self._copies.add(text_in(row.get("id")))
            self.put(row, place, report)

    def _is_new(self, row: Row) -> bool:
        name = text_in(row.get("id"))
        return name not in self.rows and name not in self._copies

    def _same(self, row: Row, name: str | None) -> str | None:
        """Return the nearest row, at or above one and below a summary, that says the same."""
        while name is not None and name not in self._kept:
            if self.rows[name].get("type") == row.get("type") and _words(self.rows[name]) == _words(row):
                return name
            name = self._above[name]
        return None

    def messages(self) -> list[Message]:
        """Return the messages: of each answer, then of the results of its calls."""
        found: dict[str, Message] = {}
        made_of: dict[str, list[str]] = {}
        callers: dict[str, str] = {}
        for name, row in self.rows.items():
            above = self.ends.get(self._above[name] or "")
            here = made_of[name] = list[str]()
            made = _message_of(row, name, above, is_summary=name in self._kept)
            made.kept = [one for kept in self._kept.get(name, ()) for one in made_of.get(kept, ())]
            results = [
                one for call in objects(row.get("toolCalls")) for one in results_in(call.get("result"))
            ]
            for part in made.said:
                if not isinstance(part, str) and isinstance(part.get("id"), str):
                    callers.setdefault(part["id"], name)
            results += results_in(row.get("content"))
            if made.said or not results:
                found[name], above = made, name
                here.append(name)
            for result in results:
                call = str(result["tool_use_id"])
                one = f"{callers.get(call, name)} {call}"
                if one in found:  # told with its call already
                    continue
                found[one] = Message(
                    id=one, parent=above, role="tool", said=[result], at=row.get("timestamp")
                )
                above = one
                here.append(one)
            if above is not None:
                self.ends[name] = above
        return [*found.values()]


def _words(row: Row) -> list[str]:
    """Return the texts that a row says."""
    return [part for part in said_in(row.get("content")) if isinstance(part, str)]


def _is_summary(rows: Sequence[Row], at: int) -> bool:
    """Tell whether a row is a summary: it says so, or is answered as one."""
    begins = "".join(_words(rows[at])[:1]).startswith(_SUMMARY)
    return begins or (at + 1 < len(rows) and _words(rows[at + 1]) == [_TAKEN])


def _message_of(row: Row, name: str, above: str | None, *, is_summary: bool) -> Message:
    is_user = row.get("type") == "user"
    thoughts = [_thought(one) for one in objects(row.get("thoughts"))]
    calls = [call_of(one) for one in objects(row.get("toolCalls"))]
    said: list[Any] = _shown(row) if is_user else said_in(row.get("content"))
    if thoughts or calls:  # newer versions tell them in the content, too
        known = {"thinking": bool(thoughts), "tool_use": bool(calls)}
        said = [part for part in said if isinstance(part, str) or not known.get(str(part.get("type")))]
    words = next((part for part in said if isinstance(part, str)), "")
    is_summary, is_hidden = is_summary or words.startswith(_SUMMARY), words.startswith(_HIDDEN)
    return Message(
        id=name,
        key=None if is_hidden else "",
        parent=above,
        role="system" if is_summary else "user" if is_user else "assistant",
        said=[*thoughts, *said, *calls],
        at=row.get("timestamp"),
        model=row.get("model"),
        usage=usage_of(row.get("tokens"), "input", "output", "cached"),
        source={} if is_summary else rest(row, *_MAPPED),
        is_summary=is_summary,
        left_out=Reason.HIDDEN if is_hidden else None,
    )


def _thought(raw: Row) -> dict[str, Any]:
    texts = (text_in(raw.get("subject")), text_in(raw.get("description")))
    return {"type": "thinking", "thinking": "\n".join(filter(None, texts))}


def _shown(row: Row) -> list[Any]:
    """Return what a user has said: the words as they were typed, and what was sent along."""
    said = said_in(row.get("content"))
    typed = said_in(row.get("displayContent"))
    return [*typed, *(part for part in said if not isinstance(part, str))] if typed else said


def _link(source: Source, session: str) -> Link:
    """Return the call that has started a sub-agent: its session names the agent there."""
    parent = source.path.parent.name
    for name in source.beside(f"../session-*-{parent[:8]}.jsonl"):
        for value in source.values(name):
            for call in objects(mapped(value).get("toolCalls")):
                if call.get("agentId") == session and text_in(call.get("id")):
                    return Link(session=parent, call=call["id"])
    return Link(session=parent)
