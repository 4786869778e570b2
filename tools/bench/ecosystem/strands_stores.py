"""Repositories and snapshots of Strands Agents."""

import asyncio
from collections.abc import Sequence
from typing import Any

from strands import Agent
from strands.session import SnapshotSessionManager
from strands.session.session_repository import SessionRepository
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from forklore.adapters.strands import ForkloreSessionRepository
from forklore.storage.table import Table
from tools.bench.ecosystem.clients import client_of
from tools.bench.ecosystem.stores import Store, message_of

AGENT = "guide"


class RepositoryStore(Store):
    """A repository: each message is stored by itself, with a number that the process counts."""

    def __init__(self, repository: SessionRepository | None = None) -> None:
        self._repository = repository
        self._next: dict[str, int] = {}

    def repository(self, session: str) -> SessionRepository:  # noqa: ARG002
        assert self._repository is not None
        return self._repository

    def load(self, session: str) -> list[str]:
        found = self.repository(session).list_messages(session, AGENT)
        self._next[session] = len(found)
        return [one.to_message()["content"][0]["text"] for one in found]

    def append(self, session: str, texts: Sequence[str]) -> None:
        for text in texts:
            number = self._next[session]
            said: Any = {**message_of(number, text), "content": [{"text": text}]}
            self.repository(session).create_message(session, AGENT, SessionMessage.from_message(said, number))
            self._next[session] = number + 1

    def fill(self, session: str, texts: Sequence[str]) -> None:
        repository = self.repository(session)
        if repository.read_session(session) is None:
            repository.create_session(Session(session_id=session, session_type=SessionType.AGENT))
        repository.create_agent(session, SessionAgent(AGENT, state={}, conversation_manager_state={}))
        self._next[session] = 0
        self.append(session, texts)


class ForkloreStore(RepositoryStore):
    """The adapter."""

    def fork(self, session: str, made: str) -> None:
        repository = self.repository(session)
        assert isinstance(repository, ForkloreSessionRepository)
        repository.fork_session(session, made)


class ManagerStore(RepositoryStore):
    """`strands-session-dynamodb`. Its manager of one session is its repository as well."""

    def __init__(self, name: str, endpoint: str) -> None:
        super().__init__()
        self._place = {"table_name": name, "endpoint_url": endpoint, "region_name": "us-east-1"}
        self._managers: dict[str, SessionRepository] = {}

    def prepare(self, session: str) -> None:
        self.repository(session)

    def repository(self, session: str) -> SessionRepository:
        from strands_session_dynamodb import DynamoDBSessionManager

        if session not in self._managers:
            self._managers[session] = DynamoDBSessionManager(session, **self._place)
        return self._managers[session]


class SnapshotStore(Store):
    """`strands-dynamodb-storage` under the SDK's `SnapshotSessionManager`: an agent is one blob."""

    def __init__(self, name: str) -> None:
        from strands_dynamodb_storage import DynamoDBStorage

        self._storage = DynamoDBStorage(name, region_name="us-east-1")
        self._agents: dict[str, tuple[Agent, SnapshotSessionManager]] = {}
        self._loop = asyncio.Runner()

    def prepare(self, session: str) -> None:
        manager = SnapshotSessionManager(session, storage=self._storage)
        self._agents[session] = (Agent(agent_id=AGENT, callback_handler=None), manager)

    def load(self, session: str) -> list[str]:
        if session not in self._agents:
            self.prepare(session)
        agent, manager = self._agents[session]
        self._loop.run(manager.restore_snapshot(agent))
        return [message["content"][0]["text"] for message in agent.messages]

    def append(self, session: str, texts: Sequence[str]) -> None:
        agent, manager = self._agents[session]
        for text in texts:
            said: Any = {**message_of(len(agent.messages), text), "content": [{"text": text}]}
            agent.messages.append(said)
        self._loop.run(manager.save_snapshot(agent, is_latest=True))

    def fill(self, session: str, texts: Sequence[str]) -> None:
        self.load(session)
        self.append(session, texts)  # the blob is the same whatever was saved before

    def close(self) -> None:
        self._loop.close()


def of_forklore(table: Table) -> Store:
    return ForkloreStore(ForkloreSessionRepository(client_of(table)))
