"""A small agent of Strands with a scripted model, and the page."""

import re
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from strands import Agent, ToolContext, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.models.model import Model
from strands.session.repository_session_manager import RepositorySessionManager
from strands.types.interrupt import InterruptResponseContent

from forklore.adapters.strands import ForkloreSessionRepository
from tests.clients.adapters.pages import run_page
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Wire

paid: list[int] = []


class Script(Model):
    """Calls the tool `pay` for `pay …`, then says what it returned; else says how much it sees."""

    def update_config(self, **model_config: Any) -> None:
        raise NotImplementedError

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *given: Any, **more: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *given: Any, **more: Any) -> AsyncGenerator[Any, None]:
        last = messages[-1]["content"][-1]
        yield {"messageStart": {"role": "assistant"}}
        paying = re.match(r"pay (\d+)", last.get("text", ""))
        if paying:
            yield {
                "contentBlockStart": {"start": {"toolUse": {"name": "pay", "toolUseId": f"t{len(messages)}"}}}
            }
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": f'{{"euros": {paying[1]}}}'}}}}
        else:
            text = (
                last["toolResult"]["content"][0]["text"]
                if "toolResult" in last
                else f"{len(messages)} messages"
            )
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if paying else "end_turn"}}


@tool(context=True)
def pay(euros: int, tool_context: ToolContext) -> str:
    """Pay.

    Args:
        euros: how much
    """
    if tool_context.interrupt("approval", reason=f"{euros} euros") != "yes":
        return "refused"
    paid.append(euros)
    return f"paid {euros}"


def agent(repository: ForkloreSessionRepository, session: str, window: int = 40) -> Agent:
    return Agent(
        model=Script(),
        tools=[pay],
        agent_id="guide",
        callback_handler=None,
        conversation_manager=SlidingWindowConversationManager(window_size=window),
        session_manager=RepositorySessionManager(session, repository),
    )


def texts(agent: Agent) -> list[str]:
    return [block["text"] for message in agent.messages for block in message["content"] if "text" in block]


def test_an_agent_with_a_tool_an_interruption_a_fork_and_a_window(service: Service, user: str) -> None:
    with service.client(user) as client:
        repository = ForkloreSessionRepository(client)
        assert str(agent(repository, "trip")("hello")).strip() == "1 messages"

        # It waits for an approval, and goes on in another process.
        waiting = agent(repository, "trip")("pay 7")
        assert waiting.stop_reason == "interrupt"
        paid.clear()
        [asked] = waiting.interrupts or ()
        resumed = agent(ForkloreSessionRepository(client), "trip")
        answer: list[InterruptResponseContent] = [
            {"interruptResponse": {"interruptId": asked.id, "response": "yes"}}
        ]
        done = resumed(answer)
        assert str(done).strip() == "paid 7"
        assert paid == [7]

        repository.fork_session("trip", "idea", agent_id="guide", before_message=2)
        fork = agent(repository, "idea")
        assert texts(fork) == ["hello", "1 messages"]
        assert str(fork("again")).strip() == "3 messages"

        # A window drops old messages. They stay stored.
        small = agent(repository, "trip", window=2)
        for number in range(3):
            small(f"{number}")
        again = agent(ForkloreSessionRepository(client), "trip", window=2)
        assert texts(again) == texts(small)
        assert len(again.messages) <= 2
        assert len(repository.list_messages("trip", "guide")) == 12
        assert texts(agent(repository, "idea")) == ["hello", "1 messages", "again", "3 messages"]


def test_a_turn_takes_two_requests(service: Service, user: str) -> None:
    wire = Wire()
    with service.client(user) as client:
        talking = agent(ForkloreSessionRepository(wire.wrapped(client)), "trip")
        talking("hello")
        wire.sent.clear()
        talking("again")
        assert wire.sent == ["appendEntry", "appendEntry"]


def test_the_page_does_what_it_says() -> None:
    assert run_page("strands") == 2


@pytest.mark.parametrize("agents", [["a", "b"]])
def test_agents_of_one_session_keep_apart(service: Service, user: str, agents: list[str]) -> None:
    with service.client(user) as client:
        manager = RepositorySessionManager("trip", ForkloreSessionRepository(client))
        for name in agents:
            Agent(model=Script(), agent_id=name, callback_handler=None, session_manager=manager)(
                f"I am {name}"
            )
        again = RepositorySessionManager("trip", ForkloreSessionRepository(client))
        for name in agents:
            found = Agent(model=Script(), agent_id=name, callback_handler=None, session_manager=again)
            assert texts(found) == [f"I am {name}", "1 messages"]
