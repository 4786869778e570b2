"""Reads sessions of Kimi Code: a wire of each agent, and a state that names them all.

A step of the loop is a message of the model, with its parts and calls. `context.undo` takes back
turns: the next message goes on before them. A fork has a copy of the wire. A sub-agent has a wire
of its own; that of its parent names the call.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Link, Reason
from forklore.importing.members import json_in, mapped, numbered, parts_in, renamed, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

Row = Mapping[str, Any]
_USAGE = {
    "inputOther": "input_tokens",
    "output": "output_tokens",
    "inputCacheRead": "cache_read_input_tokens",
    "inputCacheCreation": "cache_creation_input_tokens",
}
_ENDS = ("turn.ended", "agent.turn.ended")  # the words of an answer that is stopped come after `turn.cancel`
_STATE = ("id", "version", "cwd", "archived", "title", "agents", "createdAt", "updatedAt", "isCustomTitle")


def is_line(value: Row) -> bool:
    """Tell whether a record is the first line of a wire."""
    return value.get("type") == "metadata" and "protocol_version" in value


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield the session of a file, or its sub-agent."""
    wire = _Wire()
    begun: object = None
    for record in source:
        row = mapped(record.value)
        if is_line(row):
            begun = begun or row.get("created_at")
        elif not wire.put(row):
            report.add(Reason.OTHER_RECORD, f"{row.get('type')} in {record.place}")
    values = [value for name in source.beside("../../state.json") for value in source.values(name)]
    state = mapped(values[0] if values else None)
    folders = source.path.parents
    session = text_in(state.get("id")) or (folders[2].name if len(folders) > 2 else "")
    agent = source.path.parent.name
    about = mapped(mapped(state.get("agents")).get(agent))
    is_child = about.get("type") == "sub" or agent.startswith("agent-")
    yield Conversation(
        id=(f"{session}/{agent}" if is_child else session) or None,
        messages=wire.messages,
        title=None if is_child else state.get("title"),
        created_at=begun,
        updated_at=None if is_child else state.get("updatedAt"),
        project=state.get("cwd"),
        current=wire.tip,
        is_archived=bool(state.get("archived")),
        about=mapped(about.get("labels")) if is_child else rest(state, *_STATE),
        child_of=_link(source, session, agent, text_in(about.get("parentAgentId"))) if is_child else None,
    )


class _Wire:
    """The messages of a wire. tip: after which the next one goes on."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.tip: str | None = None
        self._by_id: dict[str, Message] = {}
        self._times: Counter[str] = Counter()
        self._steps: dict[str, Message] = {}
        self._turns: list[Message] = []  # what the user has said, down to the tip

    def put(self, row: Row) -> bool:
        """Take a record, and tell whether it is of a message."""
        kind, at = row.get("type"), row.get("time")
        if kind == "context.append_message":
            self._put_message(mapped(row.get("message")), at)
        elif kind == "context.append_loop_event":
            return self._put_event(mapped(row.get("event")), at)
        elif kind == "context.apply_compaction":
            self._put_summary(row, at)
        elif kind == "context.undo":
            count = row.get("count")
            for _ in range(min(count, len(self._turns)) if type(count) is int else 0):
                self.tip = self._turns.pop().parent
        elif kind == "usage.record" and self.messages:
            self.messages[-1].model = self.messages[-1].model or row.get("model")
        else:
            if kind in _ENDS:
                for step in self._steps.values():
                    step.is_open = False
                self._steps.clear()
            return False
        return True

    def _add(self, name: str, key: str | None, role: object, said: list[Any], at: object) -> Message:
        other = numbered(name, self._times, self._by_id)
        name, key = other, key if other == name else None
        message = Message(id=name, key=key, parent=self.tip, role=role, said=said, at=at)
        self.messages.append(message)
        self._by_id[name], self.tip = message, name
        return message

    def _put_message(self, held: Row, at: object) -> None:
        name = text_in(held.get("id"))
        origin = mapped(held.get("origin"))
        by = origin.get("kind", "user")
        is_asked = by == "user" or (by == "system_trigger" and origin.get("name") == "subagent")
        role = held.get("role") if is_asked or held.get("role") != "user" else "system"
        said = [_part_of(part) for part in parts_in(held.get("content"))]
        message = self._add(name or f"#{len(self.messages)}", "" if name else None, role, said, at)
        message.source = rest(held, "id", "role", "content", "origin", "toolCalls")
        if by == "injection":
            message.left_out, message.key = Reason.HIDDEN, None
        elif by == "user" and role == "user":
            self._turns.append(message)

    def _put_event(self, event: Row, at: object) -> bool:
        kind, step = event.get("type"), text_in(event.get("stepUuid"), event.get("uuid"))
        if kind == "step.begin" and step:
            self._steps[step] = self._add(step, "", "assistant", [], at)
            self._steps[step].is_open = True
            return True
        if kind == "tool.result":
            result = mapped(event.get("result"))
            told = {
                "tool_use_id": event.get("toolCallId"),
                "content": result.get("output", result.get("content")),
            }
            failed = {"is_error": True} if result.get("isError") is True else {}
            name = text_in(event.get("parentUuid"), event.get("toolCallId"))
            key = "" if name else None
            self._add(
                name or f"#{len(self.messages)}", key, "tool", [{"type": "tool_result", **told, **failed}], at
            )
            return True
        message = self._steps.get(step)
        if message is None:
            return False
        if kind == "content.part":
            message.said = [*message.said, _part_of(mapped(event.get("part")))]
        elif kind == "tool.call":
            names = {"toolCallId": "id", "args": "input"}
            call = renamed({one: event.get(one) for one in ("toolCallId", "name", "args")}, names)
            message.said = [*message.said, {"type": "tool_use", **call}]
        elif kind == "step.end":
            message.is_open = False
            message.usage = renamed(event.get("usage"), _USAGE)
            message.source = rest(event, "type", "uuid", "usage", "turnId", "step")
        else:
            return False
        return True

    def _put_summary(self, row: Row, at: object) -> None:
        """Take a compaction: the model keeps the last messages of the user, as many as it says."""
        held, count = row.get("summary"), row.get("keptUserMessageCount")
        said = parts_in(mapped(held).get("content") if isinstance(held, dict) else held)
        number = count if type(count) is int and count > 0 else 0
        kept = [one.id for one in self._turns[-number:]] if number else []
        message = self._add(f"#{at}", f"compaction {at}", "system", [*map(_part_of, said)], at)
        message.is_summary, message.kept = True, kept
        message.source = rest(row, "type", "agentId", "time", "summary")


def _part_of(part: Any) -> Any:
    if isinstance(part, str):
        return part
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        about = rest(part, "type", "text")
        return {"type": "text", "text": part["text"], **about} if about else part["text"]
    if kind == "think":
        return {"type": "thinking", "thinking": text_in(part.get("think")), **rest(part, "type", "think")}
    if kind == "image_url":
        return {"type": "image", "url": mapped(part.get("imageUrl") or part.get("image_url")).get("url")}
    return dict(part)


def _link(source: Source, session: str, agent: str, parent: str) -> Link | None:
    """Return the call that has started a sub-agent, as the wire of its parent tells it."""
    above = parent or "main"
    of = session if above == "main" else f"{session}/{above}"
    for name in source.beside(f"../{above}/wire.jsonl"):
        for line in source.text(name).splitlines():
            if '"subagent.spawned"' in line:
                told = mapped(json_in(line))
                if told.get("subagentId") == agent:
                    return Link(session=of, call=text_in(told.get("parentToolCallId")))
    return Link(session=of) if of else None
