"""All stores that are compared, by framework. forklore's adapter is the first of each."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from claude_agent_sdk import InMemorySessionStore
from pydantic_ai.conversation_store import InMemoryConversationStore

from forklore.storage.table import Table
from tools.bench.ecosystem import async_stores, langgraph_stores, strands_stores
from tools.bench.ecosystem.counting import Counter, counting
from tools.bench.ecosystem.stores import Store
from tools.bench.meter import Meter
from tools.harness import tables
from tools.harness.tables import fresh_store

FORKLORE = "forklore"


class Counted(Protocol):
    """The cost of a step."""

    @property
    def requests(self) -> int: ...
    @property
    def read_units(self) -> float: ...
    @property
    def write_units(self) -> float: ...


class Counting(Protocol):
    """Counts requests between `begin` and `end`."""

    def begin(self) -> None: ...
    def end(self) -> Counted: ...


@dataclass(frozen=True)
class Contender:
    """A store that takes part.

    open: returns it as a new process has it, and what counts its requests. The argument says
    whether they are counted. in_dynamodb: other stores take part with their two writers only.
    """

    name: str
    open: Callable[[bool], tuple[Store, Counting]]
    in_dynamodb: bool = True


@contextmanager
def contenders(endpoint: str) -> Iterator[Mapping[str, Sequence[Contender]]]:
    """Yield the stores on a DynamoDB, by framework. Their tables are their own.

    Some packages take the address from AWS_ENDPOINT_URL_DYNAMODB only.
    """
    memory, conversations = InMemorySessionStore(), InMemoryConversationStore()
    with fresh_store(endpoint=endpoint) as store, counting() as counter, TemporaryDirectory() as folder:
        file = str(Path(folder) / "sessions.sqlite")
        _make_table(endpoint, "aws-saver", "PK", "SK")
        _make_table(endpoint, "aws-storage", "pk", "sk")
        _make_table(endpoint, "openai", "session_id")

        def ours(make: Callable[[Table], Store]) -> Contender:
            return Contender(FORKLORE, lambda counted: _opened(store, make, counted))

        def theirs(package: str, make: Callable[[], Store], *, in_dynamodb: bool = True) -> Contender:
            name = f"{package} {version(package.split(maxsplit=1)[0])}"
            return Contender(name, lambda _: (make(), counter), in_dynamodb)

        yield {
            "LangGraph": [
                ours(langgraph_stores.of_forklore),
                theirs("langgraph-checkpoint-aws", lambda: langgraph_stores.of_aws("aws-saver", endpoint)),
                theirs(
                    "langgraph-dynamodb-checkpoint",
                    lambda: langgraph_stores.of_dynamodb_checkpoint("saver"),
                ),
            ],
            "Strands Agents": [
                ours(strands_stores.of_forklore),
                theirs("strands-session-dynamodb", lambda: strands_stores.ManagerStore("strands", endpoint)),
                theirs("strands-dynamodb-storage", lambda: strands_stores.SnapshotStore("aws-storage")),
            ],
            "OpenAI Agents SDK": [
                ours(async_stores.openai_of_forklore),
                theirs(
                    "openai-agents-session", lambda: async_stores.openai_agents_session("openai", endpoint)
                ),
                theirs(
                    "openai-agents (SQLiteSession)",
                    lambda: async_stores.openai_sqlite(file, endpoint),
                    in_dynamodb=False,
                ),
            ],
            "Claude Agent SDK": [
                ours(async_stores.claude_of_forklore),
                theirs(
                    "claude-agent-sdk (InMemorySessionStore)",
                    lambda: async_stores.ClaudeStore(memory),
                    in_dynamodb=False,
                ),
            ],
            "Pydantic AI": [
                ours(async_stores.pydantic_of_forklore),
                theirs(
                    "pydantic-ai-slim (InMemoryConversationStore)",
                    lambda: async_stores.PydanticStore(conversations),
                    in_dynamodb=False,
                ),
            ],
        }


def _opened(store: tables.Store, make: Callable[[Table], Store], counted: bool) -> tuple[Store, Counting]:
    table = store.process(sleep=time.sleep)
    return make(table), Meter(store, table) if counted else Counter()


def _make_table(endpoint: str, name: str, *keys: str) -> None:
    import boto3

    client: Any = boto3.client("dynamodb", endpoint_url=endpoint)
    client.create_table(
        TableName=name,
        KeySchema=[
            {"AttributeName": key, "KeyType": kind}
            for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)
        ],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        BillingMode="PAY_PER_REQUEST",
    )
