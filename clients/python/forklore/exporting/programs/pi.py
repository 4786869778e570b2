"""pi: JSON Lines of a tree, whose branch ends in the last line.

Seen with 1.6.0: an entry `compaction` keeps what stands from `firstKeptEntryId` on.
"""

from collections.abc import Iterator
from typing import Any

from forklore.client.parts import Part, line_of
from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.talks import (
    Talk,
    Written,
    image_in,
    images_of,
    lines,
    milliseconds,
    result_in,
    thought_in,
)
from forklore.exporting.written_ids import id_beside

Row = dict[str, Any]
_SENT_IN = "reasoning_content"
"""The member of a message in which pi sends a thought back; one without a signature is not sent."""


def written(talk: Talk) -> Written:
    """Return the session's file, and how pi goes on with it."""
    slug = f"--{str(talk.folder).strip('/').replace('/', '-')}--"
    at = talk.turns[0].at if talk.turns else "1970-01-01T00:00:00.000Z"
    stamp = at.replace(":", "-").replace(".", "-")
    name = f"sessions/{slug}/{stamp}_{talk.session}.jsonl"
    return Written(name, lines(_rows(talk, at)), [["pi", "--session", "{file}"]])


def _rows(talk: Talk, at: str) -> Iterator[Row]:
    yield {"type": "session", "version": 3, "id": talk.session, "timestamp": at, "cwd": str(talk.folder)}
    before: str | None = None
    names: dict[str, object] = {}
    for turn in talk.turns:
        for number, body in enumerate(_bodies(talk, turn, names)):
            own = id_beside(turn.turn_id, number)
            yield {"id": own, "parentId": before, "timestamp": turn.at, **body}
            before = own
    if talk.title:
        named = {"type": "session_info", "name": talk.title, "timestamp": at}
        yield {**named, "id": id_beside(talk.session, 1), "parentId": before}


def _bodies(talk: Talk, turn: Turn, names: dict[str, object]) -> Iterator[Row]:
    """Yield the rows of an entry. names: of the tool of each call so far."""
    if turn.is_summary:
        kept = talk.kept_from(turn, "user", "assistant", "tool") or turn.turn_id
        yield {"type": "compaction", "summary": turn.text, "firstKeptEntryId": kept, "tokensBefore": 0}
        return
    if turn.role == "system" and "fromId" in turn.source:  # what was said on the branch that was left
        yield {"type": "branch_summary", "fromId": turn.source["fromId"], "summary": turn.text}
        return
    at = {"timestamp": milliseconds(turn.at)}
    content = [one for part in turn.parts if (one := _content(part))]
    if turn.role == "assistant":
        names |= {str(part.get("id")): part.get("name") for part in turn.of("tool_use")}
        about = {name: turn.source.get(name) or "forklore" for name in ("api", "provider")}
        about["model"] = turn.model or "unknown"
        reason = "toolUse" if turn.of("tool_use") else "stop"
        told = {**about, "usage": _NO_USAGE, "stopReason": reason, **at}
        yield {"type": "message", "message": {"role": "assistant", "content": content, **told}}
    elif content and turn.role == "system":
        talk.left_out["messages of the system"] += 1
    elif content:
        yield {"type": "message", "message": {"role": "user", "content": content, **at}}
    for part in turn.of("tool_result"):
        text, images = result_in(part), [_image(image) for image in images_of(part)]
        told = {"toolCallId": part.get("tool_use_id"), "isError": part.get("is_error") is True}
        told["toolName"] = part.get("name") or names.get(str(part.get("tool_use_id"))) or "tool"
        shown = [*([{"type": "text", "text": text}] if text or not images else []), *images]
        yield {"type": "message", "message": {"role": "toolResult", "content": shown, **told, **at}}


_NO_USAGE = {
    **dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0),
    "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0),
}


def _content(part: Part) -> Row | None:
    image = image_in(part)
    if image:
        return _image(image)
    match part.get("type"):
        case "thinking":
            signed = part.get("thinkingSignature") or _SENT_IN
            return {"type": "thinking", "thinking": thought_in(part), "thinkingSignature": signed}
        case "tool_use":
            given = part.get("input") if isinstance(part.get("input"), dict) else {}
            return {"type": "toolCall", "id": part.get("id"), "name": part.get("name"), "arguments": given}
        case "tool_result":
            return None
        case _:
            return {"type": "text", "text": line_of(part)}


def _image(image: tuple[str, str]) -> Row:
    return {"type": "image", "data": image[1], "mimeType": image[0]}
