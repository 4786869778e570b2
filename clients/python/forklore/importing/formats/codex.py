"""Reads rollouts of Codex: JSON Lines of one session, or of what came after a part of one.

A rewind begins a second file of the same session, and a fork one of its own: both hold only what
came after, and name a place in another file by the number (`ordinal`) of its lines. A sub-agent has
a file, too, and names the session that has started it, whose result of a call names the sub-agent.
Older ones have the items as they are, newer ones in `payload` beside their time. A session that was
resumed, or an older fork, names a session again: it goes on all the same.

Where the session was compacted, the summary is a message of the system: where it cannot be read,
what was kept of the messages. What Codex writes for the model, also in the user's name, is hidden:
newer items tell of each part what it is.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.foreign_trees import ImportReport, Link, Reason
from forklore.importing.formats.messages import about_item, role_of_item, said_in_item
from forklore.importing.members import listed, mapped, objects, text_in
from forklore.importing.plain_conversations import Conversation, Message, rest
from forklore.importing.sources import Source

_HIDDEN = (
    *("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions "),
    *("<skills_instructions>", "<collaboration_mode>", "<turn_aborted>", "<subagent_notification>"),
)
"""How texts begin that Codex writes for the model, and does not show."""
_SAID_KINDS = ("user.", "unknown")
"""How the kinds of parts begin that a person or a model has said. Older items tell none."""
_IMAGE = re.compile(r'<image\b(?:.*\bpath="(?P<path>[^"]*)")?.*>|</image>', re.DOTALL)
"""What stands before and behind an image."""
_UNREADABLE = "[compacted]"
_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_PART = re.compile(r"rollout-.*[0-9a-f]{12}_([0-9a-f-]{36})")
"""How the file of a later part of a session is called."""
_ABOUT_FORK = ("forked_from_id", "forked_from_ordinal_exclusive", "history_base", "parent_thread_id")
_TOLD = ("internal_chat_message_metadata_passthrough", "id", "ordinal")


def is_line(value: Mapping[str, Any]) -> bool:
    """Tell whether a record is a line of a rollout."""
    is_new = value.get("type") in _TYPES and isinstance(value.get("payload"), Mapping)
    return is_new or _begins(value)


def _begins(line: Mapping[str, Any]) -> bool:
    """Tell whether a line of an older rollout is its first one."""
    told, is_older = {"id", "timestamp"} <= line.keys(), "instructions" in line
    return told and (is_older or line.keys() <= {"id", "timestamp", "git"})


def conversations_of(source: Source, report: ImportReport) -> Iterator[Conversation]:
    """Yield the conversation of a file: that of the session which it names first."""
    found: Conversation | None = None
    messages: list[Message] = []
    answer: Message | None = None  # the last item of the model's answer
    model: object = None
    for record in source:
        line = mapped(record.value)
        payload = line.get("payload")
        item = payload if isinstance(payload, Mapping) else line
        kind = line.get("type") if item is payload else "response_item"
        begins = kind == "session_meta" or (item is line and _begins(line))
        if begins and found is None:
            found = _session(item, source.path.stem, record.place, messages)
            continue
        if kind == "turn_context":
            model = item.get("model")
        usage = _usage_in(item, kind)
        if usage and answer is not None and not answer.usage:
            answer.usage = usage
        said = [] if begins else _said_in(item, kind)
        if not said:
            what = item.get("type") or line.get("type") or line.get("record_type")
            report.add(Reason.OTHER_RECORD, f"{what} in {record.place}")
            continue
        shown = _shown_of(item, said)
        if shown and any(part not in shown and not _is_image_tag(part) for part in said):
            report.add(Reason.HIDDEN, f"a part of {record.place}")
        found = found or Conversation(id=None, place=record.place, messages=messages)
        named, number = text_in(item.get("id")), line.get("ordinal")
        is_answer = kind == "response_item" and role_of_item(item) == "assistant"
        message = Message(
            id=named or f"{len(messages) + 1}",
            key=named or None,
            earlier_keys=(f"{len(messages) + 1}",),
            number=number if type(number) is int else None,
            parent=messages[-1].id if messages else None,
            role="system" if kind == "compacted" else role_of_item(item),
            model=model if is_answer else None,
            is_summary=kind == "compacted" and said != [_UNREADABLE],
            kept=_kept_in(item) if kind == "compacted" else (),
            kept_first=kind == "compacted" and _is_kept_first(item),
            said=shown,
            left_out=None if shown else Reason.HIDDEN,
            at=line.get("timestamp") or item.get("timestamp"),
            source=rest(item, "type", "message", *_TOLD) if kind == "compacted" else _about(item),
        )
        if kind == "compacted" and answer is not None and answer is messages[-1]:
            _hide_summary(answer, message)
        answer = message if is_answer else answer if kind == "response_item" and not named else None
        messages.append(message)
    if found is not None:
        yield found


def _session(item: Mapping[str, Any], stem: str, place: str, messages: list[Message]) -> Conversation:
    """Return the conversation of a session, or of a later part of one."""
    base, parent = mapped(item.get("history_base")), text_in(item.get("parent_thread_id"))
    at = base.get("end_ordinal_exclusive", item.get("forked_from_ordinal_exclusive"))
    above = text_in(base.get("thread_id"), item.get("forked_from_id"))
    part = _PART.fullmatch(stem)
    named = text_in(item.get("id"))
    return Conversation(
        id=named or None,
        part=part[1] if part and named else "",
        place=place,
        messages=messages,
        created_at=item.get("timestamp"),
        project=item.get("cwd"),
        goes_on_from=Link(session=above, before=at) if above and type(at) is int else None,
        child_of=Link(session=parent, told=named) if parent and not above else None,
        about=rest(item, "id", "session_id", "timestamp", "base_instructions", *_ABOUT_FORK),
    )


def _shown_of(item: Mapping[str, Any], said: list[str | dict[str, Any]]) -> list[str | dict[str, Any]]:
    """Return the parts that a person or the model has said. An image has its name."""
    told = listed(mapped(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds"))
    kinds = told if len(told) == len(said) else [None] * len(said)
    shown: list[str | dict[str, Any]] = []
    named = ""
    for part, kind in zip(said, kinds, strict=True):
        tag = _IMAGE.fullmatch(part) if isinstance(part, str) else None
        if tag is not None:
            named = re.split(r"[\\/]", tag["path"] or "")[-1]
        elif isinstance(part, dict) and part.get("type") == "input_image" and named:
            shown.append({**part, "name": named})
        elif not str(part).startswith(_HIDDEN) and (
            not isinstance(kind, str) or kind.startswith(_SAID_KINDS)
        ):
            shown.append(part)
    return shown


def _is_image_tag(part: str | dict[str, Any]) -> bool:
    return isinstance(part, dict) or _IMAGE.fullmatch(part) is not None


def _about(item: Mapping[str, Any]) -> dict[str, Any]:
    return rest(about_item(item), *_TOLD)


def _usage_in(item: Mapping[str, Any], kind: object) -> dict[str, Any]:
    """Return the tokens of one answer, in OpenAI's words, if a line tells them."""
    told = mapped(item.get("usage")) if kind == "token_usage_record" else {}
    if kind == "event_msg" and item.get("type") == "token_count":
        told = mapped(mapped(item.get("info")).get("last_token_usage"))
    if not told:
        return {}
    cached = told.get("cached_input_tokens")
    return {
        "input_tokens": told.get("input_tokens"),
        "output_tokens": told.get("output_tokens"),
        **({"input_tokens_details": {"cached_tokens": cached}} if cached else {}),
    }


def _kept_in(item: Mapping[str, Any]) -> list[str]:
    """Return the ids of the messages that the model has besides the summary."""
    history = objects(item.get("replacement_history"))
    return [one["id"] for one in history if one.get("type") == "message" and text_in(one.get("id"))]


def _is_kept_first(item: Mapping[str, Any]) -> bool:
    """Tell whether the summary comes behind the messages that the model has besides it."""
    history = [one for one in objects(item.get("replacement_history")) if one.get("type") == "message"]
    summary = text_in(item.get("message"))
    return bool(history) and not any(summary in str(part) for part in said_in_item(history[0]))


def _hide_summary(answer: Message, compacted: Message) -> None:
    """Leave the summary out as an answer of the model, where the compaction says it, too."""
    words = [part for part in answer.said if isinstance(part, str)]
    if words and all(any(one in part for part in compacted.said if isinstance(part, str)) for one in words):
        answer.left_out = Reason.HIDDEN


def _said_in(item: Mapping[str, Any], kind: object) -> list[str | dict[str, Any]]:
    """Return what an item says; empty for one that says nothing, such as an event beside it."""
    if kind == "compacted":
        history = objects(item.get("replacement_history"))
        messages = [one for one in history if one.get("type") == "message"]
        kept = [part for one in messages for part in said_in_item(one)]
        return [text_in(item.get("message"))] if text_in(item.get("message")) else kept or [_UNREADABLE]
    return said_in_item(item) if kind == "response_item" else []
