"""Reads sessions of Goose: its database, or what `goose session export --format json` writes.

Messages follow each other. A fork has copies under their `message_id`s. What nobody sees is either
the summary of a compaction, from which the model goes on, or the program's own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Link, Reason
from forklore.importing.members import json_in, listed, mapped, numbered, objects, renamed, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

Row = Mapping[str, Any]
TABLES = {
    "sessions": ("id", "name", "session_type", "working_dir"),
    "messages": ("id", "message_id", "session_id", "role", "content_json", "created_timestamp"),
}
_SESSION = (
    *("id", "name", "working_dir", "created_at", "updated_at", "archived_at", "parent_session_id"),
    *("conversation", "extension_data", "message_count"),
)
_USAGE = {"inputTokens": "prompt_tokens", "outputTokens": "completion_tokens"}
_AGENT = re.compile(r"Subagent ID: \S+\n\n")
"""Before what a sub-agent is asked stands its id."""


def is_session(value: Row) -> bool:
    """Tell whether a record is an exported session."""
    return "working_dir" in value and isinstance(value.get("conversation"), list)


def conversations_of(source: Source, _report: ImportReport) -> Iterator[Conversation]:
    """Yield each session of a database, or that of each record."""
    if source.database is None:
        for record in source:
            value = mapped(record.value)
            yield _conversation_of(value, objects(value.get("conversation")), {})
        return
    callers: dict[str, tuple[str, str]] = {}
    links = "SELECT session_id, content_json FROM messages WHERE content_json LIKE '%subagent_session_id%'"
    for name, content in source.database.execute(links):
        for part in objects(json_in(content)):
            about = mapped(mapped(mapped(part.get("toolResult")).get("value")).get("_meta"))
            if text_in(about.get("subagent_session_id")):  # a fork has a copy of the call
                callers.setdefault(about["subagent_session_id"], (name, text_in(part.get("id"))))
    sessions = {row["id"]: dict(row) for row in source.database.execute("SELECT * FROM sessions")}
    rows = source.database.execute("SELECT * FROM messages ORDER BY session_id, id")
    for name, held in groupby(map(dict, rows), key=lambda row: row["session_id"]):
        yield _conversation_of(sessions.get(name, {"id": name}), map(_as_exported, held), callers)


def _as_exported(row: Row) -> dict[str, Any]:
    told = {"id": row["message_id"], "role": row["role"], "created": row["created_timestamp"]}
    return {**told, "content": json_in(row["content_json"]), "metadata": json_in(row.get("metadata_json"))}


def _conversation_of(
    session: Row, rows: Iterable[Row], callers: Mapping[str, tuple[str, str]]
) -> Conversation:
    name = text_in(session.get("id"))
    messages: dict[str, Message] = {}
    thoughts: list[list[Any]] = []  # of each message
    times: Counter[str] = Counter()
    last: Message | None = None
    last_id = ""
    for number, row in enumerate(rows):
        for message in _messages_of(row, f"#{number}"):
            if any(_index_of(part) > 0 for part in message.said):
                _drop_told_thought(message, thoughts[-2:])
            own = [part for part in message.said if _is(part, "thinking")]
            if last is not None and (last_id, last.role) == (message.id, message.role):
                last.said = [*last.said, *message.said]  # a message in several rows
                thoughts[-1] += own
                continue
            last_id, message.id = message.id, numbered(message.id, times, messages)
            if message.id != last_id:
                message.key = None
            message.parent = None if last is None else last.id
            last = message
            messages[message.id] = message
            thoughts.append(own if message.role == "assistant" else [])
    summed_up = max((at for at, one in enumerate(messages.values()) if one.is_summary), default=0)
    for message in [*messages.values()][:summed_up]:  # the model got them then
        message.source = rest(message.source, "agentVisible")
    extensions = session.get("extension_data")
    held = mapped(json_in(extensions) if isinstance(extensions, str) else extensions)
    parent, call = callers.get(name, (text_in(session.get("parent_session_id")), ""))
    return Conversation(
        id=name or None,
        forklore=text_in(mapped(held.get("forklore.v0")).get("conversation")),
        messages=[*messages.values()],
        title=session.get("name") or session.get("description"),
        created_at=session.get("created_at"),
        updated_at=session.get("updated_at"),
        project=session.get("working_dir"),
        is_archived=bool(session.get("archived_at")),
        about=rest(session, *_SESSION),
        child_of=Link(session=parent, call=call) if parent else None,
    )


def _drop_told_thought(message: Message, before: list[list[Any]]) -> None:
    """Leave out the thought of a call that was made together with the one before it.

    Each of such calls has a row of its own, with the same thought. before: those of the two
    messages before it.
    """
    message.said = [part for part in message.said if not any(part in told for told in before)]


def _is(part: Any, kind: str) -> bool:
    return not isinstance(part, str) and part.get("type") == kind


def _index_of(part: str | Row) -> int:
    if isinstance(part, str) or part.get("type") != "tool_use":
        return 0
    number = mapped(part.get("_meta")).get("goose.toolCall.providerIndex")
    return number if type(number) is int else 0


def _messages_of(row: Row, number: str) -> list[Message]:
    """Return the message of a row, or of each result of a call in it one."""
    about = mapped(row.get("metadata"))
    name, role = text_in(row.get("id")) or number, row.get("role")
    said, results = _said_in(listed(row.get("content")))
    inference, usage = mapped(about.get("inference")), renamed(about.get("usage"), _USAGE)
    if "cacheReadTokens" in usage:
        usage["prompt_tokens_details"] = {"cached_tokens": usage.pop("cacheReadTokens")}
    is_hidden = about.get("userVisible") is False
    is_summary = is_hidden and role == "user" and not about.get("turnContext") and not results
    unsent = {"agentVisible": False} if about.get("agentVisible") is False else {}  # as `/compact`
    message = Message(
        id=name,
        key=None if name == number else "",
        role="system" if is_summary else role,
        said=said,
        at=row.get("created"),
        model=inference.get("model") or inference.get("requestedModel"),
        usage=usage,
        source={**rest(about, "userVisible", "agentVisible", "inference", "usage"), **unsent},
        is_summary=is_summary,
        left_out=Reason.HIDDEN if is_hidden and not is_summary else None,
    )
    made = [message] if said or not results else []
    for result in results:
        one = f"{name}/{len(made)}" if made else name
        made.append(Message(id=one, key=message.key and one, role="tool", said=[result], at=message.at))
        made[-1].left_out = message.left_out
    return made


def _said_in(content: list[Any]) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return what a content says, and the results of calls in it."""
    said: list[Any] = []
    results: list[dict[str, Any]] = []
    for part in objects(content):
        kind, text = part.get("type"), part.get("text")
        if kind == "toolResponse":
            told = mapped(part.get("toolResult"))
            value = mapped(told.get("value"))
            failed = told.get("status") == "error" or value.get("isError") is True
            result = {"type": "tool_result", "tool_use_id": part.get("id")}
            held = value.get("content", told.get("error"))
            results.append({**result, "content": held, **({"is_error": True} if failed else {})})
        elif kind == "toolRequest":
            call = mapped(mapped(part.get("toolCall")).get("value"))
            use = {"type": "tool_use", "id": part.get("id"), "name": call.get("name")}
            said.append({**use, "input": call.get("arguments"), **rest(part, "type", "id", "toolCall")})
        elif kind == "text" and isinstance(text, str):
            said.append(_AGENT.sub("", text, count=1) if text.startswith("Subagent ID: ") else text)
        else:
            said.append(dict(part))
    return said, results
