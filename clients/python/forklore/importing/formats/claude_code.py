"""Reads transcripts of Claude Code: JSON Lines, of one session or of several.

A row names the one before it as its `parentUuid`, so a session is a tree. Rows of one message of
the model, which have its id, become one message, unless something forks between them. The results
of a message's calls follow it one after the other, in whatever order they came. A sidechain is a
child of the call that started it. A summary is the title. Where the session was compacted, the rows
go on after those before it, and the model remembers the summary and what follows. Where a session
goes on after a row of another one of the file, it has the rows above that one, too.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forklore.importing.checks import is_id, time_of
from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.members import mapped, objects, parts_in
from forklore.importing.plain_conversations import Conversation, Message, rest

Row = Mapping[str, Any]
_KEPT = ("user", "assistant", "system")
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_OF_ALL = ("sessionId", "cwd", "version", "gitBranch", "userType")
_MAPPED = (
    "uuid",
    "parentUuid",
    "logicalParentUuid",
    "type",
    "message",
    "timestamp",
    "isSidechain",
    "content",
)


def is_row(value: Row) -> bool:
    """Tell whether a record is a row of a transcript."""
    is_title = value.get("type") == "summary" and "leafUuid" in value
    is_row_of_it = "sessionId" in value and isinstance(value.get("type"), str)
    is_of_qwen = "systemPayload" in value or "parts" in mapped(value.get("message"))
    is_of_vibe = "generationStatus" in value
    return is_title or (is_row_of_it and not is_of_qwen and not is_of_vibe)


def conversations_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[Conversation]:
    """Yield a conversation for each session."""
    sessions: dict[str, _Session] = {}
    all_rows: dict[str, Row] = {}
    titles: list[Row] = []
    for record in records:
        row = record.value
        if not isinstance(row, Mapping):
            report.add(Reason.OTHER_RECORD, record.place)
        elif _TITLES.get(str(row.get("type"))) in row:
            titles.append(row)
        elif not is_id(row.get("uuid")):
            report.add(Reason.OTHER_RECORD, f"{row.get('type')} in {record.place}")
        else:
            named = str(row.get("sessionId", ""))
            session = sessions.setdefault(named if is_id(named) else "session", _Session(record.place))
            kept = session.rows.setdefault(row["uuid"], row)
            if any(kept.get(name) != row.get(name) for name in ("message", "content")):
                report.add(Reason.NOT_A_MESSAGE, f"{row['uuid']}, which is there twice")
            all_rows.setdefault(row["uuid"], row)
    for row in sorted(titles, key=lambda row: row["type"] == "custom-title"):  # the user's wins
        title = row.get(_TITLES[row["type"]])
        of = [
            one
            for name, one in sessions.items()
            if str(row.get("leafUuid")) in one.rows or row.get("sessionId") == name
        ]
        if of and isinstance(title, str):
            of[0].title = title
        else:
            report.add(Reason.OTHER_RECORD, f"{row['type']} of another session")
    above = [_rows_above(session.rows, all_rows) for session in sessions.values()]
    place = {uuid: at for at, uuid in enumerate(all_rows)}
    for (name, session), rows in zip(sessions.items(), above, strict=True):
        if rows:
            held = {uuid: {**row, "sessionId": name} for uuid, row in rows.items()} | session.rows
            session.rows = {uuid: held[uuid] for uuid in sorted(held, key=place.__getitem__)}
        yield session.conversation(name)


def _rows_above(own: Mapping[str, Row], all_rows: Mapping[str, Row]) -> dict[str, Row]:
    """Return the rows of other sessions after which a session goes on."""
    found: dict[str, Row] = {}
    for row in own.values():
        above = _named_above(row)
        while above in all_rows and above not in own and above not in found:
            found[above] = all_rows[above]
            above = _named_above(found[above])
    return found


def _named_above(row: Row) -> str:
    return str(row.get("parentUuid") or row.get("logicalParentUuid"))


class _Session:
    """A session. rows: by their ids, in the order of the file."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.title: str | None = None
        self.rows: dict[str, Row] = {}
        self._head: dict[str, str] = {}  # of a row that is joined to others, the first of them
        self._joined: dict[str, list[Row]] = {}
        self._results: dict[str, list[str]] = {}  # of a message, the rows with its results
        self._answers: dict[str, str] = {}  # of a row with results, the message whose results they are
        self._call: dict[str, str] = {}  # of a call, the message that makes it
        self._last: set[str] = set()  # of the pieces of each message of the model

    def conversation(self, name: str) -> Conversation:
        """Return the conversation of the session: a line, where no row names another one."""
        if not any(row.get("parentUuid") or row.get("logicalParentUuid") for row in self.rows.values()):
            above = [None, *self.rows]
            self.rows = {
                uuid: row if row.get("isSidechain") else {**row, "parentUuid": before}
                for before, (uuid, row) in zip(above, self.rows.items(), strict=False)
            }
        self._join_compacted()
        below: dict[str | None, list[str]] = {}
        for uuid, row in self.rows.items():
            below.setdefault(self._above(row), []).append(uuid)
        for uuid, row in self.rows.items():
            if not self._is_joined(uuid, row, below):
                self._joined[uuid] = []
            head = self._head.get(uuid, uuid)
            self._joined[head].append(row)
            for block in _blocks(row):
                if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                    self._call[block["id"]] = head
            if self._result_ids(row):
                self._put_result(uuid, row)
        heads = {_said_by_model(rows[-1]): uuid for uuid, rows in self._joined.items()}
        self._last = {uuid for said_by_model, uuid in heads.items() if said_by_model is not None}
        messages = [self._message(uuid, rows) for uuid, rows in self._joined.items()]
        first = next(iter(self.rows.values()))
        agent = first.get("agentId") if all(row.get("isSidechain") for row in self.rows.values()) else None
        return Conversation(
            id=name if agent is None else f"{name}/{agent}",  # the file of a sidechain alone
            place=self.place,
            title=self.title,
            messages=messages,
            created_at=first.get("timestamp"),
            about={one: first[one] for one in _OF_ALL if one in first},
        )

    def _join_compacted(self) -> None:
        """Let a compacted session or sidechain go on after its last row in the file, if need be.

        That is so where it names a row that is not there, or one below it: a message that the
        compaction has kept.
        """
        before: dict[str | None, str] = {}
        for uuid, row in self.rows.items():
            chain = str(row.get("agentId")) if row.get("isSidechain") else None
            if row.get("logicalParentUuid") and not row.get("parentUuid"):
                above, seen = _named_above(row), {uuid}
                while above in self.rows and above not in seen:
                    seen.add(above)
                    above = _named_above(self.rows[above])
                if above == uuid or _named_above(row) not in self.rows:
                    self.rows[uuid] = {**row, "logicalParentUuid": before.get(chain)}
            before[chain] = uuid

    def _above(self, row: Row) -> str | None:
        """Return the row above one that is a message. Where it was compacted, it goes on there."""
        seen: set[str] = set()
        while True:
            above = row.get("parentUuid") or row.get("logicalParentUuid")
            if not isinstance(above, str) or above not in self.rows or above in seen:
                return above if isinstance(above, str) and above not in seen else None
            row = self.rows[above]
            if _reason(row) is None:
                return above
            seen.add(above)

    def _is_joined(self, uuid: str, row: Row, below: Mapping[str | None, list[str]]) -> bool:
        """Tell whether a row goes on with the message of the row above it, and note that."""
        above = self._above(row)
        if above is None or above not in self.rows:
            return False
        said, before = _said_by_model(row), _said_by_model(self.rows[above])
        if said is None or said != before:
            return False
        others = (self.rows[one] for one in below[above] if one != uuid)
        if not all(self._result_ids(other) for other in others):
            return False
        self._head[uuid] = self._head.get(above, above)
        return True

    def _result_ids(self, row: Row) -> list[str]:
        """Return the calls whose results a row is; empty if it says anything else."""
        blocks = _blocks(row)
        ids = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
        return ids if len(ids) == len(blocks) else []

    def _put_result(self, uuid: str, row: Row) -> None:
        heads = {self._call.get(one) for one in self._result_ids(row)}
        head = heads.pop() if len(heads) == 1 else None
        above = self._above(row)
        known = self._results.get(head, []) if head else []
        answered = {one for other in known for one in self._result_ids(self.rows[other])}
        is_of = above is not None and (
            self._head.get(above, above) == head or self._answers.get(above) == head
        )
        if head is not None and is_of and not answered & set(self._result_ids(row)):
            self._results.setdefault(head, []).append(uuid)
            self._answers[uuid] = head

    def _parent(self, uuid: str, row: Row) -> str | None:
        head = self._answers.get(uuid)
        if head is not None:
            chain = [head, *self._results[head]]
            return chain[chain.index(uuid) - 1]
        above = self._above(row)
        if above in self._answers:
            return self._results[self._answers[above]][-1]
        return self._head.get(above, above) if above is not None else None

    def _message(self, uuid: str, rows: list[Row]) -> Message:
        first, last = rows[0], rows[-1]
        parent = self._parent(uuid, first)
        is_child = bool(first.get("isSidechain")) and parent not in self.rows
        said = [part for row in rows for part in _said_in(row)]
        message = mapped(last.get("message"))
        envelope = next(iter(self.rows.values()))
        about = rest(last, *_MAPPED, *(one for one in _OF_ALL if last.get(one) == envelope.get(one)))
        told = rest(message, "role", "content", "type")
        if _said_by_model(last) is not None and uuid not in self._last:
            told.pop("usage", None)  # each piece tells that of the whole
        role = message.get("role", first.get("type"))
        return Message(
            id=uuid,
            parent=self._starter(first) if is_child else parent,
            is_child=is_child,
            role=role,
            said=said,
            at=first.get("timestamp"),
            is_summary=bool(first.get("isCompactSummary")),
            source={"model": told.pop("model", None), "metadata": {**told, **about}},
            left_out=_reason(first),
        )

    def _starter(self, row: Row) -> str | None:
        """Return the message that started a sidechain: by the agent's id, its prompt, or time."""
        prompt, agent, at = "\n".join(_texts(row)), row.get("agentId"), time_of(row.get("timestamp")) or ""
        last: str | None = None
        for uuid, other in self.rows.items():
            if other.get("isSidechain"):
                continue
            result = other.get("toolUseResult")
            if agent and isinstance(result, Mapping) and result.get("agentId") == agent:
                return next((self._call[one] for one in self._result_ids(other) if one in self._call), uuid)
            calls = [block for block in _blocks(other) if block.get("type") == "tool_use"]
            for block in calls:
                given = block.get("input")
                if prompt and isinstance(given, Mapping) and given.get("prompt") == prompt:
                    return self._head.get(uuid, uuid)
            if calls and (time_of(other.get("timestamp")) or "") <= at:
                last = self._head.get(uuid, uuid)
        return last or next((one for one, other in self.rows.items() if not other.get("isSidechain")), None)


def _reason(row: Row) -> Reason | None:
    """Return why a row is no message to show."""
    if row.get("type") not in _KEPT and not mapped(row.get("message")).get("role"):
        return Reason.OTHER_RECORD
    return Reason.HIDDEN if row.get("isMeta") else None


def _said_by_model(row: Row) -> str | None:
    """Return the id of the message of the model that a row is a piece of."""
    held = mapped(row.get("message")).get("id")
    return held if isinstance(held, str) and row.get("type") == "assistant" else None


def _blocks(row: Row) -> list[Row]:
    return objects(mapped(row.get("message")).get("content"))


def _texts(row: Row) -> list[str]:
    return [part if isinstance(part, str) else str(part.get("text", "")) for part in _said_in(row)]


def _said_in(row: Row) -> list[str | Row]:
    message = row.get("message")
    return parts_in(message.get("content") if isinstance(message, Mapping) else row.get("content"))
