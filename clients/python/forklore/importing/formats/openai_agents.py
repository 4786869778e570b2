"""Reads the database of an `AdvancedSQLiteSession` of the OpenAI Agents SDK: branches of items.

Each branch lists its items, those that it shares with others, too. A plain session is read by the
SDK itself. The branch with the newest item is current.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.formats.llm import is_record
from forklore.importing.formats.messages import about_item, role_of_item, said_in, said_in_item
from forklore.importing.members import json_in, mapped, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

TABLES = {
    "agent_messages": ("id", "session_id", "message_data"),
    "message_structure": ("id", "session_id", "message_id", "branch_id", "sequence_number"),
}
_ROWS = (
    "SELECT s.session_id, s.branch_id, s.message_id, m.message_data, m.created_at"
    " FROM message_structure AS s JOIN agent_messages AS m ON m.id = s.message_id"
    " ORDER BY s.session_id, s.id"
)
is_of = is_record


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield each session of a database."""
    if source.database is None:
        for record in source:
            report.add(Reason.OTHER_RECORD, record.place)
        return
    for name, rows in groupby(source.database.execute(_ROWS), key=lambda row: row[0]):
        messages: dict[str, Message] = {}
        ends: dict[object, str] = {}
        current: str | None = None
        for _, branch, number, data, at in rows:
            one = str(number)
            if one not in messages:
                messages[one] = _message_of(mapped(json_in(data)), one, ends.get(branch), at)
            current = ends[branch] = one
        yield Conversation(id=text_in(name) or None, messages=[*messages.values()], current=current)


def _message_of(item: Mapping[str, Any], name: str, above: str | None, at: object) -> Message:
    is_plain = "type" not in item
    about = rest(item, "role", "content") if is_plain else about_item(item)
    return Message(
        id=name,
        key=None,
        parent=above,
        role=item.get("role") if is_plain else role_of_item(item),
        said=said_in(item) if is_plain else said_in_item(item),
        at=at,
        model=mapped(item.get("provider_data")).get("model"),
        source=about,
    )
