"""Clients of a process of the service, on moto's DynamoDB, whose capacity units are counted."""

import json
import uuid
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from moto import mock_aws

from forklore import AsyncForklore, Forklore
from forklore.client.calls import Call, RawAnswer
from forklore_service.domain.model import Caller
from tools.bench.meter import Cost, Meter
from tools.harness.service import Process
from tools.harness.tables import fresh_store


class Metered:
    """A process of the service with a meter.

    other: a process without one, which is faster.
    """

    def __init__(self, process: Process, meter: Meter, other: Process) -> None:
        self._metered, self._other = process, other
        self._meter = meter
        self._process = other

    def client(self) -> Forklore:
        """Return a client of this process."""
        return Forklore._over(_Sync(self), None)

    def async_client(self) -> AsyncForklore:
        """Return a client of this process, for asyncio and trio."""
        return AsyncForklore._over(_Async(self), None)

    def keep_no_attachments(self) -> None:
        """Go on as a deployment with `Attachments: off`."""
        self._metered.table.objects = self._other.table.objects = None

    def answer(self, call: Call) -> RawAnswer:
        given = json.loads(json.dumps(call.given))
        keys = {"idempotency_key": call.idempotency_key, "if_match": call.if_match}
        answer = self._process.ask(call.shape.name, Caller("ann"), **keys, **given)
        return RawAnswer(answer.status, json.dumps(answer.body, default=float))

    async def cost(self, work: Awaitable[object]) -> Cost:
        """Return what some work costs."""
        self._process = self._metered
        self._meter.begin()
        await work
        self._process = self._other
        return self._meter.end()


@dataclass
class _Sync:
    metered: Metered

    def send(self, call: Call, _timeout_s: float) -> RawAnswer:
        return self.metered.answer(call)

    def located(self, url: str) -> str:
        return url

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class _Async:
    metered: Metered

    async def send(self, call: Call, _timeout_s: float) -> RawAnswer:
        return self.metered.answer(call)

    def located(self, url: str) -> str:
        return url

    async def aclose(self) -> None:
        """Nothing is held."""


@contextmanager
def metering() -> Iterator[Metered]:
    """Yield a process on a table of its own. The variables of the bench's ENVIRONMENT are set."""
    with mock_aws(), fresh_store() as table:
        process = Process(table)
        process.ask("getConversation", Caller("nobody"), conversationId=str(uuid.uuid4()))
        yield Metered(process, Meter(table, process.table), Process(table))
