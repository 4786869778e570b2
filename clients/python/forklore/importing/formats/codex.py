"""Reads rollouts of Codex: JSON Lines of one session, each message after the one before it.

Older ones have the items as they are, newer ones in `payload` beside their time. Where the session
was compacted, the summary is a message of the system: where it cannot be read, what was kept of the
messages. A session that was resumed, or is a fork of another one, names a session again: it goes on
all the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.formats.messages import about_item, role_of_item, said_in_item
from forklore.importing.members import mapped, objects, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest

_HIDDEN = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions ")
"""How texts begin that Codex writes for the model in the user's name, and does not show."""
_UNREADABLE = "[compacted]"
_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")


def is_line(value: Mapping[str, Any]) -> bool:
    """Tell whether a record is a line of a rollout."""
    is_new = value.get("type") in _TYPES and isinstance(value.get("payload"), Mapping)
    return is_new or _begins(value)


def _begins(line: Mapping[str, Any]) -> bool:
    """Tell whether a line of an older rollout is its first one."""
    told, is_older = {"id", "timestamp"} <= line.keys(), "instructions" in line
    return told and (is_older or line.keys() <= {"id", "timestamp", "git"})


def conversations_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[Conversation]:
    """Yield the conversation of a file: that of the session which it names first."""
    found: Conversation | None = None
    messages: list[Message] = []
    for record in records:
        line = mapped(record.value)
        payload = line.get("payload")
        item = payload if isinstance(payload, Mapping) else line
        kind = line.get("type") if item is payload else "response_item"
        begins = kind == "session_meta" or (item is line and _begins(line))
        if begins and found is None:
            found = Conversation(
                id=text_in(item.get("id")) or None,
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
                is_summary=kind == "compacted" and said != [_UNREADABLE],
                said=shown,
                left_out=None if shown else Reason.HIDDEN,
                at=line.get("timestamp") or item.get("timestamp"),
                source=rest(item, "type", "message") if kind == "compacted" else about_item(item),
            )
        )
    if found is not None:
        yield found


def _role_of(item: Mapping[str, Any], kind: object) -> object:
    return "system" if kind == "compacted" else role_of_item(item)


def _said_in(item: Mapping[str, Any], kind: object) -> list[str | dict[str, Any]]:
    """Return what an item says; empty for one that says nothing, such as an event beside it."""
    if kind == "compacted":
        history = objects(item.get("replacement_history"))
        messages = [one for one in history if one.get("type") == "message"]
        kept = [part for one in messages for part in said_in_item(one)]
        return [text_in(item.get("message"))] if text_in(item.get("message")) else kept or [_UNREADABLE]
    return said_in_item(item) if kind == "response_item" else []
