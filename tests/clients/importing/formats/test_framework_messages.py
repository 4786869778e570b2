"""Messages of the AI SDK, LangChain and Pydantic AI, as their own packages write them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.importing.formats.shapes import branches, tree_of

SAID = [
    *("system: Be short.", "user: Boil?", "thought: A kettle.", "assistant: I look.", "call: look"),
    *("result: 90", "assistant: Soon."),
]
CALL = {"id": "c1", "name": "look"}
UI = [
    {"id": "m0", "role": "system", "parts": [{"type": "text", "text": "Be short."}]},
    {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Boil?"}]},
    {
        "id": "m2",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "A kettle.", "state": "done"},
            {"type": "text", "text": "I look.", "state": "done"},
            {
                "type": "tool-look",
                "toolCallId": "c1",
                "state": "output-available",
                "input": {"at": "kettle"},
                "output": "90",
            },
            {"type": "step-start"},
            {"type": "text", "text": "Soon.", "state": "done"},
        ],
    },
]
PYDANTIC = [
    {
        "kind": "request",
        "parts": [
            {"part_kind": "system-prompt", "content": "Be short.", "timestamp": "2026-01-01T00:00:00Z"},
            {"part_kind": "user-prompt", "content": "Boil?", "timestamp": "2026-01-01T00:00:00Z"},
        ],
    },
    {
        "kind": "response",
        "model_name": "m",
        "usage": {"input_tokens": 3, "output_tokens": 2},
        "timestamp": "2026-01-01T00:00:01Z",
        "parts": [
            {"part_kind": "thinking", "content": "A kettle."},
            {"part_kind": "text", "content": "I look."},
            {
                "part_kind": "tool-call",
                "tool_name": "look",
                "args": '{"at": "kettle"}',
                "tool_call_id": "c1",
            },
        ],
    },
    {
        "kind": "request",
        "parts": [{"part_kind": "tool-return", "tool_name": "look", "content": "90", "tool_call_id": "c1"}],
    },
    {"kind": "response", "model_name": "m", "parts": [{"part_kind": "text", "content": "Soon."}]},
]


def langchain(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"content": content, "type": kind, "additional_kwargs": {}, **more}}


THOUGHT = {"type": "thinking", "thinking": "A kettle."}
LANGCHAIN = [
    langchain("system", "Be short."),
    langchain("human", "Boil?", id="h1"),
    langchain(
        "ai",
        [THOUGHT, {"type": "text", "text": "I look."}],
        tool_calls=[{**CALL, "args": {"at": "kettle"}, "type": "tool_call"}],
        usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        response_metadata={"model_name": "m"},
    ),
    langchain("tool", "90", tool_call_id="c1", name="look", status="success"),
    langchain("ai", "Soon."),
]
NAMES = {"system": "System", "human": "Human", "ai": "AI", "tool": "Tool"}
DUMPED = [
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", f"{NAMES[one['type']]}Message"],
        "kwargs": one["data"],
    }
    for one in LANGCHAIN
]


@pytest.mark.parametrize(
    "messages", [UI, PYDANTIC, LANGCHAIN, DUMPED], ids=["ui", "pydantic", "dict", "dumped"]
)
def test_a_talk_is_read(messages: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps({"id": "t", "messages": messages}), encoding="utf-8")
    assert branches(tree_of(path)) == [SAID]
    path.write_text(json.dumps(messages), encoding="utf-8")
    tree = tree_of(path)

    assert branches(tree) == [SAID]
    [call] = [one for message in tree.messages for one in message.content.get("events", []) if "input" in one]
    assert (call["id"], call["input"]) == ("c1", {"at": "kettle"})


@pytest.mark.parametrize("messages", [PYDANTIC, LANGCHAIN, DUMPED])
def test_the_model_and_its_tokens_are_read(messages: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    source = tree_of(path).messages[2].content["source"]

    assert source["model"] == "m"
    assert source["usage"] == {"input_tokens": 3, "output_tokens": 2}
