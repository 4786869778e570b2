"""Writes talks as agent programs do, as far as a reader needs it.

A talk is a list of messages, each after its parent. Some programs keep branches in one session;
others have a session for each branch, with copies of what both share.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BEGUN = 1_795_885_624_000
"""Milliseconds since 1970."""


@dataclass(frozen=True)
class Said:
    """A message. parent: the number of the one before it. by: `user` or `assistant`."""

    number: int
    parent: int | None
    by: str
    text: str

    @property
    def at(self) -> int:
        """Milliseconds since 1970: each number has its own."""
        return BEGUN + 1000 * self.number

    @property
    def time(self) -> str:
        """The same as RFC 3339, on a made-up day."""
        minutes, seconds = divmod(self.number, 60)
        hours, minutes = divmod(minutes, 60)
        return f"2026-11-{1 + hours // 24:02}T{hours % 24:02}:{minutes:02}:{seconds:02}.000Z"

    def name(self, number: int | None) -> str | None:
        """Return the id of a message; None for none."""
        return None if number is None else f"{number:08x}"

    @property
    def id(self) -> str:
        return f"{self.number:08x}"

    @property
    def above(self) -> str | None:
        return self.name(self.parent)


Sessions = Mapping[str, Sequence[Said]]


@dataclass(frozen=True)
class Format:
    """write: writes sessions into a folder. has_branches: in one session; else each is a line."""

    write: Callable[[Path, Sessions], None]
    has_branches: bool = False


def talk(*parents: int | None) -> list[Said]:
    """Return a talk by the parents of its messages; users and the model take turns."""
    found: list[Said] = []
    for number, parent in enumerate(parents):
        by = "user" if parent is None or found[parent].by == "assistant" else "assistant"
        found.append(Said(number, parent, by, f"{by} {number}"))
    return found


def line(length: int) -> list[Said]:
    """Return a talk without branches."""
    return talk(None, *range(length - 1))


def paths(said: Sequence[Said]) -> Iterator[list[Said]]:
    """Yield the messages down to each end."""
    parents = {one.parent for one in said}
    for end in said:
        if end.number not in parents:
            way = [end]
            while way[-1].parent is not None:
                way.append(said[way[-1].parent])
            yield way[::-1]


def branches_of(said: Sequence[Said]) -> list[list[str]]:
    """Return the lines of each branch, as `shapes.branches` does, in the order of the alphabet."""
    return sorted([f"{one.by}: {one.text}" for one in path] for path in paths(said))


def _lines(path: Path, rows: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def _text(said: Said) -> list[dict[str, str]]:
    return [{"type": "text", "text": said.text}]


def write_claude_code(folder: Path, sessions: Sessions) -> None:
    for name, said in sessions.items():
        rows = [
            {
                "uuid": one.id,
                "parentUuid": one.above,
                "sessionId": name,
                "isSidechain": False,
                "timestamp": one.time,
                "type": one.by,
                "cwd": "/home/ann",
                "message": {"id": f"msg_{one.id}", "role": one.by, "content": _text(one)},
            }
            for one in said
        ]
        _lines(folder / f"{name}.jsonl", rows)


def write_codex(folder: Path, sessions: Sessions) -> None:
    for name, said in sessions.items():
        rows: list[Any] = [
            {
                "timestamp": said[0].time,
                "type": "session_meta",
                "payload": {"id": name, "timestamp": said[0].time, "cwd": "/home/ann"},
            }
        ]
        for one in said:
            kind = {"user": "input_text", "assistant": "output_text"}[one.by]
            item: dict[str, Any] = {"type": "message", "id": f"msg_{one.id}", "role": one.by}
            item |= {"content": [{"type": kind, "text": one.text}]}
            rows.append({"timestamp": one.time, "type": "response_item", "payload": item})
        _lines(folder / f"rollout-2026-11-01T00-00-00-{name}.jsonl", rows)


def write_pi(folder: Path, sessions: Sessions) -> None:
    for name, said in sessions.items():
        head = {"type": "session", "version": 3, "id": name, "timestamp": said[0].time, "cwd": "/home/ann"}
        rows = [
            {
                "type": "message",
                "id": one.id,
                "parentId": one.above,
                "timestamp": one.time,
                "message": {"role": one.by, "content": _text(one), "timestamp": one.at},
            }
            for one in said
        ]
        _lines(folder / f"{name}.jsonl", [head, *rows])


def write_qwen(folder: Path, sessions: Sessions) -> None:
    for name, said in sessions.items():
        rows = [
            {
                "uuid": one.id,
                "parentUuid": one.above,
                "sessionId": name,
                "timestamp": one.time,
                "type": one.by,
                "cwd": "/home/ann",
                "message": {"role": "model", "parts": [{"text": one.text}]},
            }
            for one in said
        ]
        _lines(folder / f"{name}.jsonl", rows)


def write_gemini(folder: Path, sessions: Sessions) -> None:
    for name, said in sessions.items():
        rows: list[Any] = [{"sessionId": name, "projectHash": "f", "startTime": said[0].time, "kind": "main"}]
        for at, one in enumerate(said):
            if one.parent is not None and one.parent != said[at - 1].number:
                rows.append({"$rewindTo": next(x.id for x in said if x.parent == one.parent)})
            kind = {"user": "user", "assistant": "gemini"}[one.by]
            rows.append({"id": one.id, "timestamp": one.time, "type": kind, "content": [{"text": one.text}]})
            rows.append({"$set": {"lastUpdated": one.time}})
        _lines(folder / f"session-{name}.jsonl", rows)


def write_copilot(folder: Path, sessions: Sessions) -> None:
    for name, said in sessions.items():
        start = {"sessionId": name, "startTime": said[0].time}
        rows = [{"type": "session.start", "data": start, "id": f"{name}-start", "parentId": None}]
        rows += [
            {"type": f"{one.by}.message", "data": {"content": one.text}, "id": one.id, "parentId": one.above}
            for one in said
        ]
        _lines(folder / name / "events.jsonl", [{**row, "timestamp": said[0].time} for row in rows])


def write_cline(folder: Path, sessions: Sessions) -> None:
    for name, said in sessions.items():
        rows = [{"id": one.id, "role": one.by, "content": _text(one), "ts": one.at} for one in said]
        told = {"version": 1, "sessionId": name, "origin": {"sessionId": name}, "messages": rows}
        _json(folder / name / f"{name}.messages.json", told)


def write_continue(folder: Path, sessions: Sessions) -> None:
    for name, said in sessions.items():
        items = [{"message": {"role": one.by, "content": one.text}, "contextItems": []} for one in said]
        told = {"sessionId": name, "title": "Untitled Session", "workspaceDirectory": "/", "history": items}
        _json(folder / f"{name}.json", told)


def write_openhands(folder: Path, sessions: Sessions) -> None:
    for name, said in sessions.items():
        state = {"id": name, "persistence_dir": "/", "execution_status": "finished", "tags": {}}
        _json(folder / name / "base_state.json", {**state, "leaf_event_id": said[-1].id})
        for at, one in enumerate(said):
            told = {"id": one.id, "parent_id": one.above, "timestamp": one.time, "source": one.by}
            message = {"llm_message": {"role": one.by, "content": _text(one)}, "kind": "MessageEvent"}
            _json(folder / name / f"events/event-{at:05}-{one.id}.json", told | message)


def write_kimi(folder: Path, sessions: Sessions) -> None:
    for name, said in sessions.items():
        rows: list[Any] = [{"type": "metadata", "protocol_version": "1.5", "created_at": said[0].at}]
        for one in said:
            if one.by == "user":
                message = {"role": "user", "content": _text(one), "id": one.id, "origin": {"kind": "user"}}
                rows.append({"type": "context.append_message", "message": message, "time": one.at})
                continue
            part = {"type": "content.part", "uuid": "p", "stepUuid": one.id, "part": _text(one)[0]}
            events = [{"type": "step.begin", "uuid": one.id}, part, {"type": "step.end", "uuid": one.id}]
            rows += [
                {"type": "context.append_loop_event", "event": event, "time": one.at} for event in events
            ]
        _lines(folder / name / "agents/main/wire.jsonl", rows)
        _json(folder / name / "state.json", {"id": name, "version": 2, "agents": {"main": {"type": "main"}}})


def _database(path: Path, tables: Mapping[str, str], rows: Mapping[str, list[tuple[Any, ...]]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        for name, columns in tables.items():
            database.execute(f'CREATE TABLE "{name}" ({columns})')
            marks = ", ".join("?" * (columns.count(",") + 1))
            database.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows[name])
        database.commit()


OPENCODE = {
    "session": "id, parent_id, title, directory, revert, time_created, time_updated, time_archived",
    "message": "id, session_id, time_created, data",
    "part": "id, message_id, session_id, data",
}
GOOSE = {
    "sessions": "id, name, session_type, working_dir, created_at, updated_at, archived_at, parent_session_id",
    "messages": "id INTEGER PRIMARY KEY, message_id, session_id, role, content_json, created_timestamp,"
    " metadata_json",
}
LLM = {
    "threads": "id, name, tip_message_hash, forked_from, datetime_utc",
    "messages": "hash, parent_hash, role, provider_metadata",
    "parts": "id, message_hash, position, type, tool_name, text, payload",
    "turns": "id, thread_id, parent_message_hash, tip_message_hash, model, input_tokens, output_tokens,"
    " token_details, datetime_utc",
}


def write_opencode(folder: Path, sessions: Sessions, reverted: Said | None = None) -> None:
    """reverted: from which message on each session is hidden until its user goes on."""
    rows: dict[str, list[tuple[Any, ...]]] = {"session": [], "message": [], "part": []}
    for name, said in sessions.items():
        revert = json.dumps({"messageID": f"{name}-{reverted.id}"}) if reverted else None
        rows["session"].append((name, None, None, "/home/ann", revert, said[0].at, said[-1].at, None))
        for one in said:
            message, times = f"{name}-{one.id}", {"created": one.at, "completed": one.at}
            rows["message"].append((message, name, one.at, json.dumps({"role": one.by, "time": times})))
            rows["part"].append((f"{message}-1", message, name, json.dumps(_text(one)[0])))
    _database(folder / "opencode.db", OPENCODE, rows)


def write_goose(folder: Path, sessions: Sessions) -> None:
    rows: dict[str, list[tuple[Any, ...]]] = {"sessions": [], "messages": []}
    for name, said in sessions.items():
        rows["sessions"].append((name, name, "user", "/home/ann", said[0].time, said[-1].time, None, None))
        rows["messages"] += [
            (None, one.id, name, one.by, json.dumps(_text(one)), one.at // 1000, "{}") for one in said
        ]
    _database(folder / "sessions.db", GOOSE, rows)


def write_llm(folder: Path, sessions: Sessions) -> None:
    every = {one.id: one for said in sessions.values() for one in said}
    threads = [(name, name, said[-1].id, None, said[0].time) for name, said in sessions.items()]
    turns = [
        (name, name, said[-1].above, said[-1].id, "m", 3, 2, None, said[-1].time)
        for name, said in sessions.items()
    ]
    rows: dict[str, list[tuple[Any, ...]]] = {
        "threads": threads,
        "messages": [(one.id, one.above, one.by, None) for one in every.values()],
        "parts": [(at, one.id, 0, "text", None, one.text, None) for at, one in enumerate(every.values())],
        "turns": turns,
    }
    _database(folder / "logs.db", LLM, rows)


FORMATS = {
    "claude-code": Format(write_claude_code, has_branches=True),
    "codex": Format(write_codex),
    "pi": Format(write_pi, has_branches=True),
    "qwen-code": Format(write_qwen, has_branches=True),
    "gemini-cli": Format(write_gemini, has_branches=True),
    "copilot-cli": Format(write_copilot),
    "opencode": Format(write_opencode),
    "goose": Format(write_goose),
    "llm": Format(write_llm, has_branches=True),
    "cline": Format(write_cline),
    "openhands": Format(write_openhands, has_branches=True),
    "continue": Format(write_continue),
    "kimi-code": Format(write_kimi),
}
