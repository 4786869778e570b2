"""Claude Code: JSON Lines in `projects`, each row hangs on the one before it.

Seen with 2.1.332: it sends a thought back only from a row whose `message.model` is the one in use.
It goes on with the model of the last row, and warns where that is not Claude's. A summary stands
behind a row `compact_boundary` without a parent, which names the rows that are kept.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from forklore.client.parts import line_of
from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.talks import Talk, Written, image_in, lines
from forklore.exporting.written_ids import id_beside

_BLOCKS = ("text", "tool_use", "tool_result")


def written(talk: Talk) -> Written:
    """Return the session's file, and how Claude Code goes on with it."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(talk.folder))
    name = f"projects/{slug}/{talk.session}.jsonl"
    return Written(name, lines(_rows(talk)), [["claude", "--resume", talk.session]])


def _rows(talk: Talk) -> Iterator[dict[str, Any]]:
    before: str | None = None
    for turn in talk.turns:
        row = {"sessionId": talk.session, "isSidechain": False, "cwd": str(talk.folder)}
        row |= {"uuid": turn.turn_id, "parentUuid": before, "timestamp": turn.at}
        if turn.is_summary and before:
            boundary = id_beside(turn.turn_id, 1)
            yield {**row, **_boundary(turn, before), "uuid": boundary, "parentUuid": None}
            row |= {"parentUuid": boundary, "isCompactSummary": True, "isVisibleInTranscriptOnly": True}
            yield {**row, "type": "user", "message": {"role": "user", "content": turn.text}}
        elif turn.role == "system":
            talk.left_out["messages of the system, which the model does not get"] += 1
            yield {**row, "type": "system", "subtype": "informational", "content": turn.text}
        else:
            content = list(_blocks(talk, turn))
            if not content:
                continue
            kind = "assistant" if turn.role == "assistant" else "user"
            message = {"role": kind, "content": content}
            if kind == "assistant":
                about = {"id": f"msg_{turn.turn_id.replace('-', '')}", "type": "message"}
                message |= about
                if turn.model and ("claude" in turn.model or any("signature" in part for part in content)):
                    message["model"] = turn.model
            yield {**row, "type": kind, "message": message}
        before = turn.turn_id
    if talk.title and before:
        yield {"type": "summary", "summary": talk.title, "leafUuid": before}
        yield {"type": "custom-title", "customTitle": talk.title, "sessionId": talk.session}


def _boundary(turn: Turn, before: str) -> dict[str, Any]:
    about: dict[str, Any] = {"trigger": "manual"}
    if turn.kept:
        about["preservedSegment"] = {"headUuid": turn.kept[0], "tailUuid": turn.kept[-1]}
        anchor = id_beside(turn.turn_id, 1) if turn.is_kept_first else turn.turn_id
        about["preservedSegment"]["anchorUuid"] = anchor
        about["preservedMessages"] = {"uuids": list(turn.kept), "anchorUuid": anchor}
    told = {"content": "Conversation compacted", "logicalParentUuid": before, "compactMetadata": about}
    return {"type": "system", "subtype": "compact_boundary", "isMeta": False, "level": "info", **told}


def _blocks(talk: Talk, turn: Turn) -> Iterator[Mapping[str, Any]]:
    for part in turn.parts:
        kind, image = part.get("type"), image_in(part)
        if image is not None:
            yield _image(image)
        elif kind == "thinking":
            if isinstance(part.get("signature"), str):
                yield part
            else:
                talk.left_out["thoughts that Anthropic has not signed"] += 1
        elif kind == "tool_result":
            held = part.get("content")
            told = [_result_part(one) for one in held] if isinstance(held, list) else held or ""
            failed = {"is_error": True} if part.get("is_error") is True else {}
            yield {"type": kind, "tool_use_id": part.get("tool_use_id"), "content": told, **failed}
        elif kind in _BLOCKS:
            yield part
        else:
            yield {"type": "text", "text": line_of(part)}


def _result_part(part: Any) -> Mapping[str, Any]:
    image = image_in(part) if isinstance(part, Mapping) else None
    if image is not None:
        return _image(image)
    is_text = isinstance(part, Mapping) and part.get("type") == "text"
    return part if is_text else {"type": "text", "text": line_of({"type": "value", "value": part})}


def _image(image: tuple[str, str]) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": image[0], "data": image[1]}}
