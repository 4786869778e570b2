"""Reads contents in the words of Google's API, as Gemini CLI and Qwen Code keep them."""

from collections.abc import Mapping
from typing import Any

from forklore.importing.members import mapped, objects, renamed, text_in
from forklore.importing.plain_conversations import rest

Part = dict[str, Any]


def said_in(content: Any) -> list[str | Part]:
    """Return what a content says: a text, or a list of parts. Results of calls are none of it."""
    if isinstance(content, str):
        return [content]
    return [_part_of(part) for part in objects(content) if "functionResponse" not in part]


def results_in(content: Any) -> list[Part]:
    """Return the results of calls in a content, as parts."""
    found: list[Part] = []
    for part in objects(content):
        given = part.get("functionResponse")
        if isinstance(given, Mapping):
            response = given.get("response")
            held = mapped(response)
            key = next((one for one in ("output", "error") if held.keys() == {one}), None)
            about = {"is_error": True} if "error" in held else {}
            result = {"tool_use_id": given.get("id"), "name": given.get("name")}
            content = response if key is None else held[key]
            found.append({"type": "tool_result", **result, "content": content, **about})
    return found


def call_of(given: Mapping[str, Any]) -> Part:
    """Return a call of a tool as a part."""
    return {"type": "tool_use", "id": given.get("id"), "name": given.get("name"), "input": given.get("args")}


def _part_of(part: Mapping[str, Any]) -> str | Part:
    text, call, data = part.get("text"), part.get("functionCall"), part.get("inlineData")
    if isinstance(text, str):
        about = rest(part, "text", "thought")
        if part.get("thought"):
            return {"type": "thinking", "thinking": text, **about}
        return {"type": "text", "text": text, **about} if about else text
    if isinstance(call, Mapping):
        return {**call_of(call), **rest(part, "functionCall")}
    if isinstance(data, Mapping):
        is_image = text_in(data.get("mimeType")).startswith("image/")
        return {**data, "type": "image" if is_image else "file"}
    return dict(part)


def usage_of(raw: Any, given: str, said: str, cached: str) -> dict[str, Any]:
    """Return usage in the words of OpenAI. given, said, cached: the names of its tokens."""
    told = renamed(raw, {given: "prompt_tokens", said: "completion_tokens"})
    if cached in told:
        told["prompt_tokens_details"] = {"cached_tokens": told.pop(cached)}
    return told
