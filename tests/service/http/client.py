"""The tests' client of forklore's HTTP API. It checks every answer against the documentation."""

import itertools
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx
import pydantic

from forklore_service.api import answer_models, operations
from forklore_service.api.operation import Operation
from forklore_service.errors import PHRASES
from tests.service.model.asking import Caller

SECONDS_MAX = 60.0
JSON_TYPE = "application/json"
OPERATIONS = {operation.name: operation for operation in operations.ROUTES}

Json = Any


@dataclass(frozen=True)
class Answer:
    """A status, and a body whose numbers with decimals are Decimals."""

    status: int
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)


class Service:
    """forklore at an address. Safe to use from several threads.

    keys: the API key of each client. tokens: the bearer token of each user. A user without a token
    uses the user id as the token, as on the local server.
    """

    def __init__(
        self,
        url: str,
        *,
        keys: Mapping[str, str],
        tokens: Mapping[str, str] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url
        self._keys = keys
        self._tokens = tokens or {}
        self._users = itertools.cycle(self._tokens)
        self._http = httpx.Client(base_url=url, timeout=SECONDS_MAX, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._http.close()

    def new_user(self) -> str:
        """Return a user without any data. If tokens are given, return the next user who has one."""
        return next(self._users) if self._tokens else f"user-{uuid.uuid4().hex[:12]}"

    def ask(
        self,
        caller: Caller | None,
        name: str,
        conversation_id: str | None = None,
        *,
        path: Mapping[str, str] | None = None,
        body: Json = None,
        query: Mapping[str, Json] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Run the operation `name`.

        path: path parameters other than the conversation. path and query use the API's names.
        Raises AssertionError if the answer is not one that the operation documents.
        """
        operation = OPERATIONS[name]
        sent = {**self._credentials(caller), **(headers or {})}
        named = {"conversationId": conversation_id or "", **(path or {})}
        response = self._http.request(
            operation.method,
            operation.path.format(**{name: quote(value, safe="") for name, value in named.items()}),
            params={name: _as_text(value) for name, value in (query or {}).items()},
            headers=sent if body is None else {"Content-Type": JSON_TYPE, **sent},
            content=None if body is None else json.dumps(body, default=float, ensure_ascii=False).encode(),
        )
        check(operation, response, request_id=sent.get("X-Request-Id"))
        shown = json.loads(response.text, parse_float=Decimal) if response.content else None
        return Answer(response.status_code, shown, response.headers)

    def bytes_at(self, link: str) -> bytes:
        """Return the bytes at a link, which needs no credentials, and gives parts."""
        whole = self._http.get(link)
        part = self._http.get(link, headers={"Range": "bytes=1-"})
        known = self._http.get(link, headers={"If-None-Match": whole.headers.get("etag", "")})
        assert [whole.status_code, part.status_code, known.status_code] == [200, 206, 304], link
        assert (part.content, known.content) == (whole.content[1:], b""), link
        return whole.content

    def get(self, *arguments: Any, **options: Any) -> Json:
        """Return the body of a request that must succeed. The arguments are those of `ask`."""
        answer = self.ask(*arguments, **options)
        assert answer.status < 300, (arguments, options, answer)
        return answer.body

    def entries(self, caller: Caller, conversation_id: str, **query: Json) -> list[Json]:
        """Return every entry of a query. Reads page by page: forward, or backward with `tail`."""
        pages = list(self.pages(caller, conversation_id, **query))
        return [entry for page in (pages[::-1] if query.get("tail") else pages) for entry in page]

    def pages(self, caller: Caller, conversation_id: str, **query: Json) -> Iterator[list[Json]]:
        """Yield the pages until the cursor for the next one is null."""
        cursor = "beforeCursor" if query.pop("tail", False) else "afterCursor"
        following: dict[str, Json] = {"tail": True} if cursor == "beforeCursor" else {}
        while True:
            page = self.get(caller, "listEntries", conversation_id, query=query | following)
            yield page["data"]
            if page[cursor] is None:
                return
            following = {cursor: page[cursor]}

    def _credentials(self, caller: Caller | None) -> dict[str, str]:
        if caller is None:
            return {}
        credentials = {"Authorization": f"Bearer {self._tokens.get(caller.user, caller.user)}"}
        return credentials | ({"X-API-Key": self._keys[caller.client]} if caller.client else {})


def check(operation: Operation, response: httpx.Response, *, request_id: str | None = None) -> None:
    """Assert that the operation documents the response, with all its fields.

    request_id: the id that the request was sent with.
    """
    request, status = response.request, response.status_code
    what = f"{request.method} {request.url} {request.content!r}: {status} {response.text}"
    foreseen = (HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.SERVICE_UNAVAILABLE)
    assert status < 500 or status in foreseen, f"a bug: {what}"
    assert response.headers.get("X-Request-Id"), f"no X-Request-Id: {what}"
    assert request_id in (None, response.headers["X-Request-Id"]), f"another request id: {what}"
    assert status in _statuses(operation), f"not documented: {what}"
    is_success = status in (operation.status, *operation.also)
    model = _model(operation, response) if is_success else answer_models.Error
    if model is None:
        assert not response.content, f"a body: {what}"
        return
    assert response.headers["Content-Type"].partition(";")[0] == JSON_TYPE, f"not JSON: {what}"
    try:
        model.model_validate_json(response.content, strict=True)
    except pydantic.ValidationError as error:
        raise AssertionError(f"not as documented: {error} in {what}") from error
    if model is answer_models.Error:
        _check_error(response, what)


def _statuses(operation: Operation) -> set[int]:
    """Return the statuses that the operation may answer."""
    statuses = {operation.status, *operation.also, 400, 503, *operation.errors}
    statuses |= set() if operation.is_public else {401}
    statuses |= {413, 415} if operation.body else set()
    return statuses | ({422} if operation.takes_idempotency_key else set())


def _model(operation: Operation, response: httpx.Response) -> type[pydantic.BaseModel] | None:
    """Return the model of a successful answer. A batch of entries has another one, with `data`."""
    if operation.name != "appendEntry":
        return operation.result
    is_batch = "entries" in json.loads(response.request.content)
    return answer_models.Entries if is_batch else answer_models.AppendedEntry


def _check_error(response: httpx.Response, what: str) -> None:
    error = response.json()
    assert error["requestId"] == response.headers["X-Request-Id"], what
    assert error["error"] == PHRASES[response.status_code], what
    if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        assert re.fullmatch("[1-9][0-9]*", response.headers.get("Retry-After", "")), f"no Retry-After: {what}"


def _as_text(value: Json) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)
