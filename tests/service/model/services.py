"""The ways in which a history reaches forklore: over HTTP, and in this process."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from random import Random

from forklore_service.domain import model
from forklore_service.domain.model import JobKind
from forklore_service.storage.table import Table
from forklore_service.usecases.background import sweeper
from tests.service.http.client import OPERATIONS
from tests.service.http.client import Service as HttpService
from tests.service.model.asking import Answer, Json, Request
from tests.service.reliability.service import Process
from tests.support.mailbox import Mailbox, run_deletion


@dataclass(frozen=True)
class Bytes:
    """The answer with the bytes of an attachment."""

    status: int
    body: Json

    @classmethod
    def of(cls, content: bytes) -> "Bytes":
        return cls(200, {"content": b64encode(content).decode()})


@dataclass(frozen=True)
class OverHttp:
    """forklore at an address."""

    service: HttpService

    def answer(self, request: Request) -> Answer:
        operation = OPERATIONS[request.name]
        names = {field.alias for field in operation.query.model_fields.values()}
        path = {name: request.given[name] for name in operation.path_names}
        rest = {name: value for name, value in request.given.items() if name not in path}
        query = {name: value for name, value in rest.items() if operation.body is None or name in names}
        body = {name: value for name, value in rest.items() if name not in query}
        headers = {"Idempotency-Key": request.key} if request.key else {}
        headers |= {"If-Match": f'"{request.if_match}"'} if request.if_match else {}
        answer = self.service.ask(
            request.caller,
            request.name,
            path=path,
            body=None if operation.body is None else body,
            query=query,
            headers=headers,
        )
        if answer.status == HTTPStatus.FOUND:
            return Bytes.of(self.service.bytes_at(answer.headers["location"]))
        return answer


@dataclass(frozen=True)
class InProcess:
    """forklore in this process."""

    process: Process

    def answer(self, request: Request) -> Answer:
        if request.name == "getAttachmentContent":
            return self._content(replace(request, name="getAttachment"))
        caller = request.caller
        answer = self.process.ask(
            request.name,
            model.Caller(caller.user, caller.client, caller.roles),
            idempotency_key=request.key,
            if_match=request.if_match,
            **request.given,
        )
        assert answer.status < 500 or answer.status == HTTPStatus.NOT_IMPLEMENTED, f"a bug: {answer}"
        return answer

    def _content(self, request: Request) -> Answer:
        """Return the bytes that are there for who is shown a link."""
        shown = self.answer(request)
        if shown.status != HTTPStatus.OK:
            return shown
        if "url" not in shown.body:
            return Bytes(404, {"code": "not_found"})
        objects = self.process.table.objects
        assert objects is not None
        return Bytes.of(b"".join(objects.read(request.given["attachmentId"])))


class Worker:
    """The worker of deletions: the sweep and a queue. process: the process that it runs in."""

    def __init__(self, process: Process, *, run: Callable[..., bool] = run_deletion) -> None:
        self._table: Table = process.table
        self._mailbox = Mailbox()
        self._run = run

    def work(self, random: Random, *, wait_s: int = 0) -> str | None:
        """Go on with the deletion of one tree, and return its id; None when there is none."""
        sweeper.sweep(self._table, self._mailbox.queue)
        messages = self._mailbox.take()
        for message in messages:
            if message.kind != JobKind.DELETION:
                message.work(self._table, self._mailbox.queue)
        announced = sorted({message.group_id for message in messages if message.kind == JobKind.DELETION})
        if not announced:
            return None
        group_id = random.choice(announced)
        self._run(self._table, self._mailbox.queue, group_id, wait_s=wait_s)
        return group_id
