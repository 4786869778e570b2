"""Claude Code itself, which the SDK brings, keeps its sessions in the store. Its model is a script.

Each step is a new process of Claude Code with an empty folder of its own. So all that it knows of
earlier steps comes from the store.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    SessionKey,
    create_sdk_mcp_server,
    get_session_messages_from_store,
    get_subagent_messages_from_store,
    list_sessions_from_store,
    list_subagents_from_store,
    project_key_for_directory,
    query,
    tool,
)

from forklore import role_of, text_of
from forklore.adapters.claude_agent import ForkloreSessionStore
from forklore.adapters.claude_agent.session_names import name_of
from tests.clients.adapters.claude_agent_lines import store_of
from tests.clients.adapters.claude_agent_model import Block, model
from tests.clients.adapters.services import Service

PAUSE_S = 60
APPEND = "appendEntryByName"
FIRST_TURN = ["listEntriesByName", APPEND]
"""The requests of a new session's turn: is there such a session, and append."""
NEXT_TURN = ["listEntriesByName", "listNames", APPEND]
"""Those of a turn in a process of its own, which resumes: load, list the subpaths, append."""


def answer(text: str) -> list[Block]:
    return [{"type": "text", "text": text}]


def call(name: str, **arguments: Any) -> list[Block]:
    return [{"type": "tool_use", "id": f"toolu_{name[-8:]}", "name": name, "input": arguments}]


ASKED = {
    "What is the weather?": call("mcp__trip__weather", city="Lisbon"),
    "Please wait for Porto.": call("mcp__trip__wait"),
    "Please delegate.": call(
        "Agent", description="hotels", prompt="Find hotels.", subagent_type="general-purpose"
    ),
    "Find hotels.": answer("Casa do Jardim."),
}
"""What the model answers to these words of a user. To others it says what it remembers."""
REMEMBERED = ("sun in", "Porto", "talked about Lisbon")


def script(messages: list[dict[str, Any]]) -> list[Block]:
    """Answer what was said since the last answer."""
    answered = max((at for at, one in enumerate(messages) if one["role"] == "assistant"), default=-1)
    blocks: list[Block] = []
    for message in messages[answered + 1 :]:
        content = message["content"]
        blocks += content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [block["text"].strip() for block in blocks if block["type"] == "text"]
    for text in texts:
        if text in ASKED:
            return ASKED[text]
        if "followed by a <summary> block" in text:
            return answer("<analysis>-</analysis><summary>They talked about Lisbon.</summary>")
    if any(block["type"] == "tool_result" for block in blocks) and len(texts) == 0:
        return answer("A tool says sun." if "sun in" in json.dumps(blocks) else "The helper is done.")
    said = json.dumps(messages)
    return answer(", ".join(words for words in REMEMBERED if words in said) or "Hm.")


@tool("weather", "The weather of a city", {"city": str})
async def weather(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"sun in {arguments['city']}"}]}


@tool("wait", "Takes long", {})
async def wait(arguments: dict[str, Any]) -> dict[str, Any]:
    await anyio.sleep(PAUSE_S)
    return {"content": [{"type": "text", "text": "done"}]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in. Claude Code knows nothing of this machine's own settings."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDE_", "CLAUDECODE")):
            monkeypatch.delenv(name)
    work = tmp_path / "work"
    work.mkdir()
    return work


def options_of(store: ForkloreSessionStore, folder: Path, url: str) -> Callable[..., ClaudeAgentOptions]:
    """Return what makes the options of a new process, with an empty folder of settings."""
    made = 0

    def options(**more: Any) -> ClaudeAgentOptions:
        nonlocal made
        made += 1
        settings = folder.parent / f"settings-{made}"
        settings.mkdir()
        env = {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "scripted",
            "CLAUDE_CONFIG_DIR": str(settings),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        return ClaudeAgentOptions(
            session_store=store,
            cwd=folder,
            env=env,
            setting_sources=[],
            mcp_servers={"trip": create_sdk_mcp_server("trip", tools=[weather, wait])},
            allowed_tools=["mcp__trip__weather", "mcp__trip__wait", "Agent"],
            **more,
        )

    return options


async def ask(prompt: str, options: ClaudeAgentOptions) -> ResultMessage:
    """Ask in a process of its own; return its result."""
    results = [one async for one in query(prompt=prompt, options=options) if isinstance(one, ResultMessage)]
    return results[-1]


async def test_an_agent_with_tools_a_fork_a_rewind_and_a_compaction(
    service: Service, user: str, folder: Path
) -> None:
    with model(script) as (url, _):
        async with store_of(service, user) as (store, operations):
            options = options_of(store, folder, url)
            operations.clear()
            asked = await ask("What is the weather?", options())
            first_turn = list(operations)
            assert asked.result == "A tool says sun."
            session = asked.session_id
            key = SessionKey(project_key=project_key_for_directory(folder), session_id=session)

            operations.clear()
            went_on = await ask("And now Porto?", options(resume=session))
            second_turn = list(operations)
            assert (went_on.session_id, went_on.result) == (session, "sun in, Porto")
            before = await get_session_messages_from_store(store, session, str(folder))

            # A second answer: the fork ends with the first answer.
            [end] = [one.uuid for one in before if "A tool says" in str(one.message)]
            fork = await store.fork(key, up_to=end, title="Other")
            other = await ask("And the beach?", options(resume=fork["session_id"]))
            assert (other.session_id, other.result) == (fork["session_id"], "sun in")
            # The SDK forks a fork.
            again = await ask("Where?", options(resume=fork["session_id"], fork_session=True))
            assert again.session_id not in (session, fork["session_id"])
            assert again.result == "sun in"

            # A compaction.
            await ask("/compact", options(resume=session))
            compacted = await ask("What did we do?", options(resume=session))
            assert "talked about Lisbon" in str(compacted.result)
            after = await get_session_messages_from_store(store, session, str(folder))
            assert "talked about Lisbon" in str(after[0].message)
            assert "talked about" not in str(await store.load(fork))
            assert await get_session_messages_from_store(store, fork["session_id"], str(folder))

            titles = {
                one.session_id: one.custom_title for one in await list_sessions_from_store(store, str(folder))
            }
            assert titles[fork["session_id"]] == "Other"
            assert titles.keys() == {session, fork["session_id"], again.session_id}
    with service.client(user) as fl:
        entries = fl.named(name_of(key)).entries().list()
    log = [(role_of(one), text_of(one)) for one in entries]
    assert log[0] == ("user", "What is the weather?")
    assert log[1] == ("ai", "[mcp__trip__weather]\n\nA tool says sun.")
    # Claude Code sends a batch with the result, and perhaps one when its process ends.
    assert first_turn in (FIRST_TURN, [*FIRST_TURN, APPEND])
    assert second_turn in (NEXT_TURN, [*NEXT_TURN, APPEND])


async def test_an_interrupted_agent_is_resumed_elsewhere(service: Service, user: str, folder: Path) -> None:
    with model(script) as (url, _):
        async with store_of(service, user) as (store, _):
            options = options_of(store, folder, url)
            session = ""
            async with ClaudeSDKClient(options=options()) as client:
                await client.query("Please wait for Porto.")
                async for message in client.receive_response():
                    if type(message).__name__ == "AssistantMessage":
                        await client.interrupt()
                    if isinstance(message, ResultMessage):
                        session = message.session_id
            messages = await get_session_messages_from_store(store, session, str(folder))
            assert any("interrupted by user" in str(one.message) for one in messages)
            resumed = await ask("Go on.", options(resume=session))
            assert (resumed.session_id, resumed.result) == (session, "Porto")


async def test_a_subagent_is_kept_and_resumed_with_its_session(
    service: Service, user: str, folder: Path
) -> None:
    with model(script) as (url, _):
        async with store_of(service, user) as (store, _):
            options = options_of(store, folder, url)
            asked = await ask("Please delegate.", options())
            [agent] = await list_subagents_from_store(store, asked.session_id, str(folder))
            said = await get_subagent_messages_from_store(store, asked.session_id, agent, str(folder))
            assert "Casa do Jardim." in str(said[-1].message)
            resumed = await ask("Thanks.", options(resume=asked.session_id))
            assert resumed.session_id == asked.session_id
            key = SessionKey(project_key=project_key_for_directory(folder), session_id=asked.session_id)
    with service.client(user) as fl:
        [child] = fl.named(name_of(key)).children().list()
        log = [(role_of(one), text_of(one)) for one in fl.conversation(child.id).entries()]
    spoken = [one for one in log if one[0] != "system"]
    assert spoken[0] == ("user", "Find hotels.")
    assert spoken[-1] == ("ai", "Casa do Jardim.")
