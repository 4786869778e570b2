"""Messages of frameworks in the words of the `messages` format: AI SDK, LangChain, Pydantic AI.

| framework | a message |
|---|---|
| AI SDK | a `UIMessage`: `role` and `parts` |
| LangChain | `message_to_dict`'s `type` and `data`, what `dumpd` writes, or `type` and `content` |
| Pydantic AI | `kind` and `parts`, each with a `part_kind` |

Each becomes one message or several: what the model says, and each result of a tool behind it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from forklore.importing.members import json_in, listed, mapped, objects, text_in
from forklore.importing.plain_conversations import rest

Raw = Mapping[str, Any]
_LANGCHAIN = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_USAGE = ("input_tokens", "output_tokens")


def is_of_framework(raw: Any) -> bool:
    """Tell whether a record is such a message."""
    return isinstance(raw, Mapping) and (_is_ui(raw) or _is_pydantic(raw) or bool(_langchain_of(raw)))


def plain(raw: Any) -> list[Any]:
    """Return a message of a framework in the words of the format; anything else as it is."""
    if not isinstance(raw, Mapping):
        return [raw]
    if _is_ui(raw):
        return [*_of_ui(raw)]
    if _is_pydantic(raw):
        return [*_of_pydantic(raw)]
    langchain = _langchain_of(raw)
    return [_of_langchain(*langchain)] if langchain else [raw]


def _is_ui(raw: Raw) -> bool:
    parts = raw.get("parts")
    is_typed = isinstance(parts, list) and any("type" in mapped(part) for part in parts)
    return isinstance(raw.get("role"), str) and is_typed and "kind" not in raw


def _is_pydantic(raw: Raw) -> bool:
    return raw.get("kind") in ("request", "response") and any(
        "part_kind" in one for one in objects(raw.get("parts"))
    )


def _langchain_of(raw: Raw) -> tuple[str, Raw] | None:
    """Return the kind of a message of LangChain, and what it says; None for any other record."""
    held, kind = raw, raw.get("type")
    if raw.get("lc") and isinstance(raw.get("kwargs"), Mapping):
        held = raw["kwargs"]
        kind = text_in(*listed(raw.get("id"))[-1:]).removesuffix("Chunk").removesuffix("Message").lower()
    elif isinstance(raw.get("data"), Mapping):
        held = raw["data"]
    known = isinstance(kind, str) and kind.removesuffix("MessageChunk").lower() in _LANGCHAIN
    if not known or "content" not in held or "role" in held:
        return None
    return str(kind).removesuffix("MessageChunk").lower(), held


def _of_langchain(kind: str, held: Raw) -> dict[str, Any]:
    about = mapped(held.get("response_metadata"))
    mapped_names = ("type", "content", "tool_calls", "id", "name", "tool_call_id", "usage_metadata", "status")
    told: dict[str, Any] = {
        "role": _LANGCHAIN[kind],
        "content": held.get("content"),
        **rest(held, *mapped_names),
    }
    if kind == "tool":
        told |= {"tool_call_id": held.get("tool_call_id"), "name": held.get("name")}
        told["is_error"] = held.get("status") == "error" or None
    else:
        given = held.get("content")
        parts = given if isinstance(given, list) else [given]
        shown = [part for part in parts if mapped(part).get("type") not in ("tool_use", "tool_call")]
        calls = [
            {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args")}
            for call in objects(held.get("tool_calls"))
        ]
        told["content"] = [*(shown if calls else parts), *calls]
        told["name"] = held.get("name")
    told["id"] = held.get("id")
    told["model"] = about.get("model_name", about.get("model"))
    told["usage"] = (
        {name: held["usage_metadata"].get(name) for name in _USAGE}
        if isinstance(held.get("usage_metadata"), Mapping)
        else None
    )
    return {name: value for name, value in told.items() if value not in (None, {}, [])}


def _of_ui(raw: Raw) -> Iterator[dict[str, Any]]:
    """Yield the message, and behind each step of it the results of its calls."""
    content: list[Any] = []
    results: list[dict[str, Any]] = []
    steps: list[list[Any]] = []
    for part in objects(raw.get("parts")):
        kind = text_in(part.get("type"))
        if kind == "step-start" and content:
            steps.append([content, results])
            content, results = [], []
        elif kind == "text":
            content.append(text_in(part.get("text")))
        elif kind == "reasoning":
            content.append({"type": "thinking", "thinking": text_in(part.get("text"))})
        elif kind.startswith("tool-") or kind == "dynamic-tool":
            name = text_in(part.get("toolName"), kind.removeprefix("tool-"))
            call = {"id": part.get("toolCallId"), "name": name, "input": part.get("input")}
            content.append({"type": "tool_use", **call})
            if part.get("state") in ("output-available", "output-error"):
                failed = part["state"] == "output-error"
                told = part.get("errorText") if failed else part.get("output")
                results.append(_result(part.get("toolCallId"), name, told, failed=failed))
        elif kind == "file" and text_in(part.get("mediaType")).startswith("image/"):
            content.append({**part, "type": "image"})
        elif kind != "step-start":
            content.append(dict(part))
    about = rest(raw, "id", "parts", "content", "toolInvocations")
    number = 0
    for said, answered in [*steps, [content, results]]:
        for one in [{"role": raw.get("role"), "content": said}, *answered]:
            if one["content"] or answered or not number:
                yield {**about, **one, "id": _part_id(raw.get("id"), number)}
                number += 1


def _of_pydantic(raw: Raw) -> Iterator[dict[str, Any]]:
    """Yield what a request holds part by part, and a response as a whole."""
    told = rest(raw, "kind", "parts", "usage", "model_name")
    content: list[Any] = []
    for part in objects(raw.get("parts")):
        kind, held = part.get("part_kind"), part.get("content")
        at = {"timestamp": part["timestamp"]} if "timestamp" in part else {}
        if kind in ("system-prompt", "user-prompt"):
            role = "system" if kind == "system-prompt" else "user"
            yield {**told, **at, "role": role, "content": held}
        elif kind in ("tool-return", "retry-prompt") and part.get("tool_name"):
            failed = kind == "retry-prompt"
            yield {**told, **at, **_result(part.get("tool_call_id"), part["tool_name"], held, failed=failed)}
        elif kind == "retry-prompt":
            yield {**told, **at, "role": "system", "content": held if isinstance(held, str) else [held]}
        elif kind == "text":
            content.append(text_in(held))
        elif kind == "thinking":
            content.append({"type": "thinking", "thinking": text_in(held)})
        elif kind == "tool-call":
            given = part.get("args")
            read = json_in(given)
            call = {"id": part.get("tool_call_id"), "name": part.get("tool_name")}
            content.append({"type": "tool_use", **call, "input": given if read is None else read})
        else:
            content.append({"type": kind, **part})
    if content:
        usage = {"usage": raw["usage"]} if isinstance(raw.get("usage"), Mapping) else {}
        yield {**told, "role": "assistant", "content": content, "model": raw.get("model_name"), **usage}


def _result(call: Any, name: Any, content: Any, *, failed: bool) -> dict[str, Any]:
    told = {"role": "tool", "tool_call_id": call, "name": name, "content": content}
    return {**told, "is_error": True} if failed else told


def _part_id(name: Any, number: int) -> Any:
    return f"{name}/{number}" if number and isinstance(name, str) and name else name
