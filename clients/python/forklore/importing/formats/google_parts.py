"""Reads contents in the words of Google's API, as Gemini CLI and Qwen Code keep them."""

import re
from collections.abc import Mapping
from typing import Any

from forklore.importing.members import mapped, objects, renamed, text_in
from forklore.importing.plain_conversations import rest

Part = dict[str, Any]
_MARKS = ("--- Content from referenced files ---", "--- End of content ---")
_NAME = re.compile(r"\s*Content from @?(.+):\s*")


def said_in(content: Any) -> list[str | Part]:
    """Return what a content says: a text, or a list of parts. Results of calls are none of it.

    What a user has sent along stands between two marks, each file behind its name.
    """
    if isinstance(content, str):
        return [content]
    found: list[str | Part] = []
    name: str | None = None
    for part in objects(content):
        text = text_in(part.get("text"))
        if text.strip() in _MARKS:
            name = "" if text.strip() == _MARKS[0] else None
        elif "functionResponse" in part:
            continue
        elif name is None:
            found.append(_part_of(part))
        elif named := _NAME.fullmatch(text):
            name = named[1]
        elif text:
            found.append({"type": "extracted_text", "name": name, "text": text})
        else:
            made = _part_of(part)
            found.append({**made, "name": name} if not isinstance(made, str) and name else made)
    return found


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
