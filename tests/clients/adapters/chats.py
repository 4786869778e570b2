"""One chat in each framework: messages with photos are kept in forklore, and come back."""

import base64
import random
from collections.abc import Callable
from typing import Any

import anyio
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, UserPromptPart
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from forklore import Forklore
from forklore.adapters.claude_agent import ForkloreSessionStore
from forklore.adapters.langgraph import ForkloreSaver
from forklore.adapters.openai_agents import ForkloreSession
from forklore.adapters.pydantic_ai import ForkloreConversationStore
from forklore.adapters.strands import ForkloreSessionRepository
from tests.clients.adapters.claude_agent_lines import said

ID = "11111111-2222-4333-8444-555555555555"
Chat = Callable[[Forklore, str, list[bytes]], list[bytes]]
"""Says a text with photos in the chat, and returns all photos that the framework then has.

What was said before is read from forklore.
"""


def photo(number: int, size: int = 1_000_000) -> bytes:
    """Return the bytes of a photo."""
    return b"\x89PNG\r\n\x1a\n" + random.Random(number).randbytes(size - 8)


def in_openai(client: Forklore, text: str, photos: list[bytes]) -> list[bytes]:
    session = ForkloreSession("chat", client)
    images = [{"type": "input_image", "detail": "auto", "image_url": data_url(one)} for one in photos]
    item: Any = {"role": "user", "content": [{"type": "input_text", "text": text}, *images]}
    anyio.run(session.add_items, [item])
    items: list[Any] = anyio.run(session.get_items)
    assert items[-1] == item
    return [of_url(part["image_url"]) for one in items for part in one["content"][1:]]


def in_strands(client: Forklore, text: str, photos: list[bytes]) -> list[bytes]:
    repository = ForkloreSessionRepository(client)
    if repository.read_session("chat") is None:
        repository.create_session(Session(session_id="chat", session_type=SessionType.AGENT))
        repository.create_agent("chat", SessionAgent(agent_id="a", state={}, conversation_manager_state={}))
    images = [{"image": {"format": "png", "source": {"bytes": one}}} for one in photos]
    message: Any = {"role": "user", "content": [{"text": text}, *images]}
    number = len(repository.list_messages("chat", "a"))
    repository.create_message("chat", "a", SessionMessage.from_message(message, number))
    held: list[Any] = [one.to_message() for one in repository.list_messages("chat", "a")]
    assert held[-1] == message
    return [part["image"]["source"]["bytes"] for one in held for part in one["content"][1:]]


def in_claude(client: Forklore, text: str, photos: list[bytes]) -> list[bytes]:
    async def chat() -> list[Any]:
        store = ForkloreSessionStore(client)
        await store.append({"project_key": "-trip", "session_id": ID}, [line])
        return await store.load({"project_key": "-trip", "session_id": ID}) or []

    images = [{"type": "image", "source": source("data", "media_type", one)} for one in photos]
    line = said("user", [{"type": "text", "text": text}, *images])
    lines = anyio.run(chat)
    assert lines[-1] == line
    return [b64(part["source"]["data"]) for one in lines for part in one["message"]["content"][1:]]


def in_pydantic_ai(client: Forklore, text: str, photos: list[bytes]) -> list[bytes]:
    async def chat() -> list[ModelMessage]:
        store = ForkloreConversationStore(client)
        talk = await store.load("chat") or Conversation(conversation_id="chat")
        talk.messages.append(message)
        await store.save(talk)
        read = await store.load("chat")
        return [] if read is None else read.messages

    images = [BinaryContent(one, media_type="image/png") for one in photos]
    message = ModelRequest(parts=[UserPromptPart(content=[text, *images])])
    messages: list[Any] = anyio.run(chat)
    assert messages[-1].parts[0].content[0] == text
    return [part.data for one in messages for part in one.parts[0].content[1:]]


def in_langgraph(client: Forklore, text: str, photos: list[bytes]) -> list[bytes]:
    def answer(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [AIMessage("Seen.")]}

    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    images = [{**source("base64", "mime_type", one), "type": "image"} for one in photos]
    content: list[Any] = [{"type": "text", "text": text}, *images]
    agent = graph.compile(ForkloreSaver(client))
    thread: Any = {"configurable": {"thread_id": "chat"}}
    messages: list[Any] = agent.invoke({"messages": [HumanMessage(content)]}, thread)["messages"]
    assert messages[-2].content == content
    users = [one for one in messages if isinstance(one, HumanMessage)]
    return [b64(part["base64"]) for one in users for part in one.content[1:]]  # type: ignore[index]


CHATS: dict[str, Chat] = {
    "claude-agent": in_claude,
    "langgraph": in_langgraph,
    "openai-agents": in_openai,
    "pydantic-ai": in_pydantic_ai,
    "strands": in_strands,
}


def source(data: str, media_type: str, content: bytes) -> dict[str, str]:
    """Return bytes as providers of models take them. data, media_type: what these are called."""
    return {"type": "base64", media_type: "image/png", data: base64.b64encode(content).decode()}


def data_url(content: bytes) -> str:
    """Return bytes as an address."""
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def of_url(url: str) -> bytes:
    """Return the bytes of an address."""
    return b64(url.partition(",")[2])


def b64(letters: str) -> bytes:
    """Return the bytes of base64."""
    return base64.b64decode(letters)
