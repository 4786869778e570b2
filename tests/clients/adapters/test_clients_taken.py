"""Each adapter takes a client of either kind, and nothing else."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from agents.items import TResponseInputItem
from anyio import to_thread
from claude_agent_sdk import SessionKey
from pydantic_ai import Conversation, ModelMessage, ModelRequest
from strands.types.session import Session, SessionType

from forklore import AsyncForklore, Forklore, UnavailableError
from forklore.adapters.claude_agent import ForkloreSessionStore
from forklore.adapters.google_adk import ForkloreSessionService
from forklore.adapters.langgraph import AsyncForkloreSaver, ForkloreSaver
from forklore.adapters.openai_agents import ForkloreSession
from forklore.adapters.pydantic_ai import ForkloreConversationStore
from forklore.adapters.strands import ForkloreSessionManager, ForkloreSessionRepository
from tests.clients.adapters.langgraph_agent import agent, texts, thread
from tests.clients.adapters.services import Service

Client = Forklore | AsyncForklore


async def claude_agent(client: Client, name: str = "s") -> None:
    store, key = ForkloreSessionStore(client), SessionKey(project_key="p", session_id=name)
    await store.append(key, [{"type": "user", "uuid": "1"}])
    assert await store.load(key) == [{"type": "user", "uuid": "1"}]


async def google_adk(client: Client, name: str = "s") -> None:
    service = ForkloreSessionService(client)
    made = await service.create_session(app_name="a", user_id="u", session_id=name)
    assert await service.get_session(app_name="a", user_id="u", session_id=name) == made


async def langgraph(client: Client, name: str = "s") -> None:
    said: Any = {"messages": [("human", "hello")]}
    for kind in (ForkloreSaver, AsyncForkloreSaver):
        graph, config = agent(kind(client)), thread(f"{kind.__name__} {name}")
        await graph.ainvoke(said, config)
        # In another thread, while this one runs the loop.
        answered = await to_thread.run_sync(lambda run, of: run.invoke(said, of), graph, config)
        assert texts(answered) == ["hello", "1 messages", "hello", "3 messages"]
        # And in the thread of the loop.
        assert texts(graph.get_state(config).values) == texts(answered)


async def openai_agents(client: Client, name: str = "s") -> None:
    session, items = ForkloreSession(name, client), list[TResponseInputItem]()
    items.append({"role": "user", "content": "Hello."})
    await session.add_items(items)
    assert await session.get_items() == items


async def pydantic_ai(client: Client, name: str = "s") -> None:
    store = ForkloreConversationStore(client)
    said: list[ModelMessage] = [ModelRequest.user_text_prompt("Hello.")]
    await store.save(Conversation(conversation_id=name, messages=said))
    held = await store.load(name)
    assert held is not None
    assert len(held.messages) == 1


async def strands(client: Client, name: str = "s") -> None:
    repository = ForkloreSessionRepository(client)
    repository.create_session(Session(session_id=name, session_type=SessionType.AGENT))
    assert repository.read_session(name) is not None
    ForkloreSessionManager(f"{name} other", client)
    assert repository.read_session(f"{name} other") is not None


Adapter = Callable[..., Coroutine[Any, Any, None]]
ADAPTERS: list[Adapter] = [
    claude_agent,
    google_adk,
    langgraph,
    openai_agents,
    pydantic_ai,
    strands,
]


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_each_kind_of_client_is_taken(service: Service, user: str, adapter: Adapter) -> None:
    with service.client(user) as client:
        await adapter(client)
    async with service.async_client(f"{user}-2") as client_of_loop:
        await adapter(client_of_loop)


@pytest.mark.failure("other-place")
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_client_for_asyncio_serves_one_event_loop_after_another(
    service: Service, user: str, adapter: Adapter
) -> None:
    client = service.async_client(user)
    for name in ("s1", "s2", "s3"):
        asyncio.run(adapter(client, name))
    asyncio.run(client.aclose())


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_what_is_no_client_is_refused(adapter: Adapter) -> None:
    with pytest.raises(TypeError, match="client is a Forklore or an AsyncForklore, not str"):
        await adapter("http://127.0.0.1:8080")


async def test_a_saver_and_a_session_may_have_clients_of_their_own(
    service: Service, user: str, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"user": user} if service.url is None else {"token": user}
    where = service.url or str(tmp_path)
    said: Any = {"messages": [("human", "hello")]}
    with ForkloreSaver.from_conn_string(where, prefix="graph/", **how) as saver:
        saver.setup()
        agent(saver).invoke(said, thread("t"))
    with pytest.raises(UnavailableError):
        saver.get_tuple(thread("t"))
    async with AsyncForkloreSaver.from_conn_string(where, prefix="graph/", **how) as other:
        await other.setup()
        assert texts((await agent(other).aget_state(thread("t"))).values) == ["hello", "1 messages"]
    async with AsyncForkloreSaver.from_conn_string(":memory:", user=user) as empty:
        assert await empty.aget_tuple(thread("t")) is None
    if service.url is not None:
        session = ForkloreSession.from_url("s", url=service.url, token=user)
        await session.add_items([{"role": "user", "content": "Hello."}])
        await session.close()
        with pytest.raises(UnavailableError):
            await session.get_items()
