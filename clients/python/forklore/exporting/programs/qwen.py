"""Qwen Code: JSON Lines in `projects`, messages in Gemini's words, each on the one before it.

Seen with 0.24.4: it takes no session whose rows lack `cwd` or `version`.
"""

import re
from collections.abc import Iterator
from typing import Any

from forklore.client.parts import Part, line_of
from forklore.exporting.programs.talks import (
    Talk,
    Written,
    image_in,
    lines,
    result_in,
    thought_in,
)


def written(talk: Talk) -> Written:
    """Return the session's file, and how Qwen Code goes on with it."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(talk.folder))
    name = f"projects/{slug}/chats/{talk.session}.jsonl"
    return Written(name, lines(_rows(talk)), [["qwen", "-r", talk.session]])


def _rows(talk: Talk) -> Iterator[dict[str, Any]]:
    before: str | None = None
    names: dict[str, object] = {}
    about = {"sessionId": talk.session, "cwd": str(talk.folder), "version": "0.24.4"}
    for turn in talk.since_summary():
        names |= {str(part.get("id")): part.get("name") for part in turn.of("tool_use")}
        kind = {"assistant": "assistant", "tool": "tool_result"}.get(turn.role, "user")
        if turn.role == "system" and not turn.is_summary:
            talk.left_out["messages of the system"] += 1
            continue
        role = "model" if kind == "assistant" else "user"
        parts = [_part(part, names) for part in turn.parts]
        row = {"uuid": turn.turn_id, "parentUuid": before, "timestamp": turn.at, "type": kind, **about}
        model = {"model": turn.model} if turn.model and kind == "assistant" else {}
        yield {**row, "message": {"role": role, "parts": parts}, **model}
        before = turn.turn_id


def _part(part: Part, names: dict[str, object]) -> dict[str, Any]:
    image = image_in(part)
    if image:
        return {"inlineData": {"mimeType": image[0], "data": image[1]}}
    match part.get("type"):
        case "thinking":
            return {"text": thought_in(part), "thought": True}
        case "tool_use":
            named = {"id": part.get("id"), "name": part.get("name")}
            return {"functionCall": {**named, "args": part.get("input", {})}}
        case "tool_result":
            call = str(part.get("tool_use_id"))
            words = result_in(part)
            response = {"error": words} if part.get("is_error") is True else {"output": words}
            name = part.get("name") or names.get(call) or "tool"
            return {"functionResponse": {"id": call, "name": name, "response": response}}
        case _:
            return {"text": line_of(part)}
