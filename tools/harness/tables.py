"""The real Table on a DynamoDB endpoint, or on an engine in this process.

Every Table that a Store opens stands for a process of its own: it has its own client, its own clock
and its own cache.
"""

import functools
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config
from botocore.session import Session

from forklore_local.embedded.database import Database
from forklore_local.embedded.engine import Engine
from forklore_local.in_process.opened import open_database
from forklore_local.in_process.outbox import note
from forklore_local.server.files import ServedObjects
from forklore_service.storage import schema
from forklore_service.storage.clients import CONNECTIONS_MAX, make_client, make_session
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import Connection, Deadline
from forklore_service.storage.table import Table
from tools.harness.tapped import TappedClient
from tools.harness.wire import Threads

NAME = "forklore"
DEFINITION = schema.TABLE

_THREADS = Threads(16, thread_name_prefix="side-by-side")
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Store:
    """The table from outside. endpoint: of a DynamoDB. database: of an engine; then no endpoint.

    objects: the bytes of its attachments.
    """

    client: Any
    name: str
    endpoint: str | None = None
    database: Database | None = field(default=None, kw_only=True)
    objects: ServedObjects = field(default_factory=ServedObjects, kw_only=True)

    def new_client(self) -> Any:
        """Return a client of its own, as another process has one."""
        if self.database is not None:
            return TappedClient(Engine(self.database, name=self.name, told=note))
        return _new_client(self.endpoint)

    def process(
        self,
        *,
        clock: Clock | None = None,
        sleep: Callable[[float], None] = lambda _seconds: None,
        random: Callable[[int], int] = secrets.randbits,
        seconds: float | None = None,
        threads: ThreadPoolExecutor | None = None,
    ) -> Table:
        """Return the table as another process sees it. seconds: what is left of its request."""
        return Table(
            Connection(self.new_client(), self.name, clock or Clock(), sleep=sleep),
            deadline=None if seconds is None else Deadline.after(seconds),
            random=random,
            threads=threads or _THREADS,
            objects=self.objects,
        )


def _new_client(endpoint: str | None) -> Any:
    """Return a client of its own. What all of them have in common takes longer to make."""
    with _ONE_AT_A_TIME:
        return make_client(endpoint, session=_session())


@functools.cache
def _session() -> Session:
    return make_session()


@functools.cache
def outside(endpoint: str | None) -> Any:
    """Return a client that no Wire taps. It retries and waits longer than forklore's own client."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 4},
        read_timeout=60,
        max_pool_connections=CONNECTIONS_MAX,
        parameter_validation=False,
        user_agent="forklore",  # botocore's own is put together anew for each call
    )
    return boto3.Session().client("dynamodb", endpoint_url=endpoint, config=config)


@contextmanager
def fresh_store(name: str = NAME, *, endpoint: str | None = None) -> Iterator[Store]:
    """Yield an empty table, deleted afterwards with its files. endpoint: as of a Store."""
    with closing(ServedObjects()) as objects:
        if endpoint is None:
            with closing(open_database(None)) as database:
                client = TappedClient(Engine(database, name=name, told=note))
                yield Store(client, name, database=database, objects=objects)
            return
        outer = outside(endpoint)
        outer.create_table(TableName=name, **DEFINITION)
        try:
            yield Store(outer, name, endpoint, objects=objects)
        finally:
            outer.delete_table(TableName=name)
