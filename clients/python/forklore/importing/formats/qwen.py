"""Reads sessions of Qwen Code: JSON Lines, a tree by `uuid` and `parentUuid`.

The rows are like those of Claude Code, what they say is in the words of Google's API. All rows but
messages are places in the tree: what hangs on them hangs on the message above. A fork is a file of
its own with copies of the rows above. A sub-agent has a file of its own, too, and one beside it
that names the call.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Link, Reason
from forklore.importing.formats.google_parts import results_in, said_in, usage_of
from forklore.importing.members import mapped, objects, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

Row = Mapping[str, Any]
_ROLES = {"user": "user", "assistant": "assistant", "tool_result": "tool"}
_OF_ALL = ("sessionId", "cwd", "version", "gitBranch", "agentId", "isSidechain", "forkedFrom")
_MAPPED = (*_OF_ALL, "uuid", "parentUuid", "timestamp", "type", "message", "model", "usageMetadata")
_PICTURES = "Recent visual snapshots preserved from before context was compacted"


def is_row(value: Row) -> bool:
    """Tell whether a record is a row of a session."""
    message = value.get("message")
    is_message = isinstance(message, Mapping) and "parts" in message
    return {"uuid", "sessionId"} <= value.keys() and (is_message or "systemPayload" in value)


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield the session of a file."""
    first: Row = {}
    title: object = None
    rows: dict[str, Row] = {}
    messages: list[Message] = []
    ends: dict[str, str] = {}  # of a row, the last message that is made of it
    for record in source:
        row = mapped(record.value)
        name = text_in(row.get("uuid"))
        if not name or name in rows:
            report.add(Reason.OTHER_RECORD, record.place)
            continue
        first, rows[name] = first or row, row
        title = mapped(row.get("systemPayload")).get("customTitle") or title
        above = text_in(row.get("parentUuid")) or None
        made = _messages_of(row, name, ends.get(above or "", above))
        if made[0].is_gap:
            report.add(Reason.OTHER_RECORD, f"{row.get('subtype') or row.get('type')} in {record.place}")
        if made[0].is_summary:
            made[0].kept = _kept(row, rows, ends)
        messages += made
        ends[name] = made[-1].id
    if messages:
        session = text_in(first.get("sessionId")) or None
        agent = text_in(first.get("agentId")) if first.get("isSidechain") else ""
        yield Conversation(
            id=f"{session}/{agent}" if agent else session,
            messages=messages,
            title=title,
            created_at=first.get("timestamp"),
            project=first.get("cwd"),
            current=messages[-1].id,
            about={one: first[one] for one in ("version", "gitBranch", "forkedFrom") if one in first},
            child_of=_link(source, session, first) if agent and session else None,
        )


def _messages_of(row: Row, name: str, above: str | None) -> list[Message]:
    """Return the message of a row, and of each result of a call in it one; a gap, if it is none."""
    message, kind = mapped(row.get("message")), text_in(row.get("type"))
    found = Message(id=name, parent=above, at=row.get("timestamp"), source=rest(row, *_MAPPED))
    history = objects(mapped(row.get("systemPayload")).get("compressedHistory"))
    if kind == "system" and history:
        found.role, found.is_summary, found.source = "system", True, {}
        pictures = [part for one in history[1:] if _is_pictures(one) for part in said_in(one["parts"])]
        found.said = [
            *said_in(history[0].get("parts")),
            *(one for one in pictures if not isinstance(one, str)),
        ]
        found.earlier_keys = [name]  # it was read without the pictures
        return [found]
    if kind not in _ROLES or "parts" not in message:
        found.is_gap = True
        return [found]
    found.role, found.said = _ROLES[kind], said_in(message["parts"])
    found.model = row.get("model")
    found.usage = usage_of(
        row.get("usageMetadata"), "promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount"
    )
    shown = text_in(mapped(row.get("systemPayload")).get("displayText"))
    if kind == "user" and row.get("provenance", "real_user") != "real_user":
        found.role = "system"
    elif kind == "user" and shown:
        found.said = [shown]
    results = results_in(message["parts"])
    if not results:
        return [found]
    made = [found] if found.said else []
    for result in results:
        more = Message(id=f"{name}/{len(made)}" if made else name, parent=above, role="tool", said=[result])
        more.at, more.source = found.at, found.source if len(results) == 1 else {}
        more.parent = made[-1].id if made else above
        made.append(more)
    return made


def _is_pictures(held: Row) -> bool:
    """Tell whether a message of a compression is the program's own copy of the last pictures."""
    return "".join(part for part in said_in(held.get("parts"))[:1] if isinstance(part, str)).startswith(
        _PICTURES
    )


def _kept(row: Row, rows: Mapping[str, Row], ends: Mapping[str, str]) -> list[str]:
    """Return the messages above a compression whose contents the model keeps behind the summary."""
    found: list[str] = []
    history = objects(mapped(row.get("systemPayload")).get("compressedHistory"))
    at = text_in(row.get("parentUuid"))
    while len(history) > 1 and at in rows:
        message = mapped(rows[at].get("message"))
        if message:
            if message.get("parts") != history.pop().get("parts"):
                break
            found.append(ends[at])
        at = text_in(rows[at].get("parentUuid"))
    return found[::-1]


def _link(source: Source, session: str, row: Row) -> Link:
    """Return the call that has started a sub-agent: its id ends so; a file beside tells more."""
    values = [
        value for name in source.beside(f"{source.path.stem}.meta.json") for value in source.values(name)
    ]
    meta = mapped(values[0] if values else None)
    named = text_in(row.get("agentId")).removeprefix(f"{text_in(row.get('agentName'))}-")
    above = text_in(meta.get("parentAgentId"))
    call = text_in(meta.get("toolUseId"), named)
    return Link(session=f"{session}/{above}" if above else session, call=call)
