"""Reads sessions of Cline's command line: a file of messages in Anthropic's words, with a manifest.

The manifest beside it has the title and the folder. A fork has copies of the messages under their
ids. A sub-agent has a file of its own in the folder of its session.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Link, Reason
from forklore.importing.members import mapped, objects, parts_in, renamed, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

Row = Mapping[str, Any]
_INPUT = re.compile(r"<user_input(?: [^>]*)?>(.*)</user_input>", re.DOTALL)
_MAPPED = ("id", "role", "content", "ts", "modelInfo", "metrics")
_METRICS = {"inputTokens": "prompt_tokens", "outputTokens": "completion_tokens"}


def is_session(value: Row) -> bool:
    """Tell whether a record holds the messages of a session."""
    return {"messages", "sessionId", "origin"} <= value.keys() and isinstance(value["messages"], list)


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield the session of a file."""
    for record in source:
        value = mapped(record.value)
        origin, name = mapped(value.get("origin")), text_in(value.get("sessionId"))
        messages: list[Message] = []
        for number, row in enumerate(objects(value.get("messages"))):
            above = messages[-1].id if messages else None
            messages += _messages_of(row, f"#{number}", above)
        if not isinstance(value.get("messages"), list):
            report.add(Reason.OTHER_RECORD, record.place)
            continue
        about = _manifest(source)
        told = mapped(about.get("metadata"))
        parent = text_in(origin.get("parentThreadId"))
        yield Conversation(
            id=name or None,
            place=record.place,
            messages=messages,
            title=told.get("title"),
            created_at=about.get("started_at"),
            updated_at=value.get("updated_at"),
            project=about.get("cwd"),
            about={**rest(origin, "sessionId"), **rest(told, "title", "usage", "aggregateUsage")},
            child_of=_link(source, parent, messages) if parent else None,
        )


def _messages_of(row: Row, number: str, above: str | None) -> list[Message]:
    """Return the message of a row, or of each result of a call in it one."""
    name, role = text_in(row.get("id")) or number, row.get("role")
    parts = [_shown(part) if role == "user" else part for part in parts_in(row.get("content"))]
    results = [part for part in parts if _is_result(part)]
    usage = renamed(row.get("metrics"), _METRICS)
    if "cacheReadTokens" in usage:
        usage["prompt_tokens_details"] = {"cached_tokens": usage.pop("cacheReadTokens")}
    made: list[Message] = []
    said = [part for part in parts if not _is_result(part)]
    for one in [[result] for result in results] + ([said] if said or not results else []):
        made.append(
            Message(
                id=f"{name}/{len(made)}" if made else name,
                key=None if name == number else "",
                parent=made[-1].id if made else above,
                role="tool" if one and _is_result(one[0]) else role,
                said=one,
                at=row.get("ts"),
                model=mapped(row.get("modelInfo")).get("id"),
                usage=usage,
                source=rest(row, *_MAPPED),
            )
        )
    return made


def _is_result(part: Any) -> bool:
    return not isinstance(part, str) and part.get("type") == "tool_result"


def _shown(part: Any) -> Any:
    """Return a part as its user has typed it."""
    text = part if isinstance(part, str) else part.get("text") if part.get("type") == "text" else None
    if not isinstance(text, str):
        return part
    found = _INPUT.fullmatch(text.strip())
    return found[1] if found else text


def _manifest(source: Source) -> Row:
    """Return the manifest of a session, which stands beside its messages."""
    session = source.path.name.removesuffix(".messages.json")
    values = [value for name in source.beside(f"{session}.json") for value in source.values(name)]
    return mapped(values[0] if values else None)


def _link(source: Source, parent: str, messages: list[Message]) -> Link:
    """Return the call that has started a sub-agent: it says what the sub-agent is asked."""
    asked = "".join(part for message in messages[:1] for part in message.said if isinstance(part, str))
    for name in source.beside(f"{parent}.messages.json"):
        for value in source.values(name):
            for row in objects(mapped(value).get("messages")):
                for part in objects(row.get("content")):
                    given = mapped(part.get("input"))
                    if asked and asked in (given.get("task"), given.get("prompt")):
                        return Link(session=parent, call=text_in(part.get("id")))
    return Link(session=parent)
