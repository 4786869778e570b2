"""The client of these tests accepts only documented answers."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.service.http.client import Answer, Service
from tests.service.model.asking import Caller

ENTRY = {
    "id": str(uuid4()),
    "conversationId": str(uuid4()),
    "parentId": None,
    "userId": "u",
    "channel": "history",
    "contentType": "history",
    "content": [1.5],
    "createdAt": "2026-03-01T09:15:00.000Z",
}
BODY = {"contentType": "history", "content": [1.5]}
ERROR = {"code": "conflict", "error": "Conflict", "requestId": "r1", "details": {"message": "m"}}
HEADERS = {"X-Request-Id": "r1"}


def append(status: int, answer: Any, *, sent: Any = BODY, headers: Mapping[str, str] = HEADERS) -> Answer:
    """Send an append to a service that always gives this answer."""
    transport = httpx.MockTransport(lambda _request: httpx.Response(status, json=answer, headers=headers))
    with Service("http://stage", keys={}, transport=transport) as service:
        return service.ask(Caller("u"), "appendEntry", str(uuid4()), body=sent)


def test_documented_answers_pass() -> None:
    retry = {**HEADERS, "Retry-After": "1"}
    unavailable = {**ERROR, "code": "unavailable", "error": "Service Unavailable"}

    assert append(201, ENTRY).body == ENTRY
    assert append(201, {"data": [ENTRY]}, sent={"entries": [BODY]}).status == 201
    assert append(409, ERROR).body == ERROR
    assert append(503, unavailable, headers=retry).status == 503


@pytest.mark.parametrize(
    ("status", "answer", "headers"),
    [
        (201, ENTRY | {"groupId": "g"}, HEADERS),
        (201, {name: value for name, value in ENTRY.items() if name != "createdAt"}, HEADERS),
        (201, ENTRY | {"createdAt": "2026-03-01T09:15:00Z"}, HEADERS),
        (201, ENTRY | {"epoch": "1"}, HEADERS),
        (201, {"data": [ENTRY]}, HEADERS),
        (201, ENTRY, {}),
        (200, ENTRY, HEADERS),
        (409, ERROR | {"requestId": "r2"}, HEADERS),
        (409, ERROR | {"error": "Not Found"}, HEADERS),
        (409, {"message": "Conflict"}, HEADERS),
        (405, ERROR | {"error": "Method Not Allowed"}, HEADERS),
        (500, ERROR | {"error": "Internal Server Error"}, HEADERS),
        (503, ERROR | {"error": "Service Unavailable"}, HEADERS),
    ],
    ids=[
        "unknown member",
        "missing member",
        "another form of time",
        "text for a number",
        "a batch in answer to one entry",
        "no request id",
        "another success",
        "another request id",
        "another phrase",
        "the gateway's own body",
        "undocumented",
        "a bug",
        "no Retry-After",
    ],
)
def test_any_other_answer_fails(status: int, answer: Any, headers: Mapping[str, str]) -> None:
    with pytest.raises(AssertionError):
        append(status, answer, headers=headers)


def test_one_entry_in_answer_to_a_batch_fails() -> None:
    with pytest.raises(AssertionError):
        append(201, ENTRY, sent={"entries": [BODY]})


def test_a_request_id_that_differs_from_the_one_sent_fails() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={"status": "ok"}, headers=HEADERS))
    with (
        Service("http://stage", keys={}, transport=transport) as service,
        pytest.raises(AssertionError, match="request id"),
    ):
        service.ask(None, "checkHealth", headers={"X-Request-Id": "mine"})
