"""Clients of forklore whose service runs in this process, on a table of any DynamoDB."""

import uuid
from collections.abc import Mapping
from typing import Any, cast

import anyio.to_thread

from forklore import AsyncForklore, Forklore
from forklore.api.failures import response_to
from forklore.api.inputs import operation_named, raw_request
from forklore.api.operation import Service
from forklore.api.responses import Response
from forklore.client.calls import Call, RawAnswer
from forklore.client.transports.direct import Identity
from forklore.client.transports.in_process import InProcessTransport
from forklore.domain.model import Caller
from forklore.embedded.service import EmbeddedService
from forklore.storage.queue import Queue
from forklore.storage.table import Table

IDENTITY = Identity("ann", "planner")


class TableService:
    """Runs operations on a table, as `EmbeddedService` does on its own store."""

    refusal = None

    def __init__(self, table: Table) -> None:
        self._table = table

    def call(self, operation: str, given: Mapping[str, object] | None, caller: Caller) -> Response:
        """Return the response of an operation."""
        try:
            named = operation_named(operation)
            service = Service(self._table, Queue(None, None), delete_wait_s=0)
            return Response(*named(service, raw_request(named, given, caller=caller)))
        except Exception as error:  # noqa: BLE001 (as in Lambda: anything else is a bug)
            return response_to(error, str(uuid.uuid4()))


class _Threaded:
    """The transport for asyncio: each call runs in a thread."""

    def __init__(self, transport: InProcessTransport) -> None:
        self._transport = transport

    async def send(self, call: Call, timeout_s: float) -> RawAnswer:
        return await anyio.to_thread.run_sync(self._transport.send, call, timeout_s)

    async def aclose(self) -> None:
        self._transport.close()


def client_of(table: Table) -> Forklore:
    """Return a client whose service uses the table."""
    return Forklore._over(_transport(table), IDENTITY)


def async_client_of(table: Table) -> AsyncForklore:
    """Return a client for asyncio whose service uses the table."""
    return AsyncForklore._over(_Threaded(_transport(table)), IDENTITY)


def _transport(table: Table) -> InProcessTransport:
    service: Any = TableService(table)
    return InProcessTransport(cast(EmbeddedService, service), IDENTITY)
