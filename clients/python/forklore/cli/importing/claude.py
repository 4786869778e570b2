"""Reads a Claude export: `conversations.json`, or one conversation of it.

A conversation holds `chat_messages`. Where they name their `parent_message_uuid`, they are a tree,
and all branches are kept. In older exports each message follows the one before it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forklore.cli.importing.checks import is_unicode, kept, time_of, title_of
from forklore.cli.importing.file_records import FileRecord
from forklore.cli.importing.foreign_trees import ForeignTree, Format, ImportReport, Reason
from forklore.cli.importing.growing import Node, grow

ROLES = {"human": "USER", "assistant": "AI"}
NO_PARENT = "00000000-0000-4000-8000-000000000000"
"""What the first message of a conversation names as its parent."""
_MAPPED = ("uuid", "sender", "text", "content", "attachments", "files", "files_v2", "created_at")
_ABOUT = ("summary", "model", "is_starred", "project_uuid")


def trees_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[ForeignTree]:
    """Yield a tree for each conversation that has messages. The others are reported."""
    for record in records:
        tree = _tree_of(record.value, report)
        if tree is None:
            raw = record.value.get("uuid") if isinstance(record.value, Mapping) else None
            report.add(Reason.NOT_A_CONVERSATION, raw if isinstance(raw, str) else record.place)
        else:
            yield tree


def _tree_of(raw: Any, report: ImportReport) -> ForeignTree | None:
    messages = raw.get("chat_messages") if isinstance(raw, Mapping) else None
    if not isinstance(messages, list):
        return None
    grown = grow(list(_nodes(messages, report)), report)
    if not grown.messages:
        return None
    tree_id, current = raw.get("uuid"), raw.get("current_leaf_message_uuid")
    times = {"createdAt": time_of(raw.get("created_at")), "updatedAt": time_of(raw.get("updated_at"))}
    return ForeignTree(
        tree_id if _is_id(tree_id) else grown.messages[0].message_id,
        grown.messages,
        Format.CLAUDE,
        title=title_of(raw.get("name")),
        created_at=times["createdAt"],
        current=grown.index_of.get(current) if isinstance(current, str) else None,
        metadata=kept({**times, **{name: raw.get(name) for name in _ABOUT}}),
    )


def _is_id(raw: Any) -> bool:
    return isinstance(raw, str) and raw != "" and is_unicode(raw)


def _nodes(messages: list[Any], report: ImportReport) -> Iterator[Node]:
    before: str | None = None
    seen: set[str] = set()
    for number, raw in enumerate(messages, start=1):
        if not isinstance(raw, Mapping):
            report.add(Reason.NOT_A_MESSAGE, f"message {number}")
            continue
        node_id = raw["uuid"] if _is_id(raw.get("uuid")) else f"message {number}"
        if node_id in seen:
            report.add(Reason.NOT_A_MESSAGE, f"{node_id}, which is there twice")
            continue
        seen.add(node_id)
        parent = before
        if "parent_message_uuid" in raw:
            named = raw["parent_message_uuid"]
            parent = named if isinstance(named, str) and named != NO_PARENT else None
        yield Node(node_id, parent, _element_of(node_id, raw, report))
        before = node_id


def _element_of(node_id: str, raw: Mapping[str, Any], report: ImportReport) -> dict[str, Any] | None:
    """Return the element to store; None if there is nothing in the message."""
    blocks = [block for block in _list(raw.get("content")) if isinstance(block, Mapping)]
    texts = [block["text"] for block in blocks if _is_text(block)]
    text = "\n\n".join(text for text in texts if text)
    if not text and isinstance(raw.get("text"), str):
        text = raw["text"]
    attachments = list(_files_of(raw))
    events = [dict(block) for block in blocks if not _is_text(block)]
    if not (text.strip() or attachments or events):
        report.add(Reason.EMPTY, node_id)
        return None
    for attachment in attachments:
        if not attachment["source"].get("extracted_content"):
            report.add(Reason.WITHOUT_FILE, node_id)
    sender = raw.get("sender")
    role = ROLES.get(sender) if isinstance(sender, str) else None
    source = {
        "createdAt": time_of(raw.get("created_at")),
        "author": {} if role else kept({"role": sender}),
        "metadata": kept({name: value for name, value in raw.items() if name not in _MAPPED}),
    }
    element = {
        "role": role,
        "text": text,
        "attachments": attachments,
        "events": events,
        "source": kept(source),
    }
    return kept(element)


def _is_text(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def _files_of(raw: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the files of a message. If the export holds the text of one, `source` has it."""
    for member in ("attachments", "files_v2" if raw.get("files_v2") else "files"):
        for file in _list(raw.get(member)):
            if isinstance(file, Mapping):
                names = (file.get("file_uuid"), file.get("id"), file.get("file_name"))
                name = next((name for name in names if isinstance(name, str) and name), "file")
                yield {"attachmentId": name, "source": dict(file)}


def _list(raw: Any) -> list[Any]:
    return raw if isinstance(raw, list) else []
