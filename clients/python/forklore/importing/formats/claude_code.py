"""Reads transcripts of Claude Code: JSON Lines, of one session or of several.

A row names the one before it as its `parentUuid`, so a session is a tree. Rows of one message of
the model, which have its id, become one message, unless something forks between them. The results
of a message's calls follow it one after the other, in whatever order they came. A sidechain is a
child of the call that started it. A summary is the title.

Where the session was compacted, the rows go on after those before it, and the model remembers the
summary, the messages that the compaction has kept, and what follows. A fork holds the rows before
it once more, with their ids. Where a session goes on after a row of another one, it follows that.

Commands to the program, what these print, and what it writes itself in the user's name are
messages of the system.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.checks import is_id, time_of
from forklore.importing.foreign_trees import ImportReport, Link, Reason
from forklore.importing.members import mapped, objects, parts_in, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

Row = Mapping[str, Any]
_KEPT = ("user", "assistant", "system")
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_BESIDE = ("queue-operation", "file-history-snapshot", "last-prompt", "permission-mode", "agent-name")
"""Types of rows that stand beside messages, and that no other program has."""
_OF_ALL = ("sessionId", "cwd", "version", "gitBranch", "userType")
_MAPPED = (
    *("uuid", "parentUuid", "logicalParentUuid", "type", "message", "timestamp", "isSidechain"),
    "content",
)
_OF_THE_PROGRAM = re.compile(
    r"\s*<(?:local-command-|command-|bash-|task-notification)|\[Request interrupted by user"
)
"""How texts begin that the program writes in the user's name."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SYNTHETIC, _NOTHING = "<synthetic>", "No response requested."
"""What stands where the program has made an answer up, and what it says then."""


def is_row(value: Row) -> bool:
    """Tell whether a record is a row of a transcript."""
    kind = str(value.get("type"))
    if _TITLES.get(kind, kind) in value or kind in _BESIDE:
        return True
    message = mapped(value.get("message"))
    if "systemPayload" in value or "parts" in message or "generationStatus" in value:
        return False  # Qwen Code, Vibe
    is_message = "content" in message or "content" in value
    return "sessionId" in value and "parentUuid" in value and ("isSidechain" in value or is_message)


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield a conversation for each session."""
    sessions: dict[str, _Session] = {}
    of_row: dict[str, str] = {}
    titles: list[Row] = []
    for record in source:
        row = record.value
        if not isinstance(row, Mapping):
            report.add(Reason.OTHER_RECORD, record.place)
        elif _TITLES.get(str(row.get("type"))) in row:
            titles.append(row)
        elif not is_id(row.get("uuid")):
            report.add(Reason.OTHER_RECORD, f"{row.get('type')} in {record.place}")
        else:
            named = str(row.get("sessionId", ""))
            name = named if is_id(named) else "session"
            session = sessions.setdefault(name, _Session(record.place))
            kept = session.rows.setdefault(row["uuid"], row)
            if any(kept.get(one) != row.get(one) for one in ("message", "content")):
                report.add(Reason.NOT_A_MESSAGE, f"{row['uuid']}, which is there twice")
            of_row.setdefault(row["uuid"], name)
    for row in sorted(titles, key=lambda row: row["type"] == "custom-title"):  # the user's wins
        title, leaf = row.get(_TITLES[row["type"]]), str(row.get("leafUuid"))
        of = sessions.get(str(row.get("sessionId"))) or sessions.get(of_row.get(leaf, ""))
        if of and isinstance(title, str):
            of.title = title
        else:
            report.add(Reason.OTHER_RECORD, f"{row['type']} of another session")
    callers = _callers(source)
    for name, session in sessions.items():
        yield session.conversation(name, of_row, callers)


def _callers(source: Source) -> dict[str, str]:
    """Return by the ids of agents the calls that have started them, as is told beside the file."""
    folder = f"{source.path.stem}/subagents/" if not source.path.stem.startswith("agent-") else ""
    found: dict[str, str] = {}
    for name in source.beside(f"{folder}agent-*.meta.json"):
        call = text_in(*(mapped(value).get("toolUseId") for value in source.values(name)))
        found[name.rpartition("agent-")[2].removesuffix(".meta.json")] = call
    return found


def _preserved(row: Row) -> Row:
    return mapped(mapped(row.get("compactMetadata")).get("preservedMessages"))


def _named_above(row: Row) -> str:
    return str(row.get("parentUuid") or row.get("logicalParentUuid"))


class _Session:
    """A session. rows: by their ids, in the order of the file."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.title: str | None = None
        self.rows: dict[str, Row] = {}
        self._above: dict[str, str | None] = {}  # of each row the message above it
        self._head: dict[str, str] = {}  # of a row that is joined to others, the first of them
        self._joined: dict[str, list[Row]] = {}
        self._results: dict[str, list[str]] = {}  # of a row, the calls whose results it is, alone
        self._answers: dict[str, str] = {}  # of a row with results, the message whose results they are
        self._before: dict[str, str] = {}  # of such a row, the message or the results before it
        self._end: dict[str, str] = {}  # of a message with results, the last of them
        self._call: dict[str, str] = {}  # of a call, the message that makes it
        self._last: set[str] = set()  # of the pieces of each message of the model
        self._starters: _Starters | None = None

    def conversation(self, name: str, of_row: Mapping[str, str], callers: Mapping[str, str]) -> Conversation:
        """Return the conversation of the session: a line, where no row names another one.

        of_row: the session of each row. callers: the calls that have started agents.
        """
        if not any(row.get("parentUuid") or row.get("logicalParentUuid") for row in self.rows.values()):
            above = [None, *self.rows]
            self.rows = {
                uuid: row if row.get("isSidechain") else {**row, "parentUuid": before}
                for before, (uuid, row) in zip(above, self.rows.items(), strict=False)
            }
        self._join_compacted()
        self._find_messages_above()
        self._join_pieces()
        messages = [self._message(uuid, rows, callers) for uuid, rows in self._joined.items()]
        first = next(iter(self.rows.values()))
        agent = first.get("agentId") if all(row.get("isSidechain") for row in self.rows.values()) else None
        goes_on = next(
            (one for one in map(_named_above, self.rows.values()) if self._is_elsewhere(one, of_row)), ""
        )
        call = callers.get(str(agent), "")
        return Conversation(
            id=name if agent is None else f"{name}/{agent}",  # the file of a sidechain alone
            place=self.place,
            title=self.title,
            messages=messages,
            created_at=first.get("timestamp"),
            project=first.get("cwd"),
            goes_on_from=Link(session=of_row[goes_on], message=goes_on) if goes_on else None,
            child_of=Link(session=name, call=call, told="" if call else str(agent)) if agent else None,
            about={one: first[one] for one in _OF_ALL if one in first},
        )

    def _is_elsewhere(self, uuid: str, of_row: Mapping[str, str]) -> bool:
        return uuid in of_row and uuid not in self.rows

    def _join_compacted(self) -> None:
        """Let a compacted session or sidechain go on after the last row that it has kept, or else
        after its last row in the file, where it names a row that is not there or comes later."""
        place = {uuid: at for at, uuid in enumerate(self.rows)}
        before: dict[str | None, str] = {}
        for uuid, row in self.rows.items():
            chain = str(row.get("agentId")) if row.get("isSidechain") else None
            if row.get("logicalParentUuid") and not row.get("parentUuid"):
                tail = str(mapped(mapped(row.get("compactMetadata")).get("preservedSegment")).get("tailUuid"))
                named = tail if place.get(tail, place[uuid]) < place[uuid] else _named_above(row)
                if place.get(named, place[uuid]) >= place[uuid]:
                    named = before.get(chain, "")
                self.rows[uuid] = {**row, "logicalParentUuid": named}
            before[chain] = uuid

    def _find_messages_above(self) -> None:
        """Find the message above each row. What is none is passed over."""
        for start in self.rows:
            way: dict[str, None] = {}
            at: str | None = start
            while at is not None and at in self.rows and at not in self._above and at not in way:
                way[at] = None
                at = (
                    str(self.rows[at].get("parentUuid") or self.rows[at].get("logicalParentUuid") or "")
                    or None
                )
            for uuid in reversed(way):
                named = str(
                    self.rows[uuid].get("parentUuid") or self.rows[uuid].get("logicalParentUuid") or ""
                )
                if named not in self.rows:
                    self._above[uuid] = named or None
                elif _reason(self.rows[named]) is None:
                    self._above[uuid] = named
                else:
                    self._above[uuid] = self._above.get(named)  # None in a cycle

    def _join_pieces(self) -> None:
        """Join the rows of each message of the model, and put its calls' results behind it."""
        others: dict[str | None, int] = {}  # how many rows below a message are no results alone
        for uuid, row in self.rows.items():
            self._results[uuid] = _result_ids(row)
            others[self._above[uuid]] = others.get(self._above[uuid], 0) + (not self._results[uuid])
        answered: dict[str, set[str]] = {}
        for uuid, row in self.rows.items():
            above = self._above[uuid]
            said = _said_by_model(row)
            is_piece = above in self.rows and said is not None and said == _said_by_model(self.rows[above])
            if is_piece and above is not None and others[above] == 1:
                self._head[uuid] = self._head.get(above, above)
            else:
                self._joined[uuid] = []
            head = self._head.get(uuid, uuid)
            self._joined[head].append(row)
            for block in _blocks(row):
                if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                    self._call[block["id"]] = head
            if self._results[uuid]:
                self._put_result(uuid, answered)
        heads = {_said_by_model(rows[-1]): uuid for uuid, rows in self._joined.items()}
        self._last = {uuid for said_by_model, uuid in heads.items() if said_by_model is not None}

    def _put_result(self, uuid: str, answered: dict[str, set[str]]) -> None:
        """Put results behind the others of the same message. answered: its calls that have one."""
        ids = self._results[uuid]
        heads = {self._call.get(one) for one in ids}
        head = heads.pop() if len(heads) == 1 else None
        above = self._above[uuid]
        if (
            head is None
            or above is None
            or head not in (self._head.get(above, above), self._answers.get(above))
        ):
            return
        if answered.setdefault(head, set()).isdisjoint(ids):
            answered[head].update(ids)
            self._answers[uuid] = head
            self._before[uuid] = self._end.get(head, head)
            self._end[head] = uuid

    def _parent(self, uuid: str) -> str | None:
        if uuid in self._before:
            return self._before[uuid]
        above = self._above[uuid]
        if above in self._answers:
            return self._end[self._answers[above]]
        return self._head.get(above, above) if above is not None else None

    def _message(self, uuid: str, rows: list[Row], callers: Mapping[str, str]) -> Message:
        first, last = rows[0], rows[-1]
        parent = self._parent(uuid)
        is_child = bool(first.get("isSidechain")) and parent not in self.rows
        said = [part for row in rows for part in _said_in(row)]
        message = mapped(last.get("message"))
        envelope = next(iter(self.rows.values()))
        about = rest(last, *_MAPPED, *(one for one in _OF_ALL if last.get(one) == envelope.get(one)))
        told = rest(message, "role", "content", "type")
        if _said_by_model(last) is not None and uuid not in self._last:
            told.pop("usage", None)  # each piece tells that of the whole
        role = message.get("role", first.get("type"))
        if role == "user" and said and all(map(_is_of_the_program, said)):
            role, said = "system", [_ESCAPES.sub("", part) for part in _texts(said)]
        if first.get("isCompactSummary"):
            role = "system"
        above = mapped(self.rows.get(str(self._above[uuid])))
        kept = _preserved(first).get("uuids") or _preserved(above).get("uuids")
        anchor = mapped(mapped(above.get("compactMetadata")).get("preservedSegment")).get("anchorUuid")
        return Message(
            id=uuid,
            entry_id=str(last["uuid"]) if last is not first else "",
            parent=self._starter(first, callers) if is_child else parent,
            is_child=is_child,
            role=role,
            said=said,
            at=first.get("timestamp"),
            is_summary=bool(first.get("isCompactSummary")),
            kept=self._heads_of(kept) if first.get("isCompactSummary") else (),
            kept_first=bool(first.get("isCompactSummary") and anchor and anchor == above.get("uuid")),
            source={"model": told.pop("model", None), "metadata": {**told, **about}},
            left_out=_reason(first) or _left_out(first, said),
        )

    def _heads_of(self, uuids: Any) -> list[str]:
        """Return the messages that rows are pieces of."""
        named = uuids if isinstance(uuids, list) else []
        heads = (self._head.get(one, one) for one in named if isinstance(one, str))
        return [
            one for one in dict.fromkeys(heads) if one in self._joined and _reason(self.rows[one]) is None
        ]

    def _starter(self, row: Row, callers: Mapping[str, str]) -> str | None:
        """Return the message that started a sidechain: by its call, agent, prompt, or time."""
        call = self._call.get(callers.get(str(row.get("agentId")), ""))
        if call is not None:
            return call
        if self._starters is None:
            self._starters = _Starters(self.rows, self._head, self._call)
        return self._starters.of(row)


class _Starters:
    """Which message of a session started a sidechain."""

    def __init__(self, rows: Mapping[str, Row], head: Mapping[str, str], call: Mapping[str, str]) -> None:
        self._by_agent: dict[str, str] = {}
        self._by_prompt: dict[str, str] = {}
        calling: list[tuple[str, str]] = []
        self._first: str | None = None
        for uuid, row in rows.items():
            if row.get("isSidechain"):
                continue
            self._first = self._first or uuid
            agent = mapped(row.get("toolUseResult")).get("agentId")
            if isinstance(agent, str) and agent not in self._by_agent:
                self._by_agent[agent] = next((call[one] for one in _result_ids(row) if one in call), uuid)
            blocks = [block for block in _blocks(row) if block.get("type") == "tool_use"]
            for block in blocks:
                prompt = mapped(block.get("input")).get("prompt")
                if isinstance(prompt, str):
                    self._by_prompt.setdefault(prompt, head.get(uuid, uuid))
            if blocks:
                calling.append((time_of(row.get("timestamp")) or "", head.get(uuid, uuid)))
        self._calling = sorted(calling, key=lambda one: one[0])
        self._times = [at for at, _ in self._calling]

    def of(self, row: Row) -> str | None:
        """Return the message that started the sidechain that begins with a row."""
        agent, prompt = str(row.get("agentId")), "\n".join(_texts(_said_in(row)))
        found = self._by_agent.get(agent) or (self._by_prompt.get(prompt) if prompt else None)
        at = bisect_right(self._times, time_of(row.get("timestamp")) or "")
        return found or (self._calling[at - 1][1] if at else self._first)


def _reason(row: Row) -> Reason | None:
    """Return why a row is no message to show."""
    if row.get("type") not in _KEPT and not mapped(row.get("message")).get("role"):
        return Reason.OTHER_RECORD
    if row.get("type") == "system" and not _said_in(row):
        return Reason.OTHER_RECORD
    return Reason.HIDDEN if row.get("isMeta") else None


def _left_out(row: Row, said: list[str | Row]) -> Reason | None:
    """Return why a message is not imported that rows may hang on."""
    is_made_up = mapped(row.get("message")).get("model") == _SYNTHETIC
    return Reason.HIDDEN if is_made_up and _texts(said) == [_NOTHING] else None


def _is_of_the_program(part: str | Row) -> bool:
    return any(_OF_THE_PROGRAM.match(text) for text in _texts([part]))


def _said_by_model(row: Row) -> str | None:
    """Return the id of the message of the model that a row is a piece of."""
    held = mapped(row.get("message")).get("id")
    return held if isinstance(held, str) and row.get("type") == "assistant" else None


def _blocks(row: Row) -> list[Row]:
    return objects(mapped(row.get("message")).get("content"))


def _result_ids(row: Row) -> list[str]:
    """Return the calls whose results a row is; empty if it says anything else."""
    blocks = _blocks(row)
    ids = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
    return ids if len(ids) == len(blocks) else []


def _texts(said: list[str | Row]) -> list[str]:
    return [part if isinstance(part, str) else str(part.get("text", "")) for part in said]


def _said_in(row: Row) -> list[str | Row]:
    message = row.get("message")
    return parts_in(message.get("content") if isinstance(message, Mapping) else row.get("content"))
