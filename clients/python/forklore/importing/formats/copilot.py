"""Reads sessions of GitHub Copilot CLI: the events of one, or what `copilot sessions import` takes.

Each event follows the one before it; `parentId` says no more. Events with an `agentId` are those of
a sub-agent, a child of the call that has started it. A fork is a file of its own with the same
events. The title stands in a file beside it, `workspace.yaml`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Link, Reason
from forklore.importing.members import json_in, mapped, objects, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

Row = Mapping[str, Any]
_MAPPED = (
    *("content", "transformedContent", "attachments", "model", "reasoningText", "toolRequests"),
    *("toolCallId", "success", "result", "error", "summaryContent"),
)


def is_line(value: Row) -> bool:
    """Tell whether a record is an event of a session, or the first line of one to import."""
    is_event = {"id", "parentId", "timestamp"} <= value.keys() and isinstance(value.get("data"), Mapping)
    return is_event or (value.get("type") == "session" and "externalId" in value)


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield the session of a file, and then its sub-agents."""
    own = Conversation(id=None, messages=[])
    agents: dict[str, Conversation] = {}
    assets: dict[str, Row] = {}
    for record in source:
        row = mapped(record.value)
        kind, data = text_in(row.get("type")), mapped(row.get("data"))
        agent = text_in(row.get("agentId"))
        of = agents.setdefault(agent, Conversation(id=agent, messages=[])) if agent else own
        if kind in ("session", "session.start"):
            _begin(own, row, data)
        elif kind == "session.binary_asset":
            assets[text_in(data.get("assetId"))] = data
        elif kind == "subagent.started":
            of.child_of, of.title = (
                Link(session="", call=text_in(data.get("toolCallId"))),
                data.get("agentDescription"),
            )
        elif kind == "tool-call" and of.messages and of.messages[-1].role == "assistant":
            _add_call(of.messages[-1], row)
        else:
            _add(of, row, kind, data, assets, record.place, report)
    workspace = source.path.name.removesuffix("events.jsonl") + "workspace.yaml"
    for name in source.beside(workspace):
        about = _scalars(source.text(name))
        own.id, own.title = about.get("id") or own.id, about.get("name")
        own.updated_at = about.get("updated_at")
    if own.messages or not agents:
        yield own
    for child in agents.values():
        if child.child_of is not None and own.id:
            child.child_of = Link(session=own.id, call=child.child_of.call)
        else:
            child.child_of = None
        yield child


def _begin(own: Conversation, row: Row, data: Row) -> None:
    own.id = own.id or text_in(data.get("sessionId"), row.get("externalId")) or None
    own.created_at = data.get("startTime") or row.get("createdAt")
    own.title = row.get("title")
    own.project = mapped(data.get("context")).get("cwd")
    own.about = rest(data, "sessionId", "startTime", "alreadyInUse", "remoteSteerable", "context")


def _add(
    of: Conversation,
    row: Row,
    kind: str,
    data: Row,
    assets: Mapping[str, Row],
    place: str,
    report: ImportReport,
) -> None:
    """Add the message of a line to a conversation."""
    role, said = _said_in(row, kind, data, assets)
    if not role:
        report.add(Reason.OTHER_RECORD, f"{kind} in {place}")
        return
    name = text_in(row.get("id"))
    number = f"#{len(of.messages)}"
    assert isinstance(of.messages, list)
    of.messages.append(
        Message(
            id=name or number,
            key="" if name else None,
            parent=of.messages[-1].id if of.messages else None,
            role=role,
            said=said,
            at=row.get("timestamp"),
            model=data.get("model"),
            source=rest(data, *_MAPPED),
            is_summary=kind == "session.compaction_complete",
        )
    )


def _said_in(row: Row, kind: str, data: Row, assets: Mapping[str, Row]) -> tuple[object, list[Any]]:
    """Return whose a line is and what it says; no role, if it is no message."""
    if kind == "user.message":
        by = text_in(data.get("source"), "user")
        role = "user" if by == "user" or by.startswith("agent-") else "system"
        sent = objects(data.get("attachments"))
        return role, [data.get("content") or "", *(_sent(one, assets) for one in sent)]
    if kind == "assistant.message":
        thought = text_in(data.get("reasoningText"))
        calls = [
            {
                "type": "tool_use",
                "id": call.get("toolCallId"),
                "name": call.get("name"),
                "input": call.get("arguments"),
            }
            for call in objects(data.get("toolRequests"))
        ]
        thoughts = [{"type": "thinking", "thinking": thought}] if thought else []
        return "assistant", [*thoughts, text_in(data.get("content")), *calls]
    if kind in ("tool.execution_complete", "tool-result"):
        told = data or row
        result = mapped(told.get("result"))
        held = next((one for one in (result.get("content"), told.get("content")) if one is not None), None)
        failed = told.get("success") is False
        content = mapped(told.get("error")).get("message", told.get("error")) if held is None else held
        about = {"is_error": True} if failed else {}
        return "tool", [
            {"type": "tool_result", "tool_use_id": told.get("toolCallId"), "content": content, **about}
        ]
    if kind == "session.compaction_complete" and text_in(data.get("summaryContent")):
        return "system", [data["summaryContent"]]
    if kind == "message" and isinstance(row.get("content"), list):
        return row.get("role"), [
            text_in(part.get("text")) if part.get("type") == "text" else part
            for part in objects(row["content"])
        ]
    return None, []


def _sent(raw: Row, assets: Mapping[str, Row]) -> dict[str, Any]:
    """Return a part for what a user has sent along: a picture with its bytes, if they are there."""
    asset = assets.get(text_in(raw.get("assetId")), {})
    is_image = text_in(raw.get("mimeType"), asset.get("mimeType")).startswith("image/")
    name = {"name": raw["displayName"]} if "displayName" in raw else {}
    data = {"data": asset["data"]} if "data" in asset else {}
    return {
        **rest(raw, "type", "displayName", "assetId"),
        **data,
        **name,
        "type": "image" if is_image else "file",
    }


def _add_call(answer: Message, row: Row) -> None:
    call = {"type": "tool_use", "id": row.get("id"), "name": row.get("name"), "input": row.get("arguments")}
    answer.said = [*answer.said, call]


def _scalars(text: str) -> dict[str, str]:
    """Return the texts of a flat YAML map, as the program writes it: no lists, no maps below it."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(" ") and name:  # of a text over several lines
            found[name] = f"{found[name]} {line.strip()}".strip()
            continue
        name, _, value = line.partition(":")
        value = value.strip()
        if value.startswith("'"):
            value = value[1:].removesuffix("'").replace("''", "'")
        elif value.startswith('"'):
            value = text_in(json_in(value), value)
        found[name] = "" if value in (">-", ">", "|-", "|") else value
    return found
