"""Copilot CLI: what `copilot sessions import` takes, JSON Lines of texts, calls and results.

Seen with 1.0.102: thoughts and images have no place there, times and ids are made anew, and the
same file twice makes two sessions.
"""

import re
from collections.abc import Iterator
from typing import Any

from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.talks import (
    Talk,
    Written,
    images_in,
    images_of,
    lines,
    result_in,
    words_of,
)

PRINTED = re.compile(r'"sessionId":\s*"([^"]+)"')
"""The id that Copilot prints of the session that it has made."""


def written(talk: Talk) -> Written:
    """Return the file, and how Copilot goes on with it."""
    taken = ["copilot", "sessions", "import", "--output", "json", "{file}"]
    return Written(f"{talk.session}.jsonl", lines(_rows(talk)), [taken, ["copilot", "--resume={session}"]])


def _rows(talk: Talk) -> Iterator[dict[str, Any]]:
    turns = talk.since_summary()
    first = turns[0].at if turns else "1970-01-01T00:00:00.000Z"
    about = {"version": 1, "externalId": talk.session, "createdAt": first, "title": talk.title or "forklore"}
    yield {"type": "session", **about}
    for turn in turns:
        at = {"timestamp": turn.at}
        talk.left_out["thoughts"] += len(turn.of("thinking"))
        talk.left_out["images"] += len(images_in(turn))
        if turn.role == "system" and not turn.is_summary:
            talk.left_out["messages of the system"] += 1
            continue
        if words_of(turn):
            yield {**_message(turn), **at}
        for part in turn.of("tool_use"):
            called = {"id": part.get("id"), "name": part.get("name"), "arguments": part.get("input", {})}
            yield {"type": "tool-call", **called, **at}
        for number, part in enumerate(turn.of("tool_result")):
            talk.left_out["images"] += len(images_of(part))
            told = {"toolCallId": part.get("tool_use_id"), "success": part.get("is_error") is not True}
            result = {"type": "tool-result", "id": f"{turn.turn_id}-{number}", **told}
            yield {**result, "content": result_in(part), **at}


def _message(turn: Turn) -> dict[str, Any]:
    role = "assistant" if turn.role == "assistant" else "user"
    content = [{"type": "text", "text": words_of(turn)}]
    return {"type": "message", "role": role, "id": turn.turn_id, "content": content}
