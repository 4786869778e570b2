"""Reads chats of Open WebUI: an export of all, or of one.

`chat.history.messages` holds the messages by their ids, as a tree, and `currentId` names the last
one of the branch that was shown. An older chat has a list of `messages` alone. The `output` of an
answer tells thoughts and tools apart, which its `content` shows as HTML: where both say the same,
the output is what is said, behind what it does not say.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.formats.messages import said_in, said_in_item
from forklore.importing.members import listed, mapped, objects, text_in, with_parents
from forklore.importing.plain_conversations import Conversation, File, Message, each, rest

_MAPPED = (
    *("id", "parentId", "childrenIds", "role", "content", "timestamp", "files"),
    *("tool_calls", "tool_call_id", "reasoning_content", "reasoning", "error"),
)
_DETAILS = re.compile(r"<details\b.*?</details>", re.DOTALL)
_ABOUT = ("id", "chat", "title", "created_at", "updated_at", "archived")


def is_chat(value: Mapping[str, Any]) -> bool:
    """Tell whether a record is a chat."""
    chat = value.get("chat")
    if isinstance(chat, Mapping):
        return "history" in chat or "messages" in chat
    history = value.get("history")
    return isinstance(history, Mapping) and isinstance(history.get("messages"), Mapping)


def _conversation_of(record: FileRecord, report: ImportReport) -> Conversation:
    raw = mapped(record.value)
    chat = mapped(raw.get("chat", raw))
    history = mapped(chat.get("history"))
    nodes = mapped(history.get("messages"))
    return Conversation(
        id=text_in(raw.get("id"), chat.get("id")) or None,
        place=record.place,
        messages=list(_tree(nodes, report) if nodes else _line(chat, report)),
        title=raw.get("title") or chat.get("title"),
        created_at=raw.get("created_at"),
        updated_at=raw.get("updated_at"),
        current=history.get("currentId"),
        is_archived=raw.get("archived") is True,
        about={
            **rest(raw, *_ABOUT, "history", "messages"),
            **rest(chat, "id", "title", "history", "messages"),
        },
    )


conversations_of = each(_conversation_of)


def _tree(nodes: Mapping[str, Any], report: ImportReport) -> Iterator[Message]:
    """Yield the messages of a tree."""
    for node_id, parent in with_parents(nodes, "parentId", "childrenIds"):
        raw = nodes[node_id]
        if isinstance(raw, Mapping):
            yield _message_of(node_id, parent, raw)
        else:
            report.add(Reason.NOT_A_MESSAGE, node_id)


def _line(chat: Mapping[str, Any], report: ImportReport) -> Iterator[Message]:
    before: str | None = None
    for number, raw in enumerate(listed(chat.get("messages")), start=1):
        if isinstance(raw, Mapping):
            node_id = raw["id"] if isinstance(raw.get("id"), str) else f"message {number}"
            yield _message_of(node_id, before, raw)
            before = node_id
        else:
            report.add(Reason.NOT_A_MESSAGE, f"message {number}")


def _message_of(node_id: str, parent: str | None, raw: Mapping[str, Any]) -> Message:
    said = said_in(raw)
    output = [part for item in objects(raw.get("output")) for part in said_in_item(item)]
    if output and _words(said) in ("", _words(output)):
        said = [*(part for part in said if not isinstance(part, str) and part not in output), *output]
    if raw.get("error"):
        said.append({"type": "error", "error": raw["error"]})
    return Message(
        id=node_id,
        parent=parent,
        role=raw.get("role"),
        said=said,
        at=raw.get("timestamp"),
        files=list(_files_of(raw.get("files"))),
        source=rest(raw, *_MAPPED),
    )


def _words(said: Iterable[str | Mapping[str, Any]]) -> str:
    """Return the words of parts beside the thoughts and the tools that they show as HTML."""
    texts = (part if isinstance(part, str) else str(part.get("text", "")) for part in said)
    return " ".join(_DETAILS.sub(" ", " ".join(texts)).split())


def _files_of(files: Any) -> Iterator[File]:
    for raw in objects(files):
        text = text_in(mapped(mapped(raw.get("file")).get("data")).get("content"))
        shown = text_in(raw.get("name"))
        named = text_in(raw.get("id"), shown, raw.get("url"), "file")
        yield File(named, shown, text, rest(raw, "file") if text else raw)
