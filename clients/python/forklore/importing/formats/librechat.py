"""Reads conversations of LibreChat.

A nested one has the replies to a message in its `children`, a flat one has all in one list.
Messages without a conversation around them belong to the one that they name.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.formats.messages import parsed
from forklore.importing.members import listed, mapped, objects, text_in
from forklore.importing.plain_conversations import Conversation, File, Message, rest

NO_PARENT = "00000000-0000-0000-0000-000000000000"
"""What the first message of a conversation names as its parent."""
_HELD = ("messagesTree", "messages")
"""Where a conversation has its messages: in a nested export they are a tree."""
_MAPPED = (
    *("messageId", "parentMessageId", "conversationId", "isCreatedByUser", "text", "content"),
    *("createdAt", "files", "attachments", "children"),
)
_ABOUT = ("conversationId", "title", *_HELD, "createdAt", "updatedAt", "isArchived")


def is_conversation(value: Mapping[str, Any]) -> bool:
    """Tell whether a record is a conversation."""
    if {"messageId", "conversationId"} <= value.keys():
        return True
    messages = _messages_in(value)
    return bool(messages) and isinstance(messages[0], Mapping) and "messageId" in messages[0]


def _conversation_of(record: FileRecord, report: ImportReport) -> Conversation:
    raw = mapped(record.value)
    return Conversation(
        id=text_in(raw.get("conversationId")) or None,
        place=record.place,
        messages=list(_messages(_messages_in(raw), report)),
        title=raw.get("title"),
        created_at=raw.get("createdAt"),
        updated_at=raw.get("updatedAt"),
        is_archived=raw.get("isArchived") is True,
        about=rest(raw, *_ABOUT),
    )


def conversations_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[Conversation]:
    """Yield the conversations of a file, and then those of its messages that stand alone."""
    alone: dict[str, list[Any]] = {}
    for record in records:
        raw = record.value
        if isinstance(raw, Mapping) and "messageId" in raw:
            alone.setdefault(str(raw.get("conversationId")), []).append(raw)
        else:
            yield _conversation_of(record, report)
    for named, messages in alone.items():
        yield _conversation_of(FileRecord({"conversationId": named, "messages": messages}, named), report)


def _messages_in(value: Mapping[str, Any]) -> list[Any]:
    return next((held for name in _HELD if (held := listed(value.get(name)))), [])


def _messages(held: Any, report: ImportReport) -> Iterator[Message]:
    waiting: list[tuple[Any, str | None]] = [(raw, None) for raw in reversed(listed(held))]
    while waiting:
        raw, above = waiting.pop()
        node_id = mapped(raw).get("messageId")
        if not isinstance(node_id, str):
            report.add(Reason.NOT_A_MESSAGE, "a message without its id")
            continue
        parent = raw.get("parentMessageId", above)
        yield _message_of(node_id, parent if isinstance(parent, str) and parent != NO_PARENT else above, raw)
        waiting += [(child, node_id) for child in reversed(listed(raw.get("children")))]


def _message_of(node_id: str, parent: str | None, raw: Mapping[str, Any]) -> Message:
    said = [part for held in listed(raw.get("content")) for part in _parts_of(held)]
    if not any(isinstance(part, str) and part for part in said) and isinstance(raw.get("text"), str):
        said.append(raw["text"])
    is_user = raw.get("isCreatedByUser")
    return Message(
        id=node_id,
        parent=parent,
        role="user" if is_user is True else "assistant" if is_user is False else raw.get("sender"),
        said=said,
        at=raw.get("createdAt"),
        files=[*_files_of(raw.get("files")), *_files_of(raw.get("attachments"))],
        source=rest(raw, *_MAPPED),
    )


def _parts_of(held: Any) -> Iterator[str | dict[str, Any]]:
    """Yield a part of a content. A call of a tool has its result in it, which follows it."""
    part = mapped(held)
    kind, text = part.get("type"), part.get("text")
    call = part.get("tool_call")
    if isinstance(held, str):
        yield held
    elif kind == "text":
        about = rest(part, "type", "text")
        if isinstance(text, Mapping):
            about, text = {**about, **rest(text, "value")}, text.get("value")
        if not isinstance(text, str):
            yield dict(part)
        else:
            yield {"type": kind, "text": text, **about} if about else text
    elif kind == "think":
        yield {"type": "thinking", "thinking": part.get("think"), **rest(part, "type", "think")}
    elif isinstance(call, Mapping):
        given, output = parsed(call.get("args", {})), call.get("output")
        about = rest(call, "type", "id", "name", "args", "output")
        yield {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": given, **about}
        if output is not None:
            yield {"type": "tool_result", "tool_use_id": call.get("id"), "content": output}
    elif part:
        yield dict(part)


def _files_of(files: Any) -> Iterator[File]:
    for raw in objects(files):
        shown = text_in(raw.get("filename"))
        named = text_in(raw.get("file_id"), shown, raw.get("filepath"), "file")
        yield File(named, shown, text_in(raw.get("text")), rest(raw, "text"))
