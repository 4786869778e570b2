"""Copilot CLI: a folder in `session-state` with the events of a session, one after the other.

Seen with 1.0.102: it goes on with the ids that stand there. A thought is shown, and never sent. The
bytes of an image stand in an event of their own. `copilot sessions import` would make all ids anew.
"""

import base64
import hashlib
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
    thought_in,
    words_of,
)
from forklore.exporting.written_ids import id_beside

Body = tuple[str, dict[str, Any]]
_TOLD = "1.0.102"
_BESIDE = 1_000
"""From here on count the ids of the events before an entry's own: they are no messages."""


def written(talk: Talk) -> Written:
    """Return the session's file, and how Copilot goes on with it."""
    name = f"session-state/{talk.session}/events.jsonl"
    return Written(name, lines(_rows(talk)), [["copilot", f"--resume={talk.session}"]])


def _rows(talk: Talk) -> Iterator[dict[str, Any]]:
    at = talk.turns[0].at if talk.turns else "1970-01-01T00:00:00.000Z"
    about = {"version": 1, "producer": "copilot-agent", "copilotVersion": _TOLD, "startTime": at}
    begin = {"sessionId": talk.session, **about, "context": {"cwd": str(talk.folder)}}
    before = id_beside(talk.session, 1)
    yield {"type": "session.start", "data": begin, "id": before, "timestamp": at, "parentId": None}
    count = 0
    for turn in talk.turns:
        beside, own = 0, 0
        for kind, data in _events(talk, turn, count):
            is_message = kind in _MESSAGES
            own_id = id_beside(turn.turn_id, own if is_message else _BESIDE + beside)
            own, beside = own + is_message, beside + (not is_message)
            yield {"type": kind, "data": data, "id": own_id, "timestamp": turn.at, "parentId": before}
            before = own_id
        count += own


_MESSAGES = ("user.message", "assistant.message", "tool.execution_complete", "session.compaction_complete")


def _events(talk: Talk, turn: Turn, count: int) -> Iterator[Body]:
    """Yield the events of an entry. count: of messages so far."""
    if turn.is_summary:
        talk.left_out["messages that a summary has kept"] += len(turn.kept)
        yield "session.compaction_start", {}
        told = {"success": True, "outcome": "applied", "summaryContent": turn.text}
        yield "session.compaction_complete", {**told, **dict.fromkeys(_REMOVED, count)}
    elif turn.role == "system":
        talk.left_out["messages of the system"] += 1
    elif turn.role == "assistant":
        yield from _answer(turn)
        talk.left_out["images"] += len(images_in(turn))
    elif words_of(turn) or images_in(turn):
        yield from _asked(turn)
    for part in turn.of("tool_result"):
        talk.left_out["images"] += len(images_of(part))
        call, words = part.get("tool_use_id"), result_in(part)
        failed = part.get("is_error") is True
        told = {"error": {"message": words}} if failed else {"result": {"content": words}}
        yield "tool.execution_complete", {"toolCallId": call, "success": not failed, **told}


_REMOVED = ("preCompactionMessagesLength", "messagesRemoved")


def _answer(turn: Turn) -> Iterator[Body]:
    calls = [
        {
            "toolCallId": part.get("id"),
            "name": part.get("name"),
            "arguments": part.get("input", {}),
            "type": "function",
        }
        for part in turn.of("tool_use")
    ]
    thoughts = "\n\n".join(map(thought_in, turn.of("thinking")))
    about: dict[str, Any] = {"reasoningText": thoughts} if thoughts else {}
    about |= {"model": turn.model} if turn.model else {}
    told = {"messageId": turn.turn_id, "content": words_of(turn), "toolRequests": calls, **about}
    yield "assistant.message", told
    for call in calls:
        started = {"toolCallId": call["toolCallId"], "toolName": call["name"], "arguments": call["arguments"]}
        yield "tool.execution_start", started


def _asked(turn: Turn) -> Iterator[Body]:
    attached = []
    for number, (kind, data) in enumerate(images_in(turn), start=1):
        held = base64.b64decode(data)
        asset = {"assetId": f"sha256:{hashlib.sha256(held).hexdigest()}", "mimeType": kind}
        yield "session.binary_asset", {**asset, "type": "image", "byteLength": len(held), "data": data}
        attached.append({"type": "blob", "displayName": f"image {number}", **asset})
    words = words_of(turn)
    yield "user.message", {"content": words, "transformedContent": words, "attachments": attached}
