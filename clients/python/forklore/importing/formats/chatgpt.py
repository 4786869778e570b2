"""Reads a ChatGPT export: `conversations.json`, or one conversation of it.

A conversation holds a `mapping` of nodes, each with a `parent`, `children` and perhaps a `message`.
All branches are kept. Hidden messages, such as the system's own, are left out and counted.
`current_node` is the last message of the branch that was shown.

What a message sends to a tool, its `recipient`, is a call; what a tool says is its result. Other
texts are what is said. Files are named, and not imported. What else a content holds, such as
thoughts or the language of code, becomes one of the parts. All that the message says about itself
stands in `source`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from forklore.client import jsontext
from forklore.importing.checks import is_id, kept
from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.members import listed, mapped, objects, text_in, with_parents
from forklore.importing.plain_conversations import Conversation, File, Message, rest
from forklore.importing.sources import Source

_ABOUT = ("mapping", "title", "current_node", "conversation_id", "id", "create_time", "update_time")
_SETTINGS = ("user_editable_context", "model_editable_context")
"""Types of content that hold the user's settings, not messages."""
_TEXTS = ("text", "result", "summary", "content")
"""Where the types of content other than `parts` have their text."""
_NESTED = ("audio_asset_pointer", "video_container_asset_pointer")
_MAPPED = ("id", "author", "content", "create_time", "metadata", "recipient")


def conversations_of(source: Source, _report: ImportReport) -> Iterator[Conversation]:
    """Yield the conversation of each record. A file beside it has the names of the files."""
    names: dict[str, str] = {}
    for beside in source.beside("conversation_asset_file_names.json"):
        for value in source.values(beside):
            told = {PurePosixPath(place).stem: one for place, one in mapped(value).items()}
            names |= {place: PurePosixPath(one).name for place, one in told.items() if isinstance(one, str)}
    for record in source:
        found = _conversation_of(record, names)
        found.digest = record.digest
        yield found


def _conversation_of(record: FileRecord, names: Mapping[str, str]) -> Conversation:
    raw = mapped(record.value)
    ids = (raw.get("conversation_id"), raw.get("id"))
    return Conversation(
        id=next(filter(is_id, ids), None),
        place=record.place,
        messages=list(_messages(mapped(raw.get("mapping")), names)),
        title=raw.get("title"),
        created_at=raw.get("create_time"),
        updated_at=raw.get("update_time"),
        current=raw.get("current_node"),
        is_archived=raw.get("is_archived") is True,
        about=rest(raw, *_ABOUT),
    )


def _messages(mapping: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[Message]:
    """Yield the messages of the nodes."""
    for node_id, parent in with_parents(mapping, "parent", "children"):
        message = mapped(mapping[node_id]).get("message")
        if message is None:
            yield Message(id=node_id, parent=parent, is_gap=True)
        elif not isinstance(message, Mapping) or not isinstance(message.get("content"), Mapping):
            yield Message(id=node_id, parent=parent, left_out=Reason.NOT_A_MESSAGE)
        else:
            yield _message_of(node_id, parent, message, names)


def _message_of(
    node_id: str, parent: str | None, message: Mapping[str, Any], names: Mapping[str, str]
) -> Message:
    content: Mapping[str, Any] = message["content"]
    author, about = mapped(message.get("author")), mapped(message.get("metadata"))
    recipient = message.get("recipient")
    is_hidden = about.get("is_visually_hidden_from_conversation") or about.get("is_user_system_message")
    return Message(
        id=node_id,
        parent=parent,
        role=author.get("role"),
        author=rest(author, "role"),
        said=_said(content, author, None if recipient == "all" else recipient),
        at=message.get("create_time"),
        files=[*_files_in(content.get("parts"), names), *_files_beside(about.get("attachments"))],
        source={
            "recipient": None if recipient == "all" else recipient,
            "metadata": rest(about, "attachments"),
            **rest(message, *_MAPPED),
        },
        left_out=Reason.HIDDEN if is_hidden or content.get("content_type") in _SETTINGS else None,
    )


def _said(content: Mapping[str, Any], author: Mapping[str, Any], recipient: object) -> list[Any]:
    """Return what a content says, in its order."""
    kind, (text, others) = content.get("content_type"), _text_of(content)
    if author.get("role") == "tool" and text:
        of = {} if kind == "text" else {"content_type": kind}
        return [{"type": "tool_result", "name": author.get("name"), "content": text, **of, **others}]
    if author.get("role") == "assistant" and isinstance(recipient, str) and recipient and text:
        return [{"type": "tool_use", "name": recipient, "input": _parsed(text), **others}]
    if kind == "reasoning_recap" and text:
        return [{"type": kind, "content": text, **others}]
    return [*([text] if text else []), *([{"type": kind, **others}] if others else [])]


def _parsed(text: str) -> Any:
    """Return the object that a text is as JSON, else the text."""
    try:
        value = jsontext.read(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def _text_of(content: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text of a content, and what else it holds beside text and files."""
    others = rest(content, "content_type", "parts")
    parts = content.get("parts")
    if isinstance(parts, list):
        texts = [_text_of_part(part) for part in parts]
        odd = [part for part, text in zip(parts, texts, strict=True) if text is None and not _pointed(part)]
        return "\n".join(text for text in texts if text), kept({**others, "parts": odd})
    for name in _TEXTS:
        if isinstance(others.get(name), str):
            return others.pop(name), others
    return "", others


def _text_of_part(part: Any) -> str | None:
    """Return the text of a part: text, or the words of a recording."""
    if isinstance(part, str):
        return part
    text = mapped(part).get("text")
    return text if isinstance(text, str) else None


def _pointed(part: Any) -> list[Mapping[str, Any]]:
    """Return what tells of the files that a part stands for, such as those of a recording."""
    held = mapped(part)
    below = [*(held.get(name) for name in _NESTED), *listed(held.get("frames_asset_pointers"))]
    return [one for one in (held, *objects(below)) if text_in(one.get("asset_pointer"))]


def _files_in(parts: Any, names: Mapping[str, str]) -> Iterator[File]:
    for one in (one for part in listed(parts) for one in _pointed(part)):
        pointer = one["asset_pointer"]
        yield File(pointer, names.get(re.split(r"[/#?]", pointer)[-1], ""), about=one)


def _files_beside(attachments: Any) -> Iterator[File]:
    for attachment in objects(attachments):
        shown = text_in(attachment.get("name"))
        name = text_in(attachment.get("id"), shown)
        if name:
            yield File(name, shown, about=attachment)
