"""Reads sessions of pi: JSON Lines, a tree by `id` and `parentId`.

A fork is a file of its own with copies of the entries above, under their ids. The summary of a
branch that was left stands in the new branch. The version of a session is 3 (pi 1.6.0); an entry of
an older one without an id follows the one before it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.members import mapped, parts_in, renamed, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

Row = Mapping[str, Any]
_ENTRY = ("type", "id", "parentId", "timestamp")
_MESSAGE = ("role", "content", "timestamp", "model", "usage")
_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}
_PICTURE = re.compile(r'<file name="([^"]*)"></file>\n?')
"""Before what a user says stands the name of each picture that was sent along."""


def is_line(value: Row) -> bool:
    """Tell whether a record is the first line of a session."""
    return value.get("type") == "session" and {"id", "timestamp", "cwd"} <= value.keys()


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield the session of a file."""
    head: Row = {}
    title: object = None
    messages: list[Message] = []
    parents: dict[str, str | None] = {}
    for record in source:
        row = mapped(record.value)
        if row.get("type") == "session" and not head:
            head = row
            continue
        if row.get("type") == "session_info":
            title = row.get("name")
        above = messages[-1].id if messages else None
        message = _message_of(row, text_in(row.get("id")) or f"#{len(messages)}", above, parents)
        if message.is_gap:
            report.add(Reason.OTHER_RECORD, f"{row.get('type')} in {record.place}")
        messages.append(message)
        parents[message.id] = message.parent
    if messages:
        yield Conversation(
            id=text_in(head.get("id")) or None,
            messages=messages,
            title=title,
            created_at=head.get("timestamp"),
            project=head.get("cwd"),
            current=messages[-1].id,
            about=rest(head, "type", "id", "timestamp", "cwd"),
        )


def _message_of(row: Row, name: str, above: str | None, parents: Mapping[str, str | None]) -> Message:
    """Return the message of an entry; a gap for one that is none.

    The ids have eight digits, so those of two sessions may be equal: an entry is known by its time,
    too.
    """
    found = Message(
        id=name,
        key=f"{name} {row.get('timestamp')}" if row.get("id") == name else None,
        parent=(text_in(row["parentId"]) or None) if "parentId" in row else above,
        at=row.get("timestamp"),
        source=rest(row, *_ENTRY),
    )
    held, kind = mapped(row.get("message")), row.get("type")
    if kind == "message" and held:
        found.role, found.said, told = _said_in(held)
        found.model, found.usage = held.get("model"), renamed(held.get("usage"), _USAGE)
        found.source = {**rest(row, *_ENTRY, "message"), **rest(held, *_MESSAGE, *told)}
        found.left_out = Reason.HIDDEN if held.get("role") == "system" else None
    elif kind in ("compaction", "branch_summary"):
        found.role, found.said = "system", parts_in(row.get("summary"))
        found.source = rest(row, *_ENTRY, "summary")
        if kind == "compaction":
            found.is_summary, found.kept = True, _kept(found, row.get("firstKeptEntryId"), parents)
    elif kind == "custom_message":
        found.role, found.said = "system", parts_in(row.get("content"))
        found.source = rest(row, *_ENTRY, "content", "display")
        found.left_out = None if row.get("display") else Reason.HIDDEN
    else:
        found.is_gap = True
    return found


def _said_in(held: Row) -> tuple[object, list[str | Row], tuple[str, ...]]:
    """Return the role of a message, what it says, and the members that say it."""
    role, parts = held.get("role"), parts_in(held.get("content"))
    if role == "toolResult":
        names = {"toolCallId": "tool_use_id", "toolName": "name", "isError": "is_error"}
        result = renamed({one: held[one] for one in (*names, "content") if one in held}, names)
        return "tool", [{"type": "tool_result", **result}], tuple(names)
    if role == "bashExecution":  # a command of the user's own
        about = rest(held, "role", "timestamp", "command")
        return "user", [f"!{text_in(held.get('command'))}", {**about, "type": role}], tuple(held)
    said: list[str | Row] = []
    for part in parts:
        if isinstance(part, str):
            said.append(part)
        elif part.get("type") == "toolCall":
            said.append({**renamed(part, {"arguments": "input"}), "type": "tool_use"})
        else:
            said.append(part)
    return role, _named(said) if role == "user" else said, ()


def _named(said: list[str | Row]) -> list[str | Row]:
    """Return what a user says, with the names of its pictures at them."""
    texts = [part for part in said if isinstance(part, str) or part.get("type") == "text"]
    pictures = [part for part in said if not isinstance(part, str) and part.get("type") == "image"]
    text = texts[0] if texts else ""
    text = text if isinstance(text, str) else text_in(text.get("text"))
    names: list[str] = []
    while len(names) < len(pictures) and (found := _PICTURE.match(text)):
        names.append(found[1])
        text = text[found.end() :]
    if len(names) < len(pictures) or not names:
        return said
    named = [{**part, "name": name} for part, name in zip(pictures, names, strict=True)]
    others = [part for part in said if part not in (texts[0], *pictures)]
    return [text, *others, *named]


def _kept(summary: Message, first: object, parents: Mapping[str, str | None]) -> list[str]:
    """Return the entries above a summary that the model keeps, from the first one on."""
    found: list[str] = []
    at = summary.parent if first in parents else None
    while at is not None and at in parents:
        found.append(at)
        if at == first:
            return found[::-1]
        at = parents[at]
    return []
