"""Qwen Code: JSON Lines in `projects`, messages in Gemini's words, each on the one before it.

Seen with 0.24.4: it takes no session whose rows lack `cwd` or `version`. A row `chat_compression`
holds all that the model then has.
"""

import re
from collections.abc import Iterator
from typing import Any

from forklore.client.parts import Part, line_of
from forklore.exporting.elsewhere import Turn
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
    session = session_of(talk.session)
    name = f"projects/{slug}/chats/{session}.jsonl"
    return Written(name, lines(_rows(talk, session)), [["qwen", "--resume", session]])


def session_of(conversation_id: str) -> str:
    """Return the id that Qwen Code takes for a session: it resumes UUIDs of versions 1 to 5 only.

    >>> session_of("01a223bb-6459-75fc-bfab-c49cc746d100")
    '01a223bb-6459-45fc-bfab-c49cc746d100'
    """
    taken = conversation_id[_VERSION] in "12345"
    return conversation_id if taken else f"{conversation_id[:_VERSION]}4{conversation_id[_VERSION + 1 :]}"


_VERSION = 14
"""The place of the version in a UUID."""


def _rows(talk: Talk, session: str) -> Iterator[dict[str, Any]]:
    before: str | None = None
    names: dict[str, object] = {}
    for turn in talk.turns:
        names |= {str(part.get("id")): part.get("name") for part in turn.of("tool_use")}
        kind = {"assistant": "assistant", "tool": "tool_result"}.get(turn.role, "user")
        if turn.is_summary:
            yield {**_row(talk, session, turn, before), **_compression(talk, turn, names)}
            before = turn.turn_id
            continue
        if turn.role == "system":
            talk.left_out["messages of the system"] += 1
            continue
        model = {"model": turn.model} if turn.model and kind == "assistant" else {}
        yield {**_row(talk, session, turn, before), "type": kind, "message": _message(turn, names), **model}
        before = turn.turn_id


def _row(talk: Talk, session: str, turn: Turn, before: str | None) -> dict[str, Any]:
    about = {"sessionId": session, "cwd": str(talk.folder), "version": "0.24.4"}
    return {"uuid": turn.turn_id, "parentUuid": before, "timestamp": turn.at, **about}


def _message(turn: Turn, names: dict[str, object]) -> dict[str, Any]:
    role = "model" if turn.role == "assistant" else "user"
    return {"role": role, "parts": [_part(part, names) for part in turn.parts]}


def _compression(talk: Talk, turn: Turn, names: dict[str, object]) -> dict[str, Any]:
    """Return what makes a row the place where a session was summed up: what the model then has."""
    kept = [_message(one, names) for one in talk.turns if one.turn_id in turn.kept]
    pictures = [_part(part, names) for part in turn.parts if image_in(part)]
    summary = {"role": "user", "parts": [{"text": turn.text}, *pictures]}
    info = {"originalTokenCount": 0, "newTokenCount": 0, "compressionStatus": 1}
    history = [*kept, summary] if turn.is_kept_first else [summary, *kept]
    told = {"info": info, "compressedHistory": history}
    return {"type": "system", "subtype": "chat_compression", "systemPayload": told}


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
