"""Gemini CLI: a header and messages as JSON Lines.

Seen with 0.61.0: results of tools stand with their call, in the message of the model. A file that
`--session-file` takes from anywhere gets another id, so it is written among the program's own.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from forklore.client.parts import Part
from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.talks import (
    Talk,
    Written,
    images_in,
    lines,
    result_in,
    thought_in,
    words_of,
)


def written(talk: Talk) -> Written:
    """Return the session's file, and how Gemini CLI goes on with it."""
    at = (talk.turns[0].at if talk.turns else "1970-01-01T00:00").replace(":", "-")[:16]
    name = f"tmp/{_project(talk)}/chats/session-{at}-{talk.session[:8]}.jsonl"
    return Written(name, lines(_rows(talk)), [["gemini", "--resume", talk.session]])


def _project(talk: Talk) -> str:
    """Return what Gemini CLI calls the project."""
    with suppress(OSError, ValueError, KeyError):
        told = json.loads((talk.home / "projects.json").read_text(encoding="utf-8"))
        return str(told["projects"][str(talk.folder)])
    return talk.folder.name.lower()


def _rows(talk: Talk) -> Iterator[dict[str, Any]]:
    turns = talk.since_summary()
    first, last = (turns[0].at, turns[-1].at) if turns else ("", "")
    project = hashlib.sha256(str(talk.folder).encode()).hexdigest()
    about = {"sessionId": talk.session, "projectHash": project, "kind": "main"}
    yield {**about, "startTime": first, "lastUpdated": last}
    results = {str(part.get("tool_use_id")): part for turn in turns for part in turn.of("tool_result")}
    for turn in turns:
        row = {"id": turn.turn_id, "timestamp": turn.at}
        if turn.role == "assistant":
            yield {**row, **_answer(turn, results)}
        elif turn.role == "system" and not turn.is_summary:
            talk.left_out["messages of the system"] += 1
        elif words_of(turn) or images_in(turn):
            content: list[dict[str, Any]] = [{"text": words_of(turn)}] if words_of(turn) else []
            content += [{"inlineData": {"mimeType": one, "data": data}} for one, data in images_in(turn)]
            yield {**row, "type": "user", "content": content}


def _answer(turn: Turn, results: Mapping[str, Part]) -> dict[str, Any]:
    thoughts = [
        {"subject": "", "description": thought_in(part), "timestamp": turn.at} for part in turn.of("thinking")
    ]
    calls = [_call(part, results.get(str(part.get("id"))), turn.at) for part in turn.of("tool_use")]
    told = {"type": "gemini", "content": words_of(turn), "thoughts": thoughts}
    if turn.model:
        told["model"] = turn.model
    return {**told, "toolCalls": calls} if calls else told


def _call(part: Part, result: Part | None, at: str) -> dict[str, Any]:
    named = {"id": part.get("id"), "name": part.get("name")}
    failed = result is None or result.get("is_error") is True
    words = "" if result is None else result_in(result)
    response = {"error": words} if failed else {"output": words}
    returned = [{"functionResponse": {**named, "response": response}}]
    status = "cancelled" if result is None else "error" if failed else "success"
    return {**named, "args": part.get("input", {}), "result": returned, "status": status, "timestamp": at}
