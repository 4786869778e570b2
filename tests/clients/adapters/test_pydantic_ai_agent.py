"""A small agent of Pydantic AI with a scripted model, and the page."""

import anyio
from pydantic_ai import Agent, Conversation, DeferredToolRequests, Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from forklore import role_of, text_of
from forklore.adapters.pydantic_ai import ForkloreConversationStore
from tests.clients.adapters.pages import run_page
from tests.clients.adapters.services import Service

paid: list[int] = []


def weather(city: str) -> str:
    return f"sun in {city}"


def pay(euros: int) -> str:
    paid.append(euros)
    return f"paid {euros}"


def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Call a tool for `weather …` and `pay …`, then say what it returned."""
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(content=f"done: {last.content}")])
    assert isinstance(last, UserPromptPart)
    word, _, rest = str(last.content).partition(" ")
    if word == "weather":
        return ModelResponse(parts=[ToolCallPart("weather", {"city": rest})])
    if word == "pay":
        return ModelResponse(parts=[ToolCallPart("pay", {"euros": int(rest)})])
    return ModelResponse(parts=[TextPart(content=f"{len(messages)} messages")])


def test_an_agent_with_tools_an_approval_a_fork_and_a_compaction(service: Service, user: str) -> None:
    agent = Agent(
        FunctionModel(script),
        tools=[weather, Tool(pay, requires_approval=True)],
        output_type=[str, DeferredToolRequests],
    )

    async def main() -> None:
        async with service.async_client(user) as client:
            store = ForkloreConversationStore(client)
            result = await agent.run("weather Lisbon", conversation=Conversation(conversation_id="trip"))
            assert result.output == "done: sun in Lisbon"
            await store.save(result)

            # It waits for an approval, and goes on in another process.
            held = await store.load("trip")
            await store.save(await agent.run("pay 7", conversation=held))
            paid.clear()
            other = ForkloreConversationStore(client)
            held = await other.load("trip")
            assert held is not None
            assert held.deferred_tool_requests is not None
            results = held.deferred_tool_requests.build_results(approve_all=True)
            resumed = await agent.run(conversation=held, deferred_tool_results=results)
            assert resumed.output == "done: paid 7"
            assert paid == [7]
            await other.save(resumed)

            fork = await store.fork("trip", at=4, new_conversation_id="idea")
            await store.save(await agent.run("hello", conversation=fork))
            idea = await store.load("idea")
            assert idea is not None
            assert len(idea.messages) == 6

            # A compaction rewrites the history. What it was stays stored as a branch.
            held = await store.load("trip")
            assert held is not None
            assert len(held.messages) == 8
            held.messages = [ModelRequest(parts=[UserPromptPart(content="summary")]), *held.messages[-1:]]
            held.new_message_index = None
            await store.save(held)
            result = await agent.run("hello", conversation=await store.load("trip"))
            assert result.output == "3 messages"
            await store.save(result)
            [record] = [one for one in await store.list_conversations() if one.conversation_id == "trip"]
            assert len(await store.read_history(record.branches[0])) == 8
            assert record.usage.requests == 5

            shown = [(role_of(one), text_of(one)) async for one in client.named("pydantic-ai/idea").entries()]
            assert shown[:4] == [
                ("user", "weather Lisbon"),
                ("ai", '[calls weather {"city":"Lisbon"}]'),
                ("system", "[weather returned sun in Lisbon]"),
                ("ai", "done: sun in Lisbon"),
            ]

    anyio.run(main)  # agents of Pydantic AI run on asyncio alone


def test_the_page_does_what_it_says() -> None:
    assert run_page("pydantic-ai") == 2
