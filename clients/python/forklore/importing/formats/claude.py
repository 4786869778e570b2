"""Reads a Claude export: `conversations.json`, or one conversation of it.

A conversation holds `chat_messages`. Where they name their `parent_message_uuid`, they are a tree,
and all branches are kept. In older exports each message follows the one that was said before it.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby, zip_longest
from typing import Any

from forklore.importing.checks import is_id, kept, time_of
from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.members import listed, mapped, objects, parts_in, text_in
from forklore.importing.plain_conversations import Conversation, File, Message, each, rest

NO_PARENT = "00000000-0000-4000-8000-000000000000"
"""What the first message of a conversation names as its parent."""
_MAPPED = (
    *("uuid", "sender", "text", "content", "attachments", "files", "files_v2"),
    *("created_at", "parent_message_uuid"),
)
_PLACEHOLDER = "```\nThis block is not supported on your current device yet.\n```"
"""In the text of a message, where it has a block of another type."""
_TIMES = ("start_timestamp", "stop_timestamp")
_ABOUT = ("uuid", "name", "chat_messages", "created_at", "updated_at", "current_leaf_message_uuid")


def _conversation_of(record: FileRecord, report: ImportReport) -> Conversation:
    raw = mapped(record.value)
    tree_id = raw.get("uuid")
    return Conversation(
        id=tree_id if is_id(tree_id) else None,
        place=record.place,
        messages=list(_messages(listed(raw.get("chat_messages")), report)),
        title=raw.get("name"),
        created_at=raw.get("created_at"),
        updated_at=raw.get("updated_at"),
        current=raw.get("current_leaf_message_uuid"),
        about=rest(raw, *_ABOUT),
    )


conversations_of = each(_conversation_of)


def _messages(messages: list[Any], report: ImportReport) -> Iterator[Message]:
    before: str | None = None
    seen: set[str] = set()
    is_tree = any(isinstance(raw, Mapping) and raw.get("parent_message_uuid") for raw in messages)
    messages = messages if is_tree else _in_order(messages)
    for number, raw in enumerate(messages, start=1):
        if not isinstance(raw, Mapping):
            report.add(Reason.NOT_A_MESSAGE, f"message {number}")
            continue
        node_id = raw["uuid"] if is_id(raw.get("uuid")) else f"message {number}"
        if node_id in seen:
            report.add(Reason.NOT_A_MESSAGE, f"{node_id}, which is there twice")
            continue
        seen.add(node_id)
        parent = before
        if is_tree and "parent_message_uuid" in raw:
            named = raw["parent_message_uuid"]
            parent = named if isinstance(named, str) and named != NO_PARENT else None
        yield _message_of(node_id, parent, raw)
        before = node_id


def _in_order(messages: list[Any]) -> list[Any]:
    """Return messages by their times; of those of one time a question stands before its answer."""
    times = [time_of(mapped(raw).get("created_at")) or "" for raw in messages]
    if not all(times):
        return messages
    found: list[Any] = []
    by_time = sorted(zip(times, messages, strict=True), key=lambda one: one[0])
    for _, group in groupby(by_time, key=lambda one: one[0]):
        said = [raw for _, raw in group]
        asked = [raw for raw in said if raw.get("sender") == "human"]
        answers = [raw for raw in said if raw.get("sender") != "human"]
        is_asked = bool(found) and found[-1].get("sender") == "human"
        if asked and said[0] is not asked[0] and not is_asked:
            pairs = zip_longest(asked, answers)
            said = [raw for pair in pairs for raw in pair if raw is not None]
        found += said
    return found


def _message_of(node_id: str, parent: str | None, raw: Mapping[str, Any]) -> Message:
    blocks = parts_in(raw.get("content"))
    said = [kept({"type": "text", "text": one} if isinstance(one, str) else one) for one in blocks]
    if not any(part.get("type") == "text" and part.get("text") for part in said) and raw.get("text"):
        said.append({"type": "text", "text": raw["text"]})
    about = rest(raw, *_MAPPED)
    if _is_more(raw.get("text"), said):
        about["text"] = raw["text"]
    if len(said) == 1 and said[0].get("type") == "text":  # when the only text was written
        about |= {name: said[0].pop(name) for name in _TIMES if name in said[0]}
    return Message(
        id=node_id,
        parent=parent,
        role=raw.get("sender"),
        said=said,
        at=raw.get("created_at"),
        files=list(_files_of(raw)),
        source={"metadata": about},
    )


def _is_more(text: Any, said: list[dict[str, Any]]) -> bool:
    """Tell whether the text of a message says more than its blocks, which it usually repeats."""
    left = text_in(text)
    for part in (*said, {"text": _PLACEHOLDER}):
        told = text_in(part.get("text"))
        left = left.replace(told, "") if told else left
    return bool(left.strip())


def _files_of(raw: Mapping[str, Any]) -> Iterator[File]:
    """Yield the files of a message. The export holds the text of some.

    A file that only repeats the name of an attachment is the attachment.
    """
    attached = [kept({"file_name": one.get("file_name")}) for one in objects(raw.get("attachments"))]
    for member in ("attachments", "files_v2" if raw.get("files_v2") else "files"):
        for file in objects(raw.get(member)):
            if member == "attachments" or kept(file) not in attached:
                shown = text_in(file.get("file_name"))
                yield File(
                    text_in(file.get("file_uuid"), file.get("id"), shown, "file"),
                    shown,
                    text_in(file.get("extracted_content")),
                    {key: value for key, value in file.items() if key != "extracted_content"},
                )
