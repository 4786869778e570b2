"""The whole service in this process: operations as callers know them, on a table."""

import json
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from forklore_service.api import operations
from forklore_service.api.operation import Service
from forklore_service.api.requests import KEPT_AS_TEXT
from forklore_service.api.responses import response_to
from forklore_service.domain.jsontext import read_object
from forklore_service.domain.model import Caller
from forklore_service.storage.clock import Clock
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from tools.harness.tables import Store

OPERATIONS = {operation.name: operation for operation in operations.ALL}
OF_A_CONVERSATION = [
    one
    for one in operations.ALL
    if one.method == "GET"
    and one.path_names == ["conversationId"]
    and not any(field.is_required() for field in one.query.model_fields.values())
]
"""The operations that read something of a conversation, and need nothing but its id."""
WITHOUT_FIELDS = [
    one
    for one in operations.ALL
    if not one.is_read and one.path_names == ["conversationId"] and one.body is None and not one.query_names
]
"""The operations that write, and take nothing but the id of a conversation."""


@dataclass(frozen=True)
class Answer:
    """An answer to a caller. body: None if there is none; numbers with a fraction are Decimal."""

    status: int
    body: Any

    @property
    def id(self) -> str:
        """The id of the new conversation or transfer. The request must have succeeded."""
        assert self.status == 201, self
        made: str = self.body["id"]
        return made


class Process:
    """A process of the service, with a client, a clock and a cache of its own.

    seconds: what is left of its request; None: no limit. threads: run reads side by side.
    last: the latest answer.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        seconds: float | None = None,
        threads: ThreadPoolExecutor | None = None,
        random: Callable[[int], int] = secrets.randbits,
    ) -> None:
        self.table: Table = store.process(clock=clock, threads=threads, seconds=seconds, random=random)
        self.last: Answer | None = None
        self.deleted_days = 0

    def ask(
        self,
        name: str,
        caller: Caller,
        /,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        **given: Any,
    ) -> Answer:
        """Run an operation.

        given: the fields of its path, query and body, by their names in the API.
        """
        operation = OPERATIONS[name]
        path = {field: given.pop(field) for field in operation.path_names}
        query = {
            field: given.pop(field)
            for field in list(given)
            if operation.body is None or field in operation.query_names
        }
        body = read_object(json.dumps(given, default=_number), kept=KEPT_AS_TEXT)
        service = Service(self.table, Queue(None, None), delete_wait_s=0, deleted_days=self.deleted_days)
        try:
            response = operation(
                service,
                caller=caller,
                path=path,
                query=query,
                body=body,
                idempotency_key=idempotency_key,
                if_match=f'"{if_match}"' if if_match else None,
            )
        except Exception as error:  # noqa: BLE001 (as in Lambda: anything else is a bug)
            response = response_to(error, "a request")
        shown = json.loads(response.text, parse_float=Decimal) if response.text else None
        self.last = Answer(response.status, shown)
        return self.last


def _number(value: object) -> float:
    assert isinstance(value, Decimal), value
    return float(value)
