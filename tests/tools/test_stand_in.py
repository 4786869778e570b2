"""The stand-in for a model: what it reads out of a request, and what it says to it."""

import http.client
import json
from typing import Any

import pytest

from tools.programs.stand_in import SUMMARY, Call, Part, Script, StandIn, Step

SCRIPT = Script(
    {
        "Count.": [Step("I look.", "I think.", [Call("shell", {"command": "ls"})]), Step("Three.")],
        "Count. Again.": [Step("Still three.")],
    },
    compaction=("Sum it up",),
)
TOOLS = [{"name": "shell"}]
CALL = {"id": "c", "name": "shell"}
HISTORIES: dict[str, dict[str, Any]] = {
    "/v1/messages": {
        "messages": [
            {"role": "user", "content": "Count."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "I think.", "signature": ""},
                    {"type": "tool_use", "input": {"command": "ls"}, **CALL},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "a"}]}
                ],
            },
        ]
    },
    "/v1/chat/completions": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Count."}]},
            {
                "role": "assistant",
                "reasoning_content": "I think.",
                "tool_calls": [{"id": "c", "function": {"name": "shell", "arguments": '{"command": "ls"}'}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "a"},
        ]
    },
    "/v1/responses": {
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Count."}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I think."}]},
            {"type": "function_call", "call_id": "c", "name": "shell", "arguments": '{"command": "ls"}'},
            {"type": "function_call_output", "call_id": "c", "output": "a"},
        ]
    },
    "/v1beta/models/m:streamGenerateContent": {
        "contents": [
            {"role": "user", "parts": [{"text": "Count."}]},
            {
                "role": "model",
                "parts": [
                    {"text": "I think.", "thought": True},
                    {"functionCall": {"args": {"command": "ls"}, **CALL}},
                ],
            },
            {"role": "user", "parts": [{"functionResponse": {"response": {"output": "a"}, **CALL}}]},
        ]
    },
}


def asked(server: StandIn, path: str, body: dict[str, Any]) -> str:
    """Send a request, and return what came as it was streamed."""
    host = server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.request("POST", path, json.dumps({"stream": True, "tools": TOOLS, **body}))
    return connection.getresponse().read().decode()


@pytest.mark.parametrize("path", HISTORIES)
def test_a_history_is_read_and_gone_on_with(path: str) -> None:
    with StandIn(SCRIPT) as server:
        said = asked(server, path, HISTORIES[path])
        parts = server.requests[0].parts

    kinds = [(part.role, part.kind, part.text) for part in parts]
    assert kinds == [
        ("user", "text", "Count."),
        ("assistant", "thought", "I think."),
        ("assistant", "call", '{"command": "ls"}'),
        ("user", "result", "a"),
    ]
    assert "Three." in said


@pytest.mark.parametrize("path", HISTORIES)
def test_a_call_follows_what_was_said(path: str) -> None:
    [name] = HISTORIES[path].keys()
    with StandIn(SCRIPT) as server:
        said = asked(server, path, {name: HISTORIES[path][name][:1]})

    assert said.index("I think.") < said.index("I look.") < said.index("shell")


def test_the_last_and_the_longest_words_count() -> None:
    told = [Part("user", "text", "Count."), Part("user", "text", "<now/>Count. Again.")]
    summed = [*told, Part("user", "text", "Sum it up, with all titles.")]

    assert SCRIPT.step(told, has_tools=True).text == "Still three."
    assert SCRIPT.step(summed, has_tools=False).text == SUMMARY
    assert SCRIPT.step([Part("user", "text", "What?")], has_tools=True).text == "Noted."
