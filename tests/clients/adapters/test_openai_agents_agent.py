"""A small agent of the OpenAI Agents SDK with a scripted model, and the page."""

import asyncio
from types import SimpleNamespace
from typing import Any

from agents import Agent, Runner, RunState, function_tool
from agents.memory import OpenAIResponsesCompactionSession
from agents.testing import ScriptedModel, assistant_message, function_call

from forklore import role_of, text_of
from forklore.adapters.openai_agents import ForkloreSession
from tests.clients.adapters.pages import run_page
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Wire

paid: list[int] = []


@function_tool(needs_approval=True)
def pay(euros: int) -> str:
    """Pay."""
    paid.append(euros)
    return f"paid {euros}"


def pays(euros: int, call_id: str) -> Any:
    return [function_call("pay", {"euros": euros}, call_id=call_id)]


def says(text: str) -> Any:
    return [assistant_message(text, item_id=f"m-{text}")]


def shown(client: Any, session_id: str) -> list[tuple[str | None, str | None]]:
    return [(role_of(entry), text_of(entry)) for entry in client.named(f"openai/{session_id}").entries()]


def test_an_agent_is_interrupted_goes_on_elsewhere_and_is_forked(service: Service, user: str) -> None:
    async def check() -> None:
        model = ScriptedModel([pays(5, "c1"), says("Done."), says("Hello."), says("Bonjour.")])
        agent = Agent(name="payer", model=model, tools=[pay])
        session = ForkloreSession("s", first)
        stopped = await Runner.run(agent, "Pay 5.", session=session)
        assert [one.name for one in stopped.interruptions] == ["pay"]
        kept = stopped.to_state().to_json()
        paid.clear()

        # Another process goes on.
        state: Any = await RunState.from_json(agent, kept)
        state.approve(state.get_interruptions()[0])
        session = ForkloreSession("s", second)
        assert (await Runner.run(agent, state, session=session)).final_output == "Done."
        assert paid == [5]
        assert (await Runner.run(agent, "Greet.", session=session)).final_output == "Hello."
        items: Any = await session.get_items()
        kinds = [one.get("role") or one["type"] for one in items]
        assert kinds == ["user", "function_call", "function_call_output", "assistant", "user", "assistant"]

        # A second answer to the last question, in a fork.
        fork = await session.fork("fork", before_turn=-1)
        assert (await Runner.run(agent, "Greet in French.", session=fork)).final_output == "Bonjour."
        assert model.calls[-1].input == [*items[:4], {"role": "user", "content": "Greet in French."}]
        begin = [
            ("user", "Pay 5."),
            ("ai", '[calls pay {"euros":5}]'),
            ("system", "[returned paid 5]"),
            ("ai", "Done."),
        ]
        assert shown(first, "s") == [*begin, ("user", "Greet."), ("ai", "Hello.")]
        assert shown(first, "fork") == [*begin, ("user", "Greet in French."), ("ai", "Bonjour.")]

        # A rewind.
        assert [await fork.pop_item(), await fork.pop_item()] != [None, None]
        assert await fork.get_items() == items[:4]
        assert await session.get_items() == items

    with service.client(user) as first, service.client(user) as second:
        asyncio.run(check())


SUMMARY = {"type": "compaction", "id": "cmp", "encrypted_content": "abc"}


class Compactor:
    """What sums up a conversation, in place of OpenAI's service."""

    def __init__(self) -> None:
        self.responses = self
        self.given: list[Any] = []

    async def compact(self, **given: Any) -> Any:
        self.given.append(given)
        return SimpleNamespace(output=[SUMMARY], usage=None)


def test_a_compaction_is_one_request_that_writes(service: Service, user: str) -> None:
    async def check() -> None:
        wire, compactor = Wire(), Compactor()
        plain = ForkloreSession("s", wire.wrapped(client))
        session = OpenAIResponsesCompactionSession(
            "s",
            plain,
            client=compactor,  # type: ignore[arg-type]
            compaction_mode="input",
            should_trigger_compaction=lambda given: len(given["session_items"]) >= 6,
        )
        agent = Agent(name="a", model=ScriptedModel([says("1"), says("2"), says("3"), says("4")]))
        for number in range(2):
            await Runner.run(agent, f"{number}", session=session)
        before = await plain.fork("before")
        wire.sent.clear()
        await Runner.run(agent, "2", session=session)
        assert await plain.get_items() == [SUMMARY]
        writes = [name for name in wire.sent if not name.startswith(("list", "lookUp"))]
        assert writes == ["appendEntryByName", "appendEntryByName", "appendEntry"]
        assert len(compactor.given) == 1
        assert len(await before.get_items()) == 4
        await Runner.run(agent, "3", session=session)
        found: Any = await plain.get_items()
        assert [one.get("role") or one["type"] for one in found] == ["compaction", "user", "assistant"]

        wire.sent.clear()
        await session.run_compaction({"force": True})  # of the whole session, by hand
        writes = [name for name in wire.sent if not name.startswith(("list", "lookUp"))]
        assert writes == ["appendEntry"]
        assert await plain.get_items() == [SUMMARY]

    with service.client(user) as client:
        asyncio.run(check())


def test_requests_of_a_turn(service: Service, user: str) -> None:
    async def check() -> None:
        wire = Wire()
        session = ForkloreSession("s", wire.wrapped(client))
        model = ScriptedModel([says("1"), says("2"), pays(5, "c"), says("3")])
        agent = Agent(name="a", model=model, tools=[pay])
        await Runner.run(agent, "first", session=session)
        wire.sent.clear()
        await Runner.run(agent, "second", session=session)
        assert wire.sent == ["listEntriesByName", "appendEntryByName", "appendEntryByName"]
        for change, requests in (
            (session.pop_item, ["lookUpName", "listEntries", "forkConversation"]),
            (session.clear_session, ["lookUpName", "createConversation", "setName"]),
        ):
            wire.sent.clear()
            await change()
            assert wire.sent == requests

    with service.client(user) as client:
        asyncio.run(check())


def test_the_page_runs() -> None:
    assert run_page("openai-agents") == 3
