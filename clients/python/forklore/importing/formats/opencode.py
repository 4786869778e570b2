"""Reads sessions of opencode: its database, or what `opencode export` writes.

The messages of a session follow each other by their times. A fork has copies of them under new ids,
so a message is known by what a copy keeps: its time, its words and the ids of its calls. A
sub-agent is a session that names its parent; the call names it, too. What was reverted stays until
the user goes on: it is a branch that is not shown.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from forklore.client import jsontext
from forklore.importing.checks import without_halves
from forklore.importing.foreign_trees import ImportReport, Link, Reason
from forklore.importing.members import json_in, mapped, objects, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

Row = Mapping[str, Any]
TABLES = {
    "session": ("id", "parent_id", "directory", "revert", "time_archived"),
    "message": ("id", "session_id", "time_created", "data"),
    "part": ("id", "message_id", "data"),
}
_STEPS = ("step-start", "step-finish", "snapshot", "patch")
_INFO = ("id", "sessionID", "role", "time", "parentID", "tokens", "modelID", "summary")
_SESSION = ("id", "parentID", "title", "directory", "time", "revert", "tokens", "cost", "summary")


def is_export(value: Row) -> bool:
    """Tell whether a record is an exported session."""
    info = mapped(value.get("info"))
    return {"id", "projectID", "directory"} <= info.keys() and "messages" in value


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield each session of a database, or that of each record."""
    if source.database is None:
        for record in source:
            value = mapped(record.value)
            rows = objects(value.get("messages"))
            held = [(mapped(row.get("info")), objects(row.get("parts"))) for row in rows]
            found = _conversation_of(mapped(value.get("info")), held, {}, report)
            found.place = record.place
            yield found
        return
    callers: dict[str, str] = {}
    for (data,) in source.database.execute("SELECT data FROM part WHERE data LIKE '%\"sessionId\"%'"):
        part = mapped(json_in(data))
        child = text_in(mapped(mapped(part.get("state")).get("metadata")).get("sessionId"))
        callers[child] = text_in(part.get("callID"))
    sessions = {row["id"]: dict(row) for row in source.database.execute("SELECT * FROM session")}
    parts = source.database.execute(
        "SELECT m.session_id, m.id, m.data, p.id, p.data FROM message AS m"
        " LEFT JOIN part AS p ON p.message_id = m.id"
        " ORDER BY m.session_id, m.time_created, m.id, p.id"
    )
    for name, of_session in groupby(parts, key=lambda row: row[0]):
        info = _as_exported(sessions.get(name, {"id": name}))
        yield _conversation_of(info, list(_held(of_session)), callers, report)


def _held(rows: Iterable[Any]) -> Iterator[tuple[Row, list[Row]]]:
    """Yield each message of a session with its parts."""
    for (name, data), parts in groupby(rows, key=lambda row: (row[1], row[2])):
        yield {**mapped(json_in(data)), "id": name}, [mapped(json_in(row[4])) for row in parts]


def _as_exported(row: Row) -> dict[str, Any]:
    """Return what a row of a session says, as an export says it."""
    times = {one: row.get(f"time_{one}") for one in ("created", "updated", "archived")}
    names = {"parentID": "parent_id", "title": "title", "directory": "directory", "version": "version"}
    told = {name: row.get(one) for name, one in names.items()}
    return {"id": row["id"], **told, "revert": json_in(row.get("revert")), "time": times}


def _conversation_of(
    info: Row, held: list[tuple[Row, list[Row]]], callers: Mapping[str, str], report: ImportReport
) -> Conversation:
    name, parent = text_in(info.get("id")), text_in(info.get("parentID"))
    reverted = text_in(mapped(info.get("revert")).get("messageID"))
    messages: list[Message] = []
    current: str | None = None
    is_shown = True
    kept_from: str = ""
    places: dict[str, int] = {}
    for about, parts in held:
        is_shown = is_shown and not (reverted and about.get("id") == reverted)
        above = messages[-1].id if messages else None
        made = _messages_of(about, parts, above, f"#{len(messages)}", report)
        tails = [text_in(part.get("tail_start_id")) for part in parts if part.get("type") == "compaction"]
        kept_from = tails[0] if tails else kept_from
        if made[0].is_summary:
            begin = places.get(kept_from, len(messages))
            made[0].kept = [one.id for one in messages[begin:-1]]
        places |= {one.id: len(messages) + at for at, one in enumerate(made)}
        messages += made
        current = messages[-1].id if is_shown else current
    times = mapped(info.get("time"))
    return Conversation(
        id=name or None,
        messages=messages,
        title=info.get("title"),
        created_at=times.get("created"),
        updated_at=times.get("updated"),
        project=info.get("directory"),
        current=current,
        is_archived=bool(times.get("archived")),
        about=rest(info, *_SESSION),
        child_of=Link(session=parent, call=callers.get(name, "")) if parent else None,
    )


def _messages_of(
    info: Row, parts: list[Row], above: str | None, number: str, report: ImportReport
) -> list[Message]:
    """Return a message, and of each of its calls the result."""
    name = text_in(info.get("id")) or number
    said: list[Any] = []
    results: list[tuple[str, dict[str, Any]]] = []
    for part in parts:
        state, kind, call = mapped(part.get("state")), part.get("type"), text_in(part.get("callID"))
        if kind == "tool":
            said.append(
                {"type": "tool_use", "id": call, "name": part.get("tool"), "input": state.get("input")}
            )
            if state.get("status") in ("completed", "error"):
                results.append((call, _result(call, part, state)))
        elif part.get("synthetic"):
            report.add(Reason.HIDDEN, f"a part of {name}")
        elif kind not in _STEPS and part:
            said.append(_part_of(part))
    times, tokens = mapped(info.get("time")), mapped(info.get("tokens"))
    key = _key(info.get("role"), times.get("created"), said)
    is_summary = info.get("role") == "assistant" and info.get("summary") is True
    is_compaction = bool(said) and all(_is(part, "compaction") for part in said)
    is_done = "completed" in times or "error" in info or info.get("role") != "assistant"
    message = Message(
        id=name,
        key=key,
        parent=above,
        role="system" if is_summary or is_compaction else info.get("role"),
        said=said,
        at=times.get("created"),
        model=info.get("modelID"),
        usage=_usage(tokens),
        source=rest(info, *_INFO),
        is_summary=is_summary,
        is_open=not is_done,
    )
    made = [message]
    for call, result in results:
        one = f"{name}/{call}"
        made.append(
            Message(
                id=one, key=f"{key}/{call}", parent=made[-1].id, role="tool", said=[result], at=message.at
            )
        )
    return made


def _is(part: Any, kind: str) -> bool:
    return not isinstance(part, str) and part.get("type") == kind


def _part_of(part: Row) -> Any:
    kind, text = part.get("type"), part.get("text")
    if kind == "text" and isinstance(text, str):
        return text
    if kind == "reasoning" and isinstance(text, str):
        about = rest(part, "type", "text", "id", "sessionID", "messageID", "time")
        return {"type": "thinking", "thinking": text, **about}
    about = rest(part, "id", "sessionID", "messageID")
    if kind == "file" and text_in(part.get("mime")).startswith("image/"):
        return {**rest(about, "filename"), "type": "image", "name": part.get("filename")}
    return {**about, "type": kind}


def _result(call: str, part: Row, state: Row) -> dict[str, Any]:
    failed = state.get("status") == "error"
    told: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "name": part.get("tool")}
    told["content"] = state.get("error") if failed else state.get("output")
    return {**told, "is_error": True} if failed else told


def _usage(tokens: Row) -> dict[str, Any]:
    """Return tokens in the words of Anthropic. Those of thoughts are told apart from the output."""
    cache, said = mapped(tokens.get("cache")), (tokens.get("output"), tokens.get("reasoning"))
    told = {
        "input_tokens": tokens.get("input"),
        "output_tokens": sum(one for one in said if type(one) is int) if tokens else None,
        "cache_read_input_tokens": cache.get("read"),
        "cache_creation_input_tokens": cache.get("write"),
    }
    return {name: value for name, value in told.items() if value is not None}


def _key(role: object, at: object, said: list[Any]) -> str:
    """Return what a message is known by: what its copy in a fork has, too."""
    words = [part if isinstance(part, str) else part.get("id") or part.get("thinking") for part in said]
    text = jsontext.write(without_halves([role, at, words]))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
