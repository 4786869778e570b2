"""Reads a conversation of OpenHands: the folder of `base_state.json` with an event in each file.

Events are a tree by `parent_id`. Those of one response are one message. After a condensation the
model remembers the summary and the events that are not forgotten; some of these stood before the
summary.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Reason
from forklore.importing.members import json_in, mapped, objects, parts_in, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

Row = Mapping[str, Any]
_HIDDEN = ("SystemPromptEvent",)
_RESULTS = ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent")
_MAPPED = (
    *("id", "timestamp", "source", "parent_id", "kind", "llm_message", "thought", "thinking_blocks"),
    *("reasoning_content", "tool_call", "tool_call_id", "tool_name", "action", "observation", "error"),
    *("rejection_reason", "summary", "forgotten_event_ids", "responses_reasoning_item"),
)


def is_state(value: Row) -> bool:
    """Tell whether a record is the state of a conversation."""
    return {"id", "persistence_dir", "execution_status"} <= value.keys()


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield the conversation of a folder."""
    for record in source:
        state = mapped(record.value)
        if not is_state(state):
            report.add(Reason.OTHER_RECORD, record.place)
            continue
        events = _Events(state)
        for name in source.beside("events/*.json"):
            for value in source.values(name, is_part=True):
                events.put(mapped(value), name, report)
        leaf = text_in(state.get("leaf_event_id"))
        tags = mapped(state.get("tags"))
        yield Conversation(
            id=text_in(state.get("id")) or None,
            place=record.place,
            messages=events.messages,
            title=tags.get("title"),
            project=mapped(state.get("workspace")).get("working_dir"),
            current=events.ends.get(leaf),
            about={"tags": tags},
        )


class _Events:
    """Events as messages. ends: of each event, the message that what follows it hangs on."""

    def __init__(self, state: Row) -> None:
        self.messages: list[Message] = []
        self.ends: dict[str, str] = {}
        self._by_id: dict[str, Message] = {}
        self._response: dict[str, object] = {}  # of an answer, the response that it is a piece of
        stats = mapped(mapped(state.get("stats")).get("usage_to_metrics"))
        self._usage = {
            str(one.get("response_id")): one
            for metrics in stats.values()
            for one in objects(mapped(metrics).get("token_usages"))
        }
        self._last = ""

    def put(self, event: Row, place: str, report: ImportReport) -> None:
        """Take an event."""
        name, kind = text_in(event.get("id")), event.get("kind")
        if not name or name in self.ends:
            report.add(Reason.OTHER_RECORD, place)
            return
        named = text_in(event.get("parent_id"))
        if "parent_id" not in event:  # an earlier version: each follows the one before it
            named = self._last
        above = self.ends.get(named, named)
        self._last = name
        response, before = event.get("llm_response_id"), self._by_id.get(above or "")
        if kind == "ActionEvent" and response and before and self._response.get(before.id) == response:
            before.said = [*before.said, *_said_in(event)]
            self.ends[name] = before.id
            return
        message = Message(
            id=name,
            parent=above or None,
            role=_role_of(event),
            said=_said_in(event),
            at=event.get("timestamp"),
            source=rest(event, *_MAPPED),
        )
        usage = self._usage.get(str(response), {})
        message.model = usage.get("model")
        told = rest(usage, "model", "response_id")
        if "cache_read_tokens" in told:
            told["prompt_tokens_details"] = {"cached_tokens": told.pop("cache_read_tokens")}
        message.usage = told
        if kind in _HIDDEN:
            message.left_out = Reason.HIDDEN
        elif kind == "Condensation" and text_in(event.get("summary")):
            message.is_summary, message.kept = True, self._kept(event, above)
        elif kind not in ("MessageEvent", "ActionEvent", *_RESULTS):
            message.is_gap = True
            report.add(Reason.OTHER_RECORD, f"{kind} in {place}")
        if kind == "ActionEvent":
            self._response[name] = response
        self.messages.append(message)
        self._by_id[name], self.ends[name] = message, name

    def _kept(self, event: Row, above: str | None) -> list[str]:
        """Return the messages above a condensation that it does not forget, nor one before it."""
        forgotten = {one for one in parts_in(event.get("forgotten_event_ids")) if isinstance(one, str)}
        found: list[str] = []
        at = self._by_id.get(above or "")
        seen: set[str] = set()
        while at is not None and at.id not in seen:
            seen.add(at.id)
            if at.is_summary:
                found += [one for one in reversed(at.kept) if one not in forgotten]
                break
            if not at.is_gap and at.id not in forgotten and at.left_out is None:
                found.append(at.id)
            at = self._by_id.get(at.parent or "")
        return found[::-1]


def _role_of(event: Row) -> object:
    kind = event.get("kind")
    if kind == "MessageEvent":
        role = mapped(event.get("llm_message")).get("role")
        return "system" if role == "user" and event.get("source") == "environment" else role
    return {"ActionEvent": "assistant", "Condensation": "system"}.get(str(kind), "tool")


def _said_in(event: Row) -> list[Any]:
    """Return what an event says."""
    kind = event.get("kind")
    if kind == "MessageEvent":
        message = mapped(event.get("llm_message"))
        return [*_thoughts(message), *_parts_of(message.get("content"))]
    if kind == "ActionEvent":
        call = mapped(event.get("tool_call"))
        given = call.get("arguments", event.get("action"))
        use = {"type": "tool_use", "id": event.get("tool_call_id"), "name": event.get("tool_name")}
        parsed = json_in(given)
        said = _parts_of(event.get("thought"))
        return [*_thoughts(event), *said, {**use, "input": given if parsed is None else parsed}]
    if kind in _RESULTS:
        held = mapped(event.get("observation"))
        content = held.get("content", held or event.get("error", event.get("rejection_reason")))
        failed = kind != "ObservationEvent" or held.get("is_error") is True
        about = {"is_error": True} if failed else {}
        result = {"tool_use_id": event.get("tool_call_id"), "name": event.get("tool_name")}
        return [{"type": "tool_result", **result, "content": content, **about}]
    return parts_in(event.get("summary")) if kind == "Condensation" else []


def _thoughts(held: Row) -> list[dict[str, Any]]:
    blocks = [dict(one) for one in objects(held.get("thinking_blocks")) if text_in(one.get("thinking"))]
    text = text_in(held.get("reasoning_content"))
    return blocks or ([{"type": "thinking", "thinking": text}] if text else [])


def _parts_of(content: Any) -> Iterator[Any]:
    """Yield the parts of a content, each image alone."""
    for part in parts_in(content):
        about = mapped(part)
        urls = about.get("image_urls")
        if isinstance(urls, list):
            yield from ({**about, "image_urls": [url]} for url in urls)
        else:
            yield _part_of(part)


def _part_of(part: Any) -> Any:
    if isinstance(part, str) or part.get("type") != "text":
        return part
    about = rest(part, "type", "text", "cache_prompt")
    return (
        {"type": "text", "text": text_in(part.get("text")), **about} if about else text_in(part.get("text"))
    )
