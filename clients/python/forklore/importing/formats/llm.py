"""Reads the database of llm: messages that are known by a hash of all up to them, as in git.

A thread names its last message. A fork is a thread with another one, so threads that share messages
are one tree. The answer of a model has its tokens in a turn. `conversations` and `responses` are
what earlier versions have written, and are not read.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.members import json_in, mapped, text_in
from forklore.importing.plain_conversations import Conversation, File, Message, rest
from forklore.importing.sources import Source, columns_of

Row = Mapping[str, Any]
TABLES = {
    "messages": ("hash", "parent_hash", "role"),
    "parts": ("message_hash", "position", "type", "text", "payload"),
    "threads": ("id", "name", "tip_message_hash"),
    "turns": ("tip_message_hash", "model", "datetime_utc"),
}


def is_record(_value: Row) -> bool:
    """Tell that no record of a file proves it: there is only the database."""
    return False


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield a conversation for each first message: all threads that begin with it."""
    if source.database is None:
        for record in source:
            report.add(Reason.OTHER_RECORD, record.place)
        return
    query = source.database.execute
    said: dict[str, list[Row]] = {}
    for row in query("SELECT * FROM parts ORDER BY message_hash, position"):
        said.setdefault(row["message_hash"], []).append(dict(row))
    turns, times, newest = _turns(map(dict, query("SELECT * FROM turns ORDER BY datetime_utc, id")))
    is_there = "attachments" in columns_of(source.database)
    files = {row["id"]: dict(row) for row in query("SELECT * FROM attachments")} if is_there else {}
    above = {row["hash"]: row["parent_hash"] for row in query("SELECT hash, parent_hash FROM messages")}
    begins = _begins(above)
    trees: dict[str, list[Message]] = {}
    for row in query("SELECT * FROM messages ORDER BY rowid"):
        name = row["hash"]
        message = _message_of(dict(row), said.get(name, []), turns.get(name, {}), files)
        message.at = times.get(name)
        trees.setdefault(begins[name], []).append(message)
    threads: dict[str, list[Row]] = {}
    for row in query("SELECT * FROM threads ORDER BY id"):
        if row["tip_message_hash"] in begins:
            threads.setdefault(begins[row["tip_message_hash"]], []).append(dict(row))
    for first, messages in trees.items():
        held = threads.get(first, [])
        shown = max(held, key=lambda thread: newest.get(thread["id"], ""), default={})
        yield Conversation(
            id=text_in(held[0]["id"]) if held else first,
            messages=messages,
            title=held[0].get("name") if held else None,
            created_at=held[0].get("datetime_utc") if held else None,
            current=shown.get("tip_message_hash"),
            about={"threads": [rest(thread, "datetime_utc") for thread in held]},
        )


def _begins(above: Mapping[str, Any]) -> dict[str, str]:
    """Return of each message the first one above it."""
    found: dict[str, str] = {}
    for name in above:
        way: dict[str, None] = {}
        at = name
        while at not in found and at not in way:
            way[at] = None
            if above[at] not in above:
                break
            at = above[at]
        found |= dict.fromkeys(way, found.get(at, at))
    return found


def _turns(rows: Iterable[Row]) -> tuple[dict[str, Row], dict[str, object], dict[str, str]]:
    """Return the turn of each answer, the time of each message, and of each thread its newest."""
    turns: dict[str, Row] = {}
    times: dict[str, object] = {}
    newest: dict[str, str] = {}
    for row in rows:
        tip = str(row["tip_message_hash"])
        turns[tip] = row if row.get("output_tokens") is not None or tip not in turns else turns[tip]
        for name in (tip, str(row.get("parent_message_hash"))):
            times.setdefault(name, row["datetime_utc"])
        newest[str(row.get("thread_id"))] = str(row["datetime_utc"])
    return turns, times, newest


def _message_of(row: Row, parts: list[Row], turn: Row, files: Mapping[str, Row]) -> Message:
    found = Message(id=row["hash"], parent=row["parent_hash"], role=row["role"])
    said: list[Any] = []
    sent: list[File] = []
    for part in parts:
        kind, text, held = part["type"], part["text"], mapped(json_in(part["payload"]))
        call = {"name": held.get("name"), **rest(held, "name", "arguments", "output", "tool_call_id")}
        if kind == "text":
            said.append(text_in(text))
        elif kind == "reasoning":
            said += [{"type": "thinking", "thinking": text}] if text_in(text) else []
        elif kind == "tool_call":
            of = {"id": held.get("tool_call_id"), "input": held.get("arguments")}
            said.append({"type": "tool_use", **call, **of})
        elif kind == "tool_result":
            of = {"tool_use_id": held.get("tool_call_id"), "content": held.get("output")}
            said.append({"type": "tool_result", **call, **of})
        elif kind == "attachment":
            _attach(files.get(text_in(mapped(held.get("attachment")).get("id")), {}), said, sent)
        else:
            said.append({"type": kind, "text": text, **held})
    found.said, found.files, found.model = said, sent, turn.get("model")
    tokens = {"prompt_tokens": turn.get("input_tokens"), "completion_tokens": turn.get("output_tokens")}
    told = {name: value for name, value in tokens.items() if value is not None}
    found.usage = {**told, **mapped(json_in(turn.get("token_details")))} if told else {}
    found.source = {"provider_metadata": json_in(row.get("provider_metadata"))}
    return found


def _attach(file: Row, said: list[Any], sent: list[File]) -> None:
    """Add a file: a picture, if its bytes are in the database, else its name."""
    bytes_, kind = file.get("content"), text_in(file.get("type"))
    if isinstance(bytes_, bytes) and kind.startswith("image/"):
        data = base64.b64encode(bytes_).decode()
        said.append({"type": "image", "data": data, "mimeType": kind})
    elif file:
        place = text_in(file.get("path"), file.get("url"))
        name = PurePosixPath(place).name
        sent.append(File(str(file["id"]), name, about=rest(file, "id", "content")))
