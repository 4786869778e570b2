"""Reads exports of llama.cpp's web interface: conversations whose messages are a tree."""

from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.members import mapped, objects, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

_MAPPED = ("id", "convId", "parent", "children", "role", "content", "timestamp", "model", "thinking", "extra")


def is_export(value: Mapping[str, Any]) -> bool:
    """Tell whether a record is an exported conversation."""
    return "currNode" in mapped(value.get("conv"))


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield the conversations of a file."""
    for record in source:
        value = mapped(record.value)
        head = mapped(value.get("conv"))
        if not head:
            report.add(Reason.OTHER_RECORD, record.place)
            continue
        rows = objects(value.get("messages"))
        yield Conversation(
            id=text_in(head.get("id")) or None,
            place=record.place,
            messages=[_message_of(row, number) for number, row in enumerate(rows)],
            title=head.get("name"),
            updated_at=head.get("lastModified"),
            current=head.get("currNode"),
            about=rest(head, "id", "name", "lastModified", "currNode"),
        )


def _message_of(row: Mapping[str, Any], number: int) -> Message:
    """Return a message. The first one of a conversation, of the type `root`, is only a place."""
    thought, text = text_in(row.get("thinking"), row.get("reasoningContent")), row.get("content")
    thoughts = [{"type": "thinking", "thinking": thought}] if thought else []
    name = row.get("id")
    return Message(
        id=str(name) if isinstance(name, str | int) else f"#{number}",
        parent=None if row.get("parent") is None else str(row["parent"]),
        role=row.get("role"),
        said=[*thoughts, text if isinstance(text, str) else "", *objects(row.get("extra"))],
        at=row.get("timestamp"),
        model=row.get("model"),
        source=rest(row, *_MAPPED),
        is_gap=row.get("type") == "root",
    )
