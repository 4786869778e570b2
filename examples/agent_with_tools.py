"""Run an agent with tools. Killed at any moment and started again, it goes on where it was."""

from collections.abc import Iterator
from os import environ
from typing import Any

from forklore import Forklore

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")

Part = dict[str, Any]


def model(memory: list[Any]) -> Iterator[str | Part]:
    """Stand in for a model: yield words, and calls of tools, as they come."""
    results = [part for one in memory for part in one["content"] if part["type"] == "tool_result"]
    if not results:
        yield from ("Let ", "me ", "look.")
        yield {"type": "tool_use", "id": "call-1", "name": "weather", "input": {"day": "Sonday"}}
        yield {"type": "tool_use", "id": "call-2", "name": "weather", "input": {"day": "Sunday"}}
    else:
        yield from ("Sunday ", "is ", f"{results[-1]['content']}: ", "go.")


def weather(day: str) -> str:
    """Stand in for a tool: it knows one day."""
    return {"Sunday": "dry"}[day]


def result_of(call: Part) -> Part:
    """Do what the model asks for. What goes wrong is a result, too: the model reads it."""
    result = {"type": "tool_result", "tool_use_id": call["id"], "is_error": False}
    try:
        return result | {"content": weather(**call["input"])}
    except Exception as error:  # noqa: BLE001 (the model is told)
        return result | {"content": f"failed: {error!r}", "is_error": True}


def open_calls(memory: list[Any]) -> list[Part]:
    """Return the calls that have no result yet."""
    parts = [part for one in memory for part in one["content"]]
    done = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
    return [part for part in parts if part["type"] == "tool_use" and part["id"] not in done]


def run(question: str) -> None:
    """Answer a question. The memory says what is done: each step writes it with its message."""
    chat = fl.named("picnic")
    memory = chat.context.latest()
    if not memory:
        memory.append({"role": "user", "content": [{"type": "text", "text": question}]})
        chat.turn("user", question, context=memory)
    while memory[-1]["role"] != "assistant" or open_calls(memory):
        for call in open_calls(memory):
            result = result_of(call)
            print(call["name"], call["input"], "->", result["content"], flush=True)
            memory.append({"role": "tool", "content": [result]})
            chat.turn("tool", [result], context=memory, key=call["id"])
        words, calls = "", list[Part]()
        with chat.answer() as answer:  # others can read it while it is written
            for piece in model(memory):
                if isinstance(piece, str):
                    print(piece, flush=True)
                    answer.write(piece)
                    words += piece
                else:
                    answer.write([piece])
                    calls.append(piece)
            memory.append({"role": "assistant", "content": [{"type": "text", "text": words}, *calls]})
            answer.finish(context=memory, usage={"input_tokens": 40, "output_tokens": 9})


run("Shall we picnic on Sunday?")
print()
for entry in fl.named("picnic").history():
    print(f"{entry.role}: {entry.text}")
