"""Reads messages as the APIs of models take them, and ShareGPT's.

`[{"role", "content"}, …]`, `{"messages": [{"role", "content"}, …]}`, or a message on each line; in
ShareGPT `{"conversations": [{"from", "value"}, …]}`. Each message follows the one before it.

A list without an id is known by how it begins, a message without one by all up to it: so a list
that has grown adds what is new. Lists of one id are told apart by their order in the file.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forklore.cli.importing.checks import without_halves
from forklore.cli.importing.claude import listed
from forklore.cli.importing.file_records import FileRecord
from forklore.cli.importing.foreign_trees import ImportReport, Reason
from forklore.cli.importing.plain_conversations import ROLES, Conversation, Message, rest
from forklore.client import jsontext

_TIMES = ("created_at", "createdAt", "timestamp", "created", "time", "date")
_MAPPED = (
    *("id", "role", "from", "content", "value", "name", "tool_calls", "function_call", "tool_call_id"),
    *("reasoning_content", "reasoning", *_TIMES),
)
_IDS = ("id", "conversation_id", "custom_id")


def is_messages(value: Mapping[str, Any]) -> bool:
    """Tell whether a record is a message, or a list of messages."""
    held = value.get("messages", value.get("conversations"))
    return _is_message(value) if held is None else bool(listed(held)) and all(map(_is_message, held))


def _is_message(raw: object) -> bool:
    return isinstance(raw, Mapping) and (
        (isinstance(raw.get("role"), str) and ("content" in raw or "tool_calls" in raw))
        or (isinstance(raw.get("from"), str) and isinstance(raw.get("value"), str))
    )


def conversations_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[Conversation]:
    """Yield a conversation for each list of messages, and one for all messages that stand alone."""
    times: Counter[str | None] = Counter()
    for found in _lists(records, report):
        named = found.id
        times[named] += 1
        if times[named] > 1:
            found.id = f"{named}~{times[named]}"
        yield found


def _lists(records: Iterable[FileRecord], report: ImportReport) -> Iterator[Conversation]:
    alone: list[Any] = []
    for record in records:
        value = record.value
        if _is_message(value):
            alone.append(value)
        elif isinstance(value, list):
            yield _conversation_of({"messages": value}, record.place, report)
        elif isinstance(value, Mapping):
            yield _conversation_of(value, record.place, report)
        else:
            report.add(Reason.OTHER_RECORD, record.place)
    if alone:
        yield _conversation_of({"messages": alone}, "the file", report)


def _conversation_of(raw: Mapping[str, Any], place: str, report: ImportReport) -> Conversation:
    held = listed(raw.get("messages", raw.get("conversations")))
    system = raw.get("system")
    if isinstance(system, str | list) and system:
        held = [{"role": "system", "content": system}, *held]
    messages: list[Message] = []
    key = ""
    for number, message in enumerate(held, start=1):
        if not _is_message(message):
            kind = message.get("type") if isinstance(message, Mapping) else None
            if isinstance(kind, str):
                report.add(Reason.OTHER_RECORD, f"{kind}, {number} of {place}")
            else:
                report.add(Reason.NOT_A_MESSAGE, f"message {number} of {place}")
            continue
        named = message.get("id")
        key = _digest([key, message])
        messages.append(
            Message(
                id=f"{number}",
                key=named if isinstance(named, str) else key,
                parent=messages[-1].id if messages else None,
                role=message.get("role", message.get("from")),
                author={"name": message.get("name")}
                if message.get("role") not in ("tool", "function")
                else {},
                said=said_in(message),
                at=next((message[name] for name in _TIMES if message.get(name)), None),
                source=rest(message, *_MAPPED),
            )
        )
    return Conversation(
        id=next((raw[name] for name in _IDS if isinstance(raw.get(name), str)), None)
        or _digest(_beginning(held)),
        place=place,
        messages=messages,
        title=raw.get("title"),
        created_at=next((raw[name] for name in _TIMES if raw.get(name)), None),
        about=rest(raw, "messages", "conversations", "system", "title", *_IDS, *_TIMES),
    )


def _beginning(held: list[Any]) -> list[Any]:
    """Return the messages up to the first one that is not the system's."""
    for at, message in enumerate(held):
        role = message.get("role", message.get("from")) if _is_message(message) else "system"
        if ROLES.get(role.lower()) != "SYSTEM":
            return held[: at + 1]
    return held


def _digest(value: Any) -> str:
    return hashlib.sha256(jsontext.write(without_halves(value)).encode()).hexdigest()[:32]


def said_in(message: Mapping[str, Any]) -> list[str | dict[str, Any]]:
    """Return what a message says, in its order."""
    content = message.get("content", message.get("value"))
    result_of = message.get("tool_call_id")
    if message.get("role") in ("tool", "function"):
        name = message.get("name")
        return [{"type": "tool_result", "tool_use_id": result_of, "name": name, "content": content}]
    thought = message.get("reasoning_content") or message.get("reasoning")
    said: list[str | dict[str, Any]] = []
    if isinstance(thought, str):
        said.append({"type": "thinking", "thinking": thought})
    if isinstance(content, str):
        said += [content] if content else []
    elif isinstance(content, Mapping):
        said.append({"type": "text", **content} if isinstance(content.get("text"), str) else dict(content))
    else:
        said += [
            part if isinstance(part, str) else dict(part)
            for part in listed(content)
            if isinstance(part, str | Mapping)
        ]
    calls = [*listed(message.get("tool_calls")), {"function": message.get("function_call")}]
    for call in calls:
        function = call.get("function", call) if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            given = parsed(function.get("arguments", function.get("args", {})))
            said.append(
                {"type": "tool_use", "id": call.get("id"), "name": function.get("name"), "input": given}
            )
    return said


def parsed(value: Any) -> Any:
    """Return the object that a text is as JSON, else what was given."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    try:
        return jsontext.read(value)
    except ValueError:
        return value
