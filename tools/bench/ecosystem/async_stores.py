"""Stores of the frameworks for asyncio: OpenAI Agents SDK, Claude Agent SDK, Pydantic AI."""

import asyncio
import uuid
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from agents import SQLiteSession
from agents.memory.session import SessionABC
from claude_agent_sdk import SessionKey, SessionStore
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationStore
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from forklore.adapters.claude_agent import ForkloreSessionStore
from forklore.adapters.openai_agents import ForkloreSession
from forklore.adapters.pydantic_ai import ForkloreConversationStore
from forklore.storage.table import Table
from tools.bench.ecosystem.clients import async_client_of, client_of
from tools.bench.ecosystem.stores import Store, message_of

T = TypeVar("T")


class AsyncStore(Store):
    """A store with an event loop of its own, which ends with it."""

    def __init__(self) -> None:
        self._loop = asyncio.Runner()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)

    def close(self) -> None:
        self._loop.close()


class OpenAIStore(AsyncStore):
    """Sessions of the OpenAI Agents SDK. make: returns the session of an id."""

    def __init__(self, make: Any) -> None:
        super().__init__()
        self._make = make
        self._sessions: dict[str, SessionABC] = {}

    def prepare(self, session: str) -> None:
        self._sessions[session] = self._make(session)

    def _session(self, session: str) -> SessionABC:
        if session not in self._sessions:
            self.prepare(session)
        return self._sessions[session]

    def load(self, session: str) -> list[str]:
        items: list[Any] = self.run(self._session(session).get_items())
        return [item["content"] for item in items]

    def append(self, session: str, texts: Sequence[str]) -> None:
        items: list[Any] = [message_of(number, text) for number, text in enumerate(texts)]
        self.run(self._session(session).add_items(items))

    def fork(self, session: str, made: str) -> None:
        source = self._session(session)
        if not isinstance(source, ForkloreSession):
            raise NotImplementedError
        self.run(source.fork(made))


class InThreads:
    """A client of boto3 with the three calls that `openai-agents-session` makes of aiobotocore's.

    The requests are the same.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    async def get_item(self, **given: Any) -> Any:
        return await asyncio.to_thread(self._client.get_item, **given)

    async def put_item(self, **given: Any) -> Any:
        return await asyncio.to_thread(self._client.put_item, **given)

    async def delete_item(self, **given: Any) -> Any:
        return await asyncio.to_thread(self._client.delete_item, **given)


class ClaudeStore(AsyncStore):
    """A session store of the Claude Agent SDK."""

    def __init__(self, store: SessionStore) -> None:
        super().__init__()
        self._store = store

    def load(self, session: str) -> list[str]:
        lines: Any = self.run(self._store.load(_key(session))) or []
        return [line["message"]["content"] for line in lines]

    def append(self, session: str, texts: Sequence[str]) -> None:
        lines: list[Any] = []
        for number, text in enumerate(texts):
            said = message_of(number, text)
            lines.append({"type": said["role"], "uuid": str(uuid.uuid4()), "message": said})
        self.run(self._store.append(_key(session), lines))

    def fork(self, session: str, made: str) -> None:  # noqa: ARG002 (the store chooses the id)
        if not isinstance(self._store, ForkloreSessionStore):
            raise NotImplementedError
        self.run(self._store.fork(_key(session)))


def _key(session: str) -> SessionKey:
    return SessionKey(project_key="bench", session_id=str(uuid.uuid5(uuid.NAMESPACE_URL, session)))


class PydanticStore(AsyncStore):
    """A conversation store of Pydantic AI."""

    def __init__(self, store: ConversationStore) -> None:
        super().__init__()
        self._store = store
        self._held: dict[str, Conversation] = {}

    def load(self, session: str) -> list[str]:
        found = self.run(self._store.load(session))
        self._held[session] = found or Conversation(conversation_id=session, messages=[])
        return [str(part.content) for one in self._held[session].messages for part in one.parts]  # type: ignore[union-attr]

    def append(self, session: str, texts: Sequence[str]) -> None:
        held = self._held[session]
        for text in texts:
            held.messages.append(_said(len(held.messages), text))
        self.run(self._store.save(held))

    def fork(self, session: str, made: str) -> None:
        self.run(self._store.fork(session, new_conversation_id=made))


def _said(number: int, text: str) -> ModelMessage:
    if number % 2 == 0:
        return ModelRequest(parts=[UserPromptPart(content=text)])
    return ModelResponse(parts=[TextPart(content=text)])


def openai_of_forklore(table: Table) -> Store:
    client = client_of(table)
    return OpenAIStore(lambda session: ForkloreSession(session, client))


def openai_agents_session(name: str, endpoint: str) -> Store:
    import boto3
    from openai_agents_session import DynamoDBSession

    client: Any = InThreads(boto3.client("dynamodb", region_name="us-east-1", endpoint_url=endpoint))
    return OpenAIStore(lambda session: DynamoDBSession(session, client, name))


def openai_sqlite(name: str, _endpoint: str) -> Store:
    return OpenAIStore(lambda session: SQLiteSession(session, name))


def claude_of_forklore(table: Table) -> Store:
    return ClaudeStore(ForkloreSessionStore(async_client_of(table)))


def pydantic_of_forklore(table: Table) -> Store:
    return PydanticStore(ForkloreConversationStore(async_client_of(table)))
