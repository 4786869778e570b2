"""Savers of LangGraph. A message is a checkpoint whose channel `messages` has one more."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint

from forklore.adapters.langgraph import ForkloreSaver
from forklore.storage.table import Table
from tools.bench.ecosystem.clients import client_of
from tools.bench.ecosystem.stores import Store

STEPS = 60
"""How many of the last messages have a checkpoint of their own when a thread is filled.

forklore reads the last 50 entries and stores all channels with each 16th.
"""


class SaverStore(Store):
    """A saver."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        self._saver = saver
        self._held: dict[str, tuple[RunnableConfig, list[BaseMessage]]] = {}

    def load(self, session: str) -> list[str]:
        config: RunnableConfig = {"configurable": {"thread_id": session, "checkpoint_ns": ""}}
        found = self._saver.get_tuple(config)
        messages = list(found.checkpoint["channel_values"]["messages"]) if found else []
        self._held[session] = (found.config if found else config, messages)
        return [str(message.content) for message in messages]

    def append(self, session: str, texts: Sequence[str]) -> None:
        config, messages = self._held[session]
        for text in texts:
            messages = [*messages, (HumanMessage, AIMessage)[len(messages) % 2](text)]
        version = f"{len(messages):08}"
        checkpoint = {
            **empty_checkpoint(),
            "channel_values": {"messages": messages},
            "channel_versions": {"messages": version},
        }
        metadata: Any = {"source": "loop", "step": len(messages), "parents": {}}
        config = self._saver.put(config, checkpoint, metadata, {"messages": version})  # type: ignore[arg-type]
        self._held[session] = (config, messages)

    def fill(self, session: str, texts: Sequence[str]) -> None:
        self.load(session)
        first = max(0, len(texts) - STEPS)
        if first:
            self.append(session, texts[:first])
        for text in texts[first:]:
            self.append(session, [text])

    def fork(self, session: str, made: str) -> None:
        self._saver.copy_thread(session, made)


def of_forklore(table: Table) -> Store:
    return SaverStore(ForkloreSaver(client_of(table)))


def of_aws(name: str, endpoint: str) -> Store:
    from langgraph_checkpoint_aws import DynamoDBSaver

    return SaverStore(DynamoDBSaver(name, region_name="us-east-1", endpoint_url=endpoint))


def of_dynamodb_checkpoint(name: str) -> Store:
    from langgraph_dynamodb_checkpoint import DynamoDBSaver

    return SaverStore(DynamoDBSaver(name))
