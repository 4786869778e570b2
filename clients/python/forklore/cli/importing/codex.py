"""Reads rollouts of Codex: JSON Lines of one session, each message after the one before it.

Older ones have the items as they are, newer ones in `payload` beside their time. Where the session
was compacted, the summary is a message of the system. A session that was resumed, or is a fork of
another one, names a session again: it goes on all the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forklore.cli.importing.claude import listed
from forklore.cli.importing.file_records import FileRecord
from forklore.cli.importing.foreign_trees import ImportReport, Reason
from forklore.cli.importing.messages import parsed
from forklore.cli.importing.plain_conversations import Conversation, Message, rest

_HIDDEN = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions ")
"""How texts begin that Codex writes for the model in the user's name, and does not show."""
_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")


def is_line(value: Mapping[str, Any]) -> bool:
    """Tell whether a record is a line of a rollout."""
    is_new = value.get("type") in _TYPES and isinstance(value.get("payload"), Mapping)
    return is_new or {"id", "timestamp", "instructions"} <= value.keys()


def conversations_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[Conversation]:
    """Yield the conversation of a file: that of the session which it names first."""
    found: Conversation | None = None
    messages: list[Message] = []
    for record in records:
        line = record.value if isinstance(record.value, Mapping) else {}
        payload = line.get("payload")
        item = payload if isinstance(payload, Mapping) else line
        kind = line.get("type") if item is payload else "response_item"
        begins = kind == "session_meta" or (item is line and "instructions" in line and "type" not in line)
        if begins and found is None:
            found = Conversation(
                id=item.get("id") if isinstance(item.get("id"), str) else None,
                place=record.place,
                messages=messages,
                created_at=item.get("timestamp"),
                about=rest(item, "id", "timestamp"),
            )
            continue
        said = [] if begins else _said_in(item, kind)
        if not said:
            what = item.get("type") or line.get("type") or line.get("record_type")
            report.add(Reason.OTHER_RECORD, f"{what} in {record.place}")
            continue
        shown = [part for part in said if not str(part).startswith(_HIDDEN)]
        if shown and len(shown) < len(said):
            report.add(Reason.HIDDEN, f"a part of {record.place}")
        found = found or Conversation(id=None, place=record.place, messages=messages)
        messages.append(
            Message(
                id=f"{len(messages) + 1}",
                parent=messages[-1].id if messages else None,
                role=_role_of(item, kind),
                said=shown,
                left_out=None if shown else Reason.HIDDEN,
                at=line.get("timestamp"),
                source=rest(
                    item,
                    "type",
                    "role",
                    "content",
                    "name",
                    "arguments",
                    "input",
                    "output",
                    "call_id",
                    "summary",
                    "message",
                ),
            )
        )
    if found is not None:
        yield found


def _role_of(item: Mapping[str, Any], kind: object) -> object:
    if kind == "compacted":
        return "system"
    held = str(item.get("type"))
    return item.get("role") if held == "message" else "tool" if held.endswith("_output") else "assistant"


def _said_in(item: Mapping[str, Any], kind: object) -> list[str | dict[str, Any]]:
    """Return what an item says; empty for one that says nothing, such as an event beside it."""
    if kind == "compacted":
        return [str(item.get("message") or "[compacted]")]
    return said_in_item(item) if kind == "response_item" else []


def said_in_item(item: Mapping[str, Any]) -> list[str | dict[str, Any]]:
    """Return what an item of a model's response says, in its order."""
    held = str(item.get("type"))
    if held == "message":
        return [_part_of(part) for part in listed(item.get("content")) if isinstance(part, Mapping)]
    if held == "reasoning":
        thought = [*listed(item.get("summary")), *listed(item.get("content"))]
        texts = [str(part.get("text", "")) for part in thought if isinstance(part, Mapping)]
        return [{"type": "thinking", "thinking": "\n\n".join(texts)}] if any(texts) else []
    if held.endswith("_output"):
        return [{"type": "tool_result", "tool_use_id": item.get("call_id"), "content": item.get("output")}]
    if held.endswith("_call"):
        given: Any = next((item[name] for name in ("arguments", "input", "action") if item.get(name)), {})
        name = item.get("name") or held.removesuffix("_call")
        return [{"type": "tool_use", "id": item.get("call_id"), "name": name, "input": parsed(given)}]
    return []


def _part_of(part: Mapping[str, Any]) -> str | dict[str, Any]:
    text = part.get("text")
    return text if isinstance(text, str) else dict(part)
