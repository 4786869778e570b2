"""llm: a thread in its database, where a message is known by a hash of all up to it.

Seen with 0.36: `--cid` goes on with a thread that has a turn, which names the model. The hash is
made of the message with its `provider_metadata`, which no model gets: there stands forklore's id of
the entry. Messages that came from this database are used as they stand there.
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from forklore.client.parts import Part, line_of
from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.talks import (
    NoPlaceError,
    Talk,
    Written,
    image_in,
    images_of,
    result_in,
    steps_of,
    thought_in,
    words_of,
)
from forklore.exporting.written_ids import id_beside

Row = dict[str, Any]
_TABLES = ("attachments", "messages", "part_attachments", "parts", "threads", "turn_search", "turns")
_MODEL = "gpt-5.6-luna"
"""What llm takes where nobody has chosen one."""


def written(talk: Talk) -> Written:
    """Return what is put into the database, and how llm goes on with it."""
    turns = talk.since_summary()
    command = ["llm", "chat", "--cid", talk.session]
    return Written("logs.db", "", [command], put=partial(_put, talk, turns))


class _Message(NamedTuple):
    """A message of llm. entry: forklore's id of it. files: the attachments that its parts name."""

    turn: Turn
    role: str
    parts: Sequence[Row]
    entry: str
    files: Mapping[str, tuple[str, bytes]]

    def hash_after(self, above: str | None) -> str:
        """Return what the message is known by, as `llm.logs.message_hash` makes it."""
        parts = [_with_types(part, self.files) for part in self.parts]
        message = {"role": self.role, "parts": parts, "provider_metadata": self.about}
        told = json.dumps(
            {"parent": above, "message": message}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        return f"b2:{hashlib.blake2b(told.encode(), digest_size=16).hexdigest()}"

    @property
    def about(self) -> Row:
        return {"forklore": {"entry": self.entry}}


def _put(talk: Talk, turns: Sequence[Turn], database: sqlite3.Connection) -> None:
    """Put a talk into the database: what is there stays. Raises NoPlaceError."""
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    if not tables.issuperset(_TABLES):
        raise NoPlaceError("llm has no threads here: version 0.36 makes them, with `llm fragments`")
    model = _model(talk, turns, database)
    tip: str | None = None
    asked = ""
    is_there = True
    for turn in turns:
        is_there = is_there and _is_after(turn.key, tip, database)
        above, tip = tip, turn.key if is_there else tip
        for message in () if is_there else _messages(turn):
            above, tip = tip, _put_message(message, tip, database)
        if turn.role == "assistant":
            _put_turn(talk, turn, model, (above, tip), asked, database)
        asked = words_of(turn) if turn.role == "user" else ""
    if not any(turn.role == "assistant" for turn in turns):
        _insert(database, "turns", id=talk.session, thread_id=talk.session, model=model)
    began = _time(turns[0].at) if turns else None
    about = {"name": talk.title, "tip_message_hash": tip, "datetime_utc": began}
    _insert(database, "threads", id=talk.session, **about)
    database.execute(
        "UPDATE threads SET name = ?, tip_message_hash = ? WHERE id = ?", [talk.title, tip, talk.session]
    )


def _is_after(key: str, above: str | None, database: sqlite3.Connection) -> bool:
    query = "SELECT 1 FROM messages WHERE hash = ? AND parent_hash IS ?"
    return database.execute(query, [key, above]).fetchone() is not None


def _insert(database: sqlite3.Connection, table: str, **row: object) -> sqlite3.Cursor:
    """Put a row into a table, if it is not there."""
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" * len(row))
    query = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})"
    return database.execute(query, [*row.values()])


def _put_message(message: _Message, above: str | None, database: sqlite3.Connection) -> str:
    name = message.hash_after(above)
    about = json.dumps(message.about)
    row = {"parent_hash": above, "role": message.role, "provider_metadata": about}
    if not _insert(database, "messages", hash=name, **row).rowcount:
        return name
    for file, (kind, held) in message.files.items():
        _insert(database, "attachments", id=file, type=kind, content=held)
    for position, part in enumerate(message.parts):
        payload = {member: held for member, held in part.items() if member != "type"}
        text = payload.pop("text", None)
        columns = {"tool_name": part.get("name"), "payload": json.dumps(payload) if payload else None}
        named = {"message_hash": name, "position": position, "type": part["type"], "text": text}
        part_id = _insert(database, "parts", **named, **columns).lastrowid
        for order, one in enumerate(_files_in(part)):
            _insert(database, "part_attachments", part_id=part_id, attachment_id=one["id"], order=order)
    return name


def _put_turn(
    talk: Talk,
    turn: Turn,
    model: str,
    place: tuple[str | None, str | None],
    asked: str,
    database: sqlite3.Connection,
) -> None:
    """Put the turn of an answer. place: the message before it, and the answer. asked: its words."""
    name = f"{turn.turn_id}-{talk.session}"  # llm goes on with the model of the last one by its id
    between = dict(zip(("parent_message_hash", "tip_message_hash"), place, strict=True))
    said = {"model": model, "resolved_model": turn.model or None, "datetime_utc": _time(turn.at)}
    _insert(database, "turns", id=name, thread_id=talk.session, **between, **said)
    _insert(database, "turn_search", turn_id=name, prompt=asked, response=words_of(turn))


def _time(stamp: str) -> str:
    return stamp.replace("Z", "+00:00")


def _model(talk: Talk, turns: Sequence[Turn], database: sqlite3.Connection) -> str:
    """Return a model that llm knows: the talk's, or else that of the newest turn."""
    query = "SELECT model FROM turns WHERE model IS NOT NULL GROUP BY model ORDER BY max(datetime_utc) DESC"
    known = [str(model) for (model,) in database.execute(query)]
    own = next((turn.model for turn in reversed(turns) if turn.model in known), None)
    if own or known:
        return own or known[0]
    with suppress(OSError):
        return (talk.home / "default_model.txt").read_text(encoding="utf-8").strip() or _MODEL
    return _MODEL


def _messages(turn: Turn) -> Iterator[_Message]:
    """Yield the messages of an entry: results of tools are one of their own."""
    role = "user" if turn.role == "tool" or turn.is_summary else turn.role
    number = 0
    for step in steps_of(turn):
        name = "tool" if step.of("tool_result") else role
        files: dict[str, tuple[str, bytes]] = {}
        parts = [row for part in step.parts if (row := _row(part, files))]
        if parts:
            yield _Message(turn, name, parts, id_beside(turn.turn_id, number), files)
            number += 1


def _row(part: Part, files: dict[str, tuple[str, bytes]]) -> Row | None:
    """Return a part as llm has it. files: gets the attachments that it names."""
    image = image_in(part)
    if image:
        return {"type": "attachment", "attachment": _attached(image, files)}
    match part.get("type"):
        case "thinking":
            return {"type": "reasoning", "text": thought_in(part)}
        case "tool_use":
            given = part.get("input", {})
            told = given if isinstance(given, dict) else {"input": given}
            call = {"name": str(part.get("name")), "arguments": told, "tool_call_id": part.get("id")}
            return {"type": "tool_call", **call}
        case "tool_result":
            call = {"name": str(part.get("name") or ""), "output": result_in(part)}
            images = [_attached(one, files) for one in images_of(part)]
            more = {"attachments": images} if images else {}
            return {"type": "tool_result", **call, "tool_call_id": part.get("tool_use_id"), **more}
        case _:
            text = line_of(part)
            return {"type": "text", "text": text} if text else None


def _attached(image: tuple[str, str], files: dict[str, tuple[str, bytes]]) -> Row:
    held = base64.b64decode(image[1])
    name = hashlib.sha256(held).hexdigest()
    files[name] = (image[0], held)
    return {"id": name}


def _files_in(part: Row) -> list[Row]:
    return [part["attachment"]] if "attachment" in part else part.get("attachments", [])


def _with_types(part: Row, files: Mapping[str, tuple[str, bytes]]) -> Row:
    """Return a part as it is hashed: the model sees the types of attachments."""
    typed = [{**file, "type": files[file["id"]][0]} for file in _files_in(part)]
    if "attachment" in part:
        return {**part, "attachment": typed[0]}
    return {**part, "attachments": typed} if typed else part
