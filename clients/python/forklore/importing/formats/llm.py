"""Reads the database of llm: messages that are known by a hash of all up to them, as in git.

A thread names its last message. A fork is a thread with another one: it goes on from the thread
that has the messages which they share. The answer of a model has its tokens in a turn.
`conversations` and `responses` are what earlier versions have written, and are not read.
"""

import base64
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Link, Reason
from forklore.importing.identity import own_ids_in
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
    """Yield a conversation for each thread: of its messages those that no earlier one has.

    Of a fork in which nothing was said, all of them.
    """
    if source.database is None:
        for record in source:
            report.add(Reason.OTHER_RECORD, record.place)
        return
    query = source.database.execute
    said: dict[str, list[Row]] = {}
    for row in query("SELECT * FROM parts ORDER BY message_hash, position"):
        said.setdefault(row["message_hash"], []).append(dict(row))
    turns, times = _turns(map(dict, query("SELECT * FROM turns ORDER BY datetime_utc, id")))
    is_there = "attachments" in columns_of(source.database)
    files = {row["id"]: dict(row) for row in query("SELECT * FROM attachments")} if is_there else {}
    rows = {row["hash"]: dict(row) for row in query("SELECT * FROM messages ORDER BY rowid")}
    threads = {text_in(row["id"]): dict(row) for row in query("SELECT * FROM threads ORDER BY rowid")}
    told_in: dict[str, str] = {}  # of each message, the conversation that has it
    own_of: dict[str, list[str]] = {}
    for name, thread in threads.items():
        own = _up_from(text_in(thread["tip_message_hash"]), rows, told_in)
        told_in.update(dict.fromkeys(own, name))
        own_of[name] = own or _up_from(text_in(thread["tip_message_hash"]), rows, ())
    for name, row in rows.items():
        if name not in told_in:  # on no thread: a branch of one, or a tree of its own
            told_in[name] = told_in.get(row["parent_hash"], name)
            own_of.setdefault(told_in[name], []).append(name)
    for name, own in own_of.items():
        messages = [_message_of(rows[one], said.get(one, []), turns.get(one, {}), files) for one in own]
        for message in messages:
            message.at = times.get(message.id)
        thread = threads.get(name, {})
        above = text_in(rows[own[0]]["parent_hash"]) if own else ""
        if own:
            yield Conversation(
                id=name,
                forklore=name if own_ids_in(name) else "",  # llm's own ids are no UUIDs
                messages=messages,
                title=thread.get("name"),
                created_at=thread.get("datetime_utc"),
                current=thread.get("tip_message_hash"),
                goes_on_from=Link(session=told_in[above], message=above) if above in told_in else None,
                about=rest(thread, "id", "name", "tip_message_hash", "datetime_utc"),
            )


def _up_from(tip: str, rows: Mapping[str, Row], told_in: Container[str]) -> list[str]:
    """Return the messages down to one that are told in no conversation yet, the oldest first."""
    way: dict[str, None] = {}
    at = tip
    while at in rows and at not in told_in and at not in way:
        way[at] = None
        at = text_in(rows[at]["parent_hash"])
    return [*way][::-1]


def _turns(rows: Iterable[Row]) -> tuple[dict[str, Row], dict[str, object]]:
    """Return the turn of each answer, and the time of each message."""
    turns: dict[str, Row] = {}
    times: dict[str, object] = {}
    for row in rows:
        tip = str(row["tip_message_hash"])
        turns[tip] = row if row.get("output_tokens") is not None or tip not in turns else turns[tip]
        for name in (tip, str(row.get("parent_message_hash"))):
            times.setdefault(name, row["datetime_utc"])
    return turns, times


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
    about = mapped(json_in(row.get("provider_metadata")))
    found.entry_id = text_in(mapped(about.get("forklore")).get("entry"))
    found.source = {"provider_metadata": rest(about, "forklore")}
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
