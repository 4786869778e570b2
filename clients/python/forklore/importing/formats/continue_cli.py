"""Reads sessions of Continue: one object with its history.

Its messages have neither ids nor times: from the first answer on they are known by all words down
to them. Results stand at the calls of an answer. A fork has copies of the messages, and no link; of
a session that forklore has written, its items have forklore's ids.
`sessions.json` beside it says when the session began.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.formats.messages import digest_of, said_in
from forklore.importing.members import listed, mapped, objects, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

Row = Mapping[str, Any]
_UNTITLED = "Untitled Session"


def is_session(value: Row) -> bool:
    """Tell whether a record is a session."""
    history = listed(value.get("history"))
    return "sessionId" in value and all("message" in mapped(one) for one in history) and "history" in value


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield the session of a file."""
    for record in source:
        value = mapped(record.value)
        messages: list[Message] = []
        for item in objects(value.get("history")):
            _add(messages, item)
        _name(messages)
        if not isinstance(value.get("history"), list):
            report.add(Reason.OTHER_RECORD, record.place)
            continue
        name = text_in(value.get("sessionId"))
        about = [
            one
            for beside in source.beside("sessions.json")
            for value in source.values(beside)
            for one in (objects(value) or [mapped(value)])
            if one.get("sessionId") == name
        ]
        own = [mapped(one.get("forklore")) for one in objects(value.get("history"))]
        yield Conversation(
            id=name or None,
            forklore=next((text_in(one.get("conversation")) for one in own if one), ""),
            place=record.place,
            messages=messages,
            title=None if value.get("title") == _UNTITLED else value.get("title"),
            created_at=mapped(about[0] if about else None).get("dateCreated"),
            project=value.get("workspaceDirectory"),
            about=rest(value, "sessionId", "title", "history", "workspaceDirectory"),
        )


def _add(messages: list[Message], item: Row) -> None:
    """Add a message, and then the results of its calls."""
    held = mapped(item.get("message"))
    is_summary = "conversationSummary" in item
    calls = [
        {"id": call.get("id"), "function": call.get("function")} for call in objects(held.get("toolCalls"))
    ]
    said = [_part_of(part) for part in said_in({**held, "tool_calls": calls})]
    files = [
        {"type": "extracted_text", "name": text_in(one.get("name")), "text": text_in(one.get("content"))}
        for one in objects(item.get("contextItems"))
    ]
    _put(
        messages,
        Message(
            id="",
            entry_id=_entry_in(item),
            role="system" if is_summary else held.get("role"),
            said=[*said, *files],
            model=mapped(held.get("usage")).get("model"),
            usage=rest(mapped(held.get("usage")), "model"),
            source=rest(held, "role", "content", "toolCalls", "usage"),
            is_summary=is_summary,
            left_out=Reason.HIDDEN if held.get("role") == "system" else None,
        ),
    )
    for state in objects(item.get("toolCallStates")):
        output = objects(state.get("output"))
        if output:
            result: dict[str, Any] = {"type": "tool_result", "tool_use_id": state.get("toolCallId")}
            content = "\n".join(text_in(one.get("content")) for one in output)
            failed = {"is_error": True} if state.get("status") == "errored" else {}
            said = [{**result, "content": content, **failed}]
            _put(messages, Message(id="", entry_id=_entry_in(state), role="tool", said=said))


def _entry_in(item: Row) -> str:
    return text_in(mapped(item.get("forklore")).get("entry"))


def _name(messages: list[Message]) -> None:
    """Give the first answer, and each message after it, a key of all words down to it."""
    key, is_answered = "", False
    for message in messages:
        key = digest_of([key, message.said])
        is_answered = is_answered or message.role == "assistant"
        message.key = key if is_answered else None


def _put(messages: list[Message], message: Message) -> None:
    message.id, message.key = f"{len(messages)}", None
    message.parent = messages[-1].id if messages else None
    messages.append(message)


def _part_of(part: str | Row) -> str | dict[str, Any]:
    """Return a part; a picture as such."""
    if isinstance(part, str) or part.get("type") != "imageUrl":
        return part if isinstance(part, str) else dict(part)
    return {"type": "image", "url": mapped(part.get("imageUrl")).get("url")}
