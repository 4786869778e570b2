"""Codex: a rollout in `sessions`, items as the Responses API has them.

Seen with 0.171.0: the model gets the items, the screen shows the events `user_message` and
`agent_message` alone. After a row `compacted` the model has its `replacement_history` and what
follows.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from forklore.client import jsontext
from forklore.client.parts import Part, line_of
from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.talks import (
    Talk,
    Written,
    image_in,
    images_of,
    lines,
    result_in,
    thought_in,
    words_of,
)
from forklore.exporting.written_ids import id_beside

Item = dict[str, Any]
_END = {"type": ""}


def written(talk: Talk) -> Written:
    """Return the session's file, and how Codex goes on with it."""
    at = talk.turns[0].at if talk.turns else "1970-01-01T00:00:00.000Z"
    day, time = at[:10], at[11:19].replace(":", "-")
    name = f"sessions/{day.replace('-', '/')}/rollout-{day}T{time}-{talk.session}.jsonl"
    return Written(name, lines(_rows(talk, at)), [["codex", "resume", talk.session]])


def _rows(talk: Talk, at: str) -> Iterator[Item]:
    about = {"id": talk.session, "timestamp": at, "cwd": str(talk.folder)}
    about |= {"originator": "forklore", "cli_version": "0.0.0", "source": "cli"}
    yield {"timestamp": at, "type": "session_meta", "payload": about}
    for turn in talk.turns:
        if turn.is_summary:
            kept = [item for one in talk.turns if one.turn_id in turn.kept for item in _items(one)]
            summary = {"type": "message", "role": "user", "content": _content(turn.parts, "user")}
            history = [*kept, summary] if turn.is_kept_first else [summary, *kept]
            held = {"message": turn.text, "replacement_history": history}
            yield {"timestamp": turn.at, "type": "compacted", "payload": held}
            continue
        for item in _items(turn):
            yield {"timestamp": turn.at, "type": "response_item", "payload": item}
        kind = {"user": "user_message", "assistant": "agent_message"}.get(turn.role)
        if kind and words_of(turn):
            shown = {"type": kind, "message": words_of(turn)}
            yield {"timestamp": turn.at, "type": "event_msg", "payload": shown}


def _items(turn: Turn) -> Iterator[Item]:
    """Yield the items of an entry, in the order of its parts. The first one has the entry's id."""
    said: list[Part] = []
    number = 0

    def own(prefix: str) -> str:
        nonlocal number
        number += 1
        return f"{prefix}_{id_beside(turn.turn_id, number - 1).replace('-', '')}"

    for part in (*turn.parts, _END):
        kind = part.get("type")
        if kind not in ("thinking", "tool_use", "tool_result", ""):
            said.append(part)
            continue
        if said:
            role = {"system": "developer", "tool": "user"}.get(turn.role, turn.role)
            yield {"type": "message", "id": own("msg"), "role": role, "content": _content(said, role)}
            said = []
        if kind == "thinking":
            shown = [{"type": "summary_text", "text": thought_in(part)}]
            sealed = part.get("encrypted_content")
            yield {"type": "reasoning", "id": own("rs"), "summary": shown, "encrypted_content": sealed}
        elif kind == "tool_use":
            given = part.get("input", {})
            text = given if isinstance(given, str) else jsontext.write(given)
            called = {"name": part.get("name"), "arguments": text, "call_id": part.get("id")}
            space = turn.source.get("namespace")  # of the tools of a server, or of sub-agents
            about = {"namespace": space} if isinstance(space, str) else {}
            yield {"type": "function_call", "id": own("fc"), **called, **about}
        elif kind == "tool_result":
            told = {"call_id": part.get("tool_use_id"), "output": _output(part)}
            yield {"type": "function_call_output", "id": own("fco"), **told}


def _content(parts: Iterable[Part], role: str) -> list[Item]:
    kind = "output_text" if role == "assistant" else "input_text"
    return [
        _image(image) if (image := image_in(part)) else {"type": kind, "text": line_of(part)}
        for part in parts
    ]


def _output(part: Part) -> str | list[Item]:
    text, images = result_in(part), [_image(image) for image in images_of(part)]
    return [*([{"type": "input_text", "text": text}] if text else []), *images] if images else text


def _image(image: tuple[str, str]) -> Item:
    return {"type": "input_image", "image_url": f"data:{image[0]};base64,{image[1]}"}
