"""The whole service in this process: operations as callers know them, on a table of DynamoDB Local."""

import json
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import uuid4

from forklore.api import operations
from forklore.api.operation import RawRequest, Service
from forklore.api.requests import KEPT_AS_TEXT
from forklore.api.responses import Response
from forklore.aws.answering import response_to
from forklore.domain.jsontext import read_object
from forklore.domain.model import Caller
from forklore.storage.clock import Clock
from forklore.storage.queue import Queue
from forklore.storage.table import Table
from tests.reliability.faults import Choose, Faults, Rewrite
from tests.support.tables import Store, fresh_store

OPERATIONS = {operation.name: operation for operation in operations.ALL}


@dataclass(frozen=True)
class Answer:
    """What a caller is told. body: None for none; numbers with a fraction are Decimal."""

    status: int
    body: Any

    @property
    def id(self) -> str:
        """The id of what was made, which must have worked."""
        assert self.status == 201, self
        made: str = self.body["id"]
        return made


class InOrder(ThreadPoolExecutor):
    """Runs everything at once and in the thread that asks for it: what it does has one order only."""

    def __init__(self) -> None:
        super().__init__(1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 (as an executor hands it on)
            future.set_exception(error)
        return future


class Process:
    """A process of the service, with a client, a clock and a memory of its own.

    faults: what befalls its calls. in_order: whether reads that may overlap are made one after another.
    rewrite: makes of a call's body what is sent in its place. last: what it was told last.
    """

    def __init__(
        self,
        store: Store,
        choose: Choose = lambda _call: None,
        *,
        clock: Clock | None = None,
        in_order: bool = False,
        seconds: float | None = None,
        rewrite: Rewrite | None = None,
        random: Callable[[int], int] = secrets.randbits,
    ) -> None:
        threads = InOrder() if in_order else None
        self.table: Table = store.process(clock=clock, threads=threads, seconds=seconds, random=random)
        self.faults = Faults(self.table, choose, rewrite=rewrite)
        self.last: Answer | None = None

    def ask(
        self,
        name: str,
        caller: Caller,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        **given: Any,
    ) -> Answer:
        """Run an operation. given: the fields of its path, query and body under their names on the wire."""
        operation = OPERATIONS[name]
        path = {field: given.pop(field) for field in operation.path_names}
        query = {
            field: given.pop(field)
            for field in list(given)
            if operation.body is None or field in operation.query_names
        }
        body = read_object(json.dumps(given, default=_number), kept=KEPT_AS_TEXT)
        raw = RawRequest(caller, path, query, body, idempotency_key, f'"{if_match}"' if if_match else None)
        service = Service(self.table, Queue(None, None), delete_wait_s=0)
        try:
            response = Response(*operation(service, raw))
        except Exception as error:  # noqa: BLE001 (as at the edge: anything else is a bug)
            response = response_to(error, "a request")
        shown = json.loads(response.text, parse_float=Decimal) if response.text else None
        self.last = Answer(response.status, shown)
        return self.last


def _number(value: object) -> float:
    assert isinstance(value, Decimal), value
    return float(value)


@contextmanager
def new_store(endpoint: str) -> Iterator[Store]:
    """Yield an empty table of its own at an endpoint."""
    with fresh_store(f"forklore-{uuid4()}", endpoint=endpoint) as store:
        yield store
