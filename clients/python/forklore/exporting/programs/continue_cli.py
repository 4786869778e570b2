"""Continue: one JSON file a session, which `cn --fork` goes on with in a copy under another id.

Seen with 1.5.47: results of tools stand with their call; thoughts are not kept. A copy has each
item with members that Continue does not know, so forklore's ids stand in one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from forklore.client import jsontext
from forklore.client.parts import Part
from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.talks import Talk, Written, images_in, result_in, words_of


def written(talk: Talk) -> Written:
    """Return the session's file, and how Continue goes on with it."""
    about = {
        "sessionId": talk.session,
        "title": talk.title or "forklore",
        "workspaceDirectory": str(talk.folder),
    }
    text = jsontext.write({**about, "history": [*_items(talk)]}) + "\n"
    return Written(f"sessions/{talk.session}.json", text, [["cn", "--fork", talk.session]])


def _items(talk: Talk) -> Iterator[dict[str, Any]]:
    turns = talk.since_summary()
    results = {
        str(part.get("tool_use_id")): (turn, part) for turn in turns for part in turn.of("tool_result")
    }
    for turn in turns:
        talk.left_out["thoughts"] += len(turn.of("thinking"))
        if turn.role == "system" and not turn.is_summary:
            talk.left_out["messages of the system"] += 1
        elif turn.role == "assistant":
            yield {**_answer(talk, turn, results), **_own(talk, turn)}
        elif words_of(turn) or images_in(turn):
            content: Any = words_of(turn)
            if images_in(turn):
                urls = [{"url": f"data:{one};base64,{data}"} for one, data in images_in(turn)]
                content = [{"type": "text", "text": content}]
                content += [{"type": "imageUrl", "imageUrl": url} for url in urls]
            yield {"message": {"role": "user", "content": content}, "contextItems": [], **_own(talk, turn)}


def _own(talk: Talk, turn: Turn) -> dict[str, Any]:
    """Return the member by which the reader knows the entry again."""
    return {"forklore": {"conversation": talk.session, "entry": turn.turn_id}}


def _answer(talk: Talk, turn: Turn, results: Mapping[str, tuple[Turn, Part]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": words_of(turn)}
    item: dict[str, Any] = {"message": message, "contextItems": []}
    calls = [(part, _call(part)) for part in turn.of("tool_use")]
    if calls:
        message["toolCalls"] = [call for _, call in calls]
        item["toolCallStates"] = [_state(talk, part, call, results) for part, call in calls]
    return item


def _call(part: Part) -> dict[str, Any]:
    called = {"name": part.get("name"), "arguments": jsontext.write(part.get("input", {}))}
    return {"id": part.get("id"), "type": "function", "function": called}


def _state(
    talk: Talk, part: Part, call: dict[str, Any], results: Mapping[str, tuple[Turn, Part]]
) -> dict[str, Any]:
    told_in, result = results.get(str(part.get("id")), (None, None))
    words = "" if result is None else result_in(result)
    failed = result is None or result.get("is_error") is True
    output = [{"content": words, "name": part.get("name"), "description": ""}]
    about = {"toolCallId": part.get("id"), "toolCall": call, "parsedArgs": part.get("input", {})}
    own = _own(talk, told_in) if told_in else {}
    return {**about, "status": "errored" if failed else "done", "output": output, **own}
