"""Goose: the form of its export in JSON, which `goose session import` takes under a new id.

Seen with 1.52.0: a result of a tool is a message of the user. What was summed up is shown, and not
visible to the agent; a summary is the reverse. The ids of messages are kept, and `extension_data`,
which tells forklore's id of the conversation.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from forklore.client import jsontext
from forklore.client.parts import Part, line_of
from forklore.exporting.programs.talks import (
    Talk,
    Written,
    image_in,
    images_of,
    milliseconds,
    result_in,
    thought_in,
)

PRINTED = re.compile(r"\b(\d{8}_\d+)\b")
"""The id that Goose prints of the session that it has made."""


def written(talk: Talk) -> Written:
    """Return the session's file, and how Goose goes on with it."""
    messages = [*_messages(talk)]
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    about = {
        "id": talk.session,
        "working_dir": str(talk.folder),
        "name": talk.title or "forklore",
        "user_set_name": bool(talk.title),
        "session_type": "user",
        "created_at": now,
        "updated_at": now,
        "extension_data": {"forklore.v0": {"conversation": talk.session}},
        "message_count": len(messages),
    }
    text = jsontext.write({**about, "conversation": messages}) + "\n"
    resumed = ["goose", "session", "--resume", "--session-id", "{session}"]
    return Written(f"{talk.session}.json", text, [["goose", "session", "import", "{file}"], resumed])


def _messages(talk: Talk) -> Iterator[dict[str, Any]]:
    last = max((at for at, turn in enumerate(talk.turns) if turn.is_summary), default=-1)
    kept = talk.turns[last].kept if last >= 0 else ()
    for at, turn in enumerate(talk.turns):
        if turn.role == "system" and not turn.is_summary:
            talk.left_out["messages of the system"] += 1
            continue
        is_sent = turn.source.get("agentVisible") is not False  # else as `/compact`
        is_known = (at >= last and is_sent) or turn.turn_id in kept
        yield {
            "id": turn.turn_id,
            "role": "assistant" if turn.role == "assistant" else "user",
            "created": milliseconds(turn.at) // 1000,
            "content": [_content(part) for part in turn.parts],
            "metadata": {"userVisible": not turn.is_summary, "agentVisible": is_known},
        }


def _content(part: Part) -> dict[str, Any]:
    image = image_in(part)
    if image:
        return {"type": "image", "data": image[1], "mimeType": image[0]}
    match part.get("type"):
        case "thinking":
            return {"type": "thinking", "thinking": thought_in(part), "signature": part.get("signature", "")}
        case "tool_use":
            called = {"name": part.get("name"), "arguments": part.get("input", {})}
            return {
                "type": "toolRequest",
                "id": part.get("id"),
                "toolCall": {"status": "success", "value": called},
            }
        case "tool_result":
            content: list[dict[str, Any]] = [{"type": "text", "text": result_in(part)}]
            content += [{"type": "image", "data": data, "mimeType": one} for one, data in images_of(part)]
            value = {"content": content, "isError": part.get("is_error") is True}
            result = {"status": "success", "value": value}
            return {"type": "toolResponse", "id": part.get("tool_use_id"), "toolResult": result}
        case _:
            return {"type": "text", "text": line_of(part)}
