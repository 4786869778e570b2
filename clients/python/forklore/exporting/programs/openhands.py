"""OpenHands: a folder in `conversations` with the state of a session, and a file for each event.

Seen with the SDK 1.58.2, and with the program for terminals 1.16.0, which takes no `parent_id`:
without any, each event follows the one before it. A system prompt stands before the first message,
and the agent that goes on must have the tools of the session's agent. Both are those of the newest
session that is there; without one they are bare. Calls are told without an `action`, as those of
unknown tools, and results as those of a tool of MCP. A call without its result is not sent.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from forklore.client import jsontext
from forklore.client.parts import Part, line_of
from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.talks import (
    Talk,
    Written,
    image_in,
    images_of,
    result_in,
    steps_of,
    thought_in,
)
from forklore.exporting.written_ids import id_beside

Row = dict[str, Any]
_OF_THAT_SESSION = (
    *("agent_state", "blocked_actions", "blocked_messages", "secret_registry", "stats"),
    *("leaf_event_id", "head_is_empty", "last_user_message_id"),
)
_AGENT = {"kind": "Agent", "tools": [], "llm": {"model": "unknown", "usage_id": "agent"}}
_PROMPT = {"kind": "SystemPromptEvent", "source": "agent", "tools": []}
_TAG_MAX = 256


def written(talk: Talk) -> Written:
    """Return the session's files, and how OpenHands goes on with it."""
    folder = f"conversations/{talk.session.replace('-', '')}"
    about, prompt = _newest(talk)
    prompt |= {"id": id_beside(talk.session, 1), "timestamp": _time(talk.turns[0].at if talk.turns else "")}
    events = [prompt, *_Events(talk).rows()]
    state = {
        **about,
        "id": talk.session,
        "workspace": {"working_dir": str(talk.folder), "kind": "LocalWorkspace"},
        "persistence_dir": str(talk.home / folder),
        "execution_status": "finished",
        "tags": {"title": talk.title[:_TAG_MAX]} if talk.title else {},
    }
    files = {
        f"events/event-{number:05}-{row['id']}.json": jsontext.write(row) for number, row in enumerate(events)
    }
    command = ["openhands", "--resume", talk.session]
    return Written(f"{folder}/base_state.json", jsontext.write(state), [command], files)


def _newest(talk: Talk) -> tuple[Row, Row]:
    """Return the state of the newest session that is there, and the event of its system prompt."""
    states = sorted(talk.home.glob("conversations/*/base_state.json"), key=lambda one: -one.stat().st_mtime)
    for state in states:
        with suppress(OSError, ValueError, StopIteration):
            about = json.loads(state.read_text(encoding="utf-8"))
            first = next(iter(sorted(state.parent.glob("events/event-*.json"))))
            prompt = json.loads(first.read_text(encoding="utf-8"))
            if prompt.get("kind") == "SystemPromptEvent" and "agent" in about:
                return {name: held for name, held in about.items() if name not in _OF_THAT_SESSION}, prompt
    text = {"type": "text", "text": "You are OpenHands, an agent that helps with software."}
    return {"agent": _AGENT}, {**_PROMPT, "system_prompt": text}


def _time(stamp: str) -> str:
    """Return a time as OpenHands writes it: in UTC, without saying so."""
    return stamp.removesuffix("Z") or "1970-01-01T00:00:00"


class _Events:
    """The events of a talk, each after the one before it."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._of: dict[str, list[str]] = {}  # of each entry, the events that a model gets
        self._actions: dict[str, Row] = {}  # by the ids of their calls
        self._answered = {part.get("tool_use_id") for turn in talk.turns for part in turn.of("tool_result")}

    def rows(self) -> Iterator[Row]:
        """Yield the events."""
        for turn in self._talk.turns:
            ids = map(id_beside, [turn.turn_id] * _PARTS_MAX, count())
            steps = [turn] if turn.is_summary else steps_of(turn)
            for body in (body for step in steps for body in self._bodies(step)):
                row = {"id": next(ids), "timestamp": _time(turn.at), **body}
                if body["kind"] == "ActionEvent":
                    self._actions[str(body["tool_call_id"])] = row
                seen_as = f"{row['id']}-summary" if turn.is_summary else row["id"]
                self._of.setdefault(turn.turn_id, []).append(seen_as)
                yield row

    def _bodies(self, turn: Turn) -> Iterator[Row]:
        """Yield the events of a step of an entry, without ids."""
        said = [part for part in turn.parts if part.get("type") not in _OTHERS]
        if turn.is_summary:
            yield self._condensation(turn)
        elif turn.role == "system":
            self._talk.left_out["messages of the system"] += 1
        elif turn.role == "assistant" and not turn.of("tool_result"):
            yield from self._answer(turn, said)
        elif said:
            yield _message("user", {"role": "user", "content": _content(said), "thinking_blocks": []})
        for part in turn.of("tool_result"):
            call = str(part.get("tool_use_id"))
            if call in self._actions:
                yield _observation(part, self._actions[call])
            else:
                self._talk.left_out["results without their calls"] += 1

    def _answer(self, turn: Turn, said: Sequence[Part]) -> Iterator[Row]:
        calls = [part for part in turn.of("tool_use") if part.get("id") in self._answered]
        self._talk.left_out["calls without a result"] += len(turn.of("tool_use")) - len(calls)
        response = {"llm_response_id": turn.turn_id}
        thoughts = _thoughts(turn)
        if not calls and (said or any(thoughts.values())):
            message = {"role": "assistant", "content": _content(said), **thoughts}
            yield {**_message("agent", message), **response}
        for number, part in enumerate(calls):
            given = part.get("input", {})
            text = given if isinstance(given, str) else jsontext.write(given)
            call = {"id": part.get("id"), "name": part.get("name"), "arguments": text, "origin": "completion"}
            first = {"thought": [_text(line_of(one)) for one in said], **thoughts}
            told = first if number == 0 else {"thought": [], "thinking_blocks": []}
            named = {"tool_name": part.get("name"), "tool_call_id": part.get("id"), "tool_call": call}
            yield {"kind": "ActionEvent", "source": "agent", **told, **named, **response}

    def _condensation(self, turn: Turn) -> Row:
        kept = [one for entry in turn.kept for one in self._of.get(entry, ())]
        held = set(kept)
        forgotten = [one for events in self._of.values() for one in events if one not in held]
        told = turn.source.get("summary_offset")
        at = told if type(told) is int else len(kept) + 1 if turn.is_kept_first else 1
        about = {"forgotten_event_ids": forgotten, "summary": turn.text, "summary_offset": at}
        return {"kind": "Condensation", "source": "environment", "llm_response_id": turn.turn_id, **about}


_OTHERS = ("thinking", "tool_use", "tool_result")
_PARTS_MAX = 10_000


def _message(source: str, message: Row) -> Row:
    about: Row = {"activated_skills": [], "extended_content": []}
    return {"kind": "MessageEvent", "source": source, "llm_message": message, **about}


def _thoughts(turn: Turn) -> Row:
    """Return the thoughts of an answer: those that Anthropic has signed as its blocks."""
    thoughts = turn.of("thinking")
    blocks = [
        {"type": "thinking", "thinking": thought_in(one), "signature": one["signature"]}
        for one in thoughts
        if isinstance(one.get("signature"), str)
    ]
    text = "\n\n".join(map(thought_in, thoughts))
    return {"thinking_blocks": blocks, **({"reasoning_content": text} if text else {})}


def _observation(part: Part, action: Mapping[str, Any]) -> Row:
    content = [_text(result_in(part)), *map(_image, images_of(part))]
    told = {"content": content, "is_error": part.get("is_error") is True}
    return {
        "kind": "ObservationEvent",
        "source": "environment",
        "tool_name": action["tool_name"],
        "tool_call_id": action["tool_call_id"],
        "action_id": action["id"],
        "observation": {"kind": "MCPToolObservation", "tool_name": action["tool_name"], **told},
    }


def _content(parts: Sequence[Part]) -> list[Row]:
    return [_image(image) if (image := image_in(part)) else _text(line_of(part)) for part in parts]


def _text(text: str) -> Row:
    return {"type": "text", "text": text}


def _image(image: tuple[str, str]) -> Row:
    return {"type": "image", "image_urls": [f"data:{image[0]};base64,{image[1]}"]}
