"""What the explorer makes of the adapters' entries, and that agents read what was edited there.

`explorer.json` has, for each adapter, the entries that it writes of one conversation, and what the
explorer stores for an edit of them. The tests of `web/explorer/model` hold the explorer to the same
file.
"""

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.messages import ModelMessagesTypeAdapter
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from forklore import Forklore
from forklore.adapters.claude_agent import ForkloreSessionStore
from forklore.adapters.claude_agent.session_names import name_of
from forklore.adapters.langgraph import ForkloreSaver
from forklore.adapters.openai_agents import ForkloreSession
from forklore.adapters.pydantic_ai import ForkloreConversationStore
from forklore.adapters.strands import ForkloreSessionRepository

SAMPLES = json.loads(Path(__file__).with_name("explorer.json").read_text())
AT = "2026-03-01T09:15:0{}.000Z"
ORDER = {"order": "88-1204"}


@dataclass(frozen=True)
class Adapter:
    """How a conversation is written with an adapter, and what an agent then reads.

    name: what points to it. read: all that the agent reads, as JSON.
    """

    name: str
    write: Callable[[Forklore], Any]
    read: Callable[[Forklore], Any]


def write_openai(client: Forklore) -> None:
    thought = {"type": "reasoning", "id": "rs1", "summary": [{"type": "summary_text", "text": "Look first."}]}
    call = {"type": "function_call", "call_id": "c1", "name": "find_order", "arguments": json.dumps(ORDER)}
    output = {"type": "function_call_output", "call_id": "c1", "output": '{"total": 40}'}
    part = {"type": "output_text", "text": "It was **40 euros**.", "annotations": [], "logprobs": []}
    answer = {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    asked: Any = [{"role": "user", "content": "What did my order cost?"}, thought, call, output, answer]
    asyncio.run(ForkloreSession("s", client).add_items(asked))


def read_openai(client: Forklore) -> Any:
    return asyncio.run(ForkloreSession("s", client).get_items())


SESSION_ID = "00000000-0000-4000-8000-0000000000aa"
CLAUDE_KEY: Any = {"project_key": "-home-ann", "session_id": SESSION_ID}


def write_claude(client: Forklore) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "find_order", "input": ORDER}
    back = {"type": "tool_result", "tool_use_id": "t1", "content": "no such order", "is_error": True}
    said: list[tuple[str, Any]] = [
        ("user", "What did my order cost?"),
        ("assistant", [{"type": "thinking", "thinking": "Look first.", "signature": "x="}]),
        ("assistant", [{"type": "text", "text": "I look."}, use]),
        ("user", [back]),
        ("assistant", [{"type": "text", "text": "There is **no such order**."}]),
    ]
    lines: Any = [
        {
            "type": kind,
            "uuid": f"00000000-0000-4000-8000-00000000000{number}",
            "parentUuid": f"00000000-0000-4000-8000-00000000000{number - 1}" if number else None,
            "timestamp": AT.format(number),
            "message": {"role": kind, "content": content},
        }
        for number, (kind, content) in enumerate(said)
    ]
    asyncio.run(ForkloreSessionStore(client).append(CLAUDE_KEY, lines))


def read_claude(client: Forklore) -> Any:
    return asyncio.run(ForkloreSessionStore(client).load(CLAUDE_KEY))


STRANDS: list[Any] = [
    {"role": "user", "content": [{"text": "What did my order cost?"}]},
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "Look first."}}},
            {"text": "I look."},
            {"toolUse": {"toolUseId": "t1", "name": "find_order", "input": ORDER}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"json": {"total": 40}}]}}
        ],
    },
    {"role": "assistant", "content": [{"text": "It was **40 euros**."}]},
]


def write_strands(client: Forklore) -> None:
    repository = ForkloreSessionRepository(client)
    times: Any = {"created_at": AT.format(0), "updated_at": AT.format(0)}
    repository.create_session(Session(session_id="s", session_type=SessionType.AGENT, **times))
    repository.create_agent("s", SessionAgent(agent_id="a", state={}, conversation_manager_state={}, **times))
    for number, message in enumerate(STRANDS):
        repository.create_message("s", "a", SessionMessage(message=message, message_id=number, **times))


def read_strands(client: Forklore) -> Any:
    return [one.to_message() for one in ForkloreSessionRepository(client).list_messages("s", "a")]


PYDANTIC: list[Any] = [
    {
        "kind": "request",
        "timestamp": AT.format(0),
        "parts": [
            {"part_kind": "user-prompt", "content": "What did my order cost?", "timestamp": AT.format(0)}
        ],
    },
    {
        "kind": "response",
        "timestamp": AT.format(1),
        "parts": [
            {"part_kind": "thinking", "content": "Look first."},
            {"part_kind": "text", "content": "I look."},
            {"part_kind": "tool-call", "tool_name": "find_order", "tool_call_id": "t1", "args": ORDER},
        ],
    },
    {
        "kind": "request",
        "timestamp": AT.format(2),
        "parts": [
            {
                "part_kind": "tool-return",
                "tool_name": "find_order",
                "tool_call_id": "t1",
                "content": {"total": 40},
                "timestamp": AT.format(2),
            }
        ],
    },
    {
        "kind": "response",
        "timestamp": AT.format(3),
        "parts": [{"part_kind": "text", "content": "It was **40 euros**."}],
    },
]


def write_pydantic(client: Forklore) -> None:
    entries = [
        ConversationEntry(id=f"m{number}", parent_id=f"m{number - 1}" if number else None, message=message)
        for number, message in enumerate(ModelMessagesTypeAdapter.validate_python(PYDANTIC))
    ]
    at = datetime.fromisoformat(AT.format(4))
    record = ConversationRecord(conversation_id="s", head_id="m3", revision="r1", updated_at=at)
    store = ForkloreConversationStore(client)
    asyncio.run(store.write_record(record, new_entries=entries, expected_revision=None))


def read_pydantic(client: Forklore) -> Any:
    async def read() -> Any:
        conversation = await ForkloreConversationStore(client).load("s")
        assert conversation is not None
        return ModelMessagesTypeAdapter.dump_python(conversation.messages, mode="json")

    return asyncio.run(read())


def write_langgraph(client: Forklore) -> None:
    call = {"name": "find_order", "args": ORDER, "id": "t1"}
    said = [
        AIMessage("I look.", tool_calls=[call], id="a1"),
        ToolMessage("40", name="find_order", tool_call_id="t1", id="a2"),
        AIMessage("It was **40 euros**.", id="a3"),
    ]
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda _: {"messages": said})
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    asked = HumanMessage("What did my order cost?", id="u1")
    compiled = graph.compile(checkpointer=ForkloreSaver(client))
    compiled.invoke({"messages": [asked]}, {"configurable": {"thread_id": "s"}})


ADAPTERS = {
    "openai-agents": Adapter("openai/s", write_openai, read_openai),
    "claude-agent": Adapter(name_of(CLAUDE_KEY), write_claude, read_claude),
    "strands": Adapter("strands/s", write_strands, read_strands),
    "pydantic-ai": Adapter("pydantic-ai/s", write_pydantic, read_pydantic),
    "langgraph": Adapter("langgraph/s", write_langgraph, lambda _: None),
}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Forklore]:
    with Forklore.local(user="ann", client="planner", data=tmp_path) as client:
        yield client


def entries_of(client: Forklore, adapter: Adapter) -> list[Any]:
    """Return the entries, without those of LangGraph that nobody is shown: threads write them."""
    page = client.api.list_entries_by_name(name=adapter.name, channel="history")
    return [one for one in page.data if "langgraph" not in one.content_type]


def stored(entry: Any) -> dict[str, Any]:
    """Return what is the same of an entry each time: of a record of LangGraph its kind."""
    content = json.loads(json.dumps(entry.content))
    for element in content:
        if "langgraph" in element:
            element |= {"data": "", "langgraph": {"kind": element["langgraph"].get("kind", "part")}}
    kept = {"channel": entry.channel, "contentType": entry.content_type, "content": content}
    return {**kept, **({"key": entry.key} if entry.key else {})}


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_explorer_is_tested_on_what_the_adapters_write(client: Forklore, name: str) -> None:
    adapter = ADAPTERS[name]
    adapter.write(client)
    assert [stored(one) for one in entries_of(client, adapter)] == SAMPLES[name]["entries"]


EDITS = [(name, at) for name, sample in SAMPLES.items() for at in range(len(sample["edits"]))]


@pytest.mark.parametrize(("name", "at"), EDITS)
def test_an_agent_reads_what_was_edited_in_the_explorer(client: Forklore, name: str, at: int) -> None:
    adapter, edit = ADAPTERS[name], SAMPLES[name]["edits"][at]
    adapter.write(client)
    entry = entries_of(client, adapter)[edit["entry"]]
    before = adapter.read(client)

    revision = client.api.look_up_name(name=adapter.name).revision
    client.api.append_entry(
        str(uuid.uuid4()),
        forked_at_conversation_id=entry.conversation_id,
        forked_at_entry_id=entry.id,
        forked_at_position="before",
        name={"name": adapter.name, "expectRevision": revision},
        entries=[edit["draft"]],
    )

    expected = before[: edit["reads"]["items"]]
    *path, last = edit["reads"]["at"]
    place = expected
    for step in path:
        place = place[step]
    place[last] = edit["words"] if "words" in edit else edit["value"]
    assert adapter.read(client) == expected
