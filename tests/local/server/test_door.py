"""A request that is asked of the service itself is answered as through API Gateway's event."""

import asyncio
import json
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from forklore_local.server import gateway, invocation
from forklore_local.server.commits import Commits
from forklore_local.server.functions import http_apis, http_functions
from forklore_local.server.gateway import SHORT, SMALL_BYTES, Gateway
from forklore_local.server.identity import read_authorizer
from forklore_local.server.payload import build_event
from forklore_service.aws.wiring import open_table
from forklore_service.storage.connection import Connection
from tools.harness.gateway import store_in_memory

ANN = {"Authorization": "Bearer ann", "X-Request-Id": "asked"}
JSON = {"Content-Type": "application/json"}
KNOWN = "11111111-1111-4111-8111-111111111111"
ENTRIES = f"/v1/conversations/{KNOWN}/entries"
ENTRY = {"contentType": "history", "content": [{"role": "USER", "text": "Grüße, \u2028 \U0001f600 \x7f"}]}


@pytest.fixture
def doors() -> Iterator[list[Gateway]]:
    """The same service, asked with an event and without."""
    with store_in_memory():
        functions, authorize = http_functions(), read_authorizer({})
        yield [Gateway(functions, authorize=authorize, apis=apis) for apis in ({}, http_apis(functions))]


def ask(gateway: Gateway, method: str, path: str, **options: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(gateway)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **options)

    return asyncio.run(send())


def shown(response: httpx.Response) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return all that an answer shows, but for the gateway's own id of the request."""
    headers = [pair for pair in response.headers.multi_items() if pair[0] != "apigw-requestid"]
    return response.status_code, headers, response.content


@pytest.mark.parametrize(
    ("method", "path", "headers", "body"),
    [
        ("GET", "/v1/health", {}, b""),
        ("GET", ENTRIES, ANN, b""),
        ("GET", f"{ENTRIES}?tail=true&limit=1", ANN, b""),
        ("GET", f"{ENTRIES}?limit=1&limit=2", ANN, b""),
        ("GET", f"{ENTRIES}?limit=%FF&%zz", ANN, b""),
        ("GET", f"{ENTRIES}/nothing%2Fof%3Fit", ANN, b""),
        ("GET", f"/v1/conversations/{KNOWN}", {**ANN, "Forklore-Cost": "1"}, b""),
        ("GET", f"/v1/conversations/{KNOWN}", {"X-Request-Id": "asked"}, b""),
        ("GET", "/v1/conversations/%C3%A9", ANN, b""),
        ("OPTIONS", ENTRIES, {"X-Request-Id": "asked"}, b""),
        ("PATCH", ENTRIES, ANN, b"{}"),
        ("TRACE", "/v1/nowhere", {"X-Request-Id": "asked"}, b""),
        ("POST", ENTRIES, ANN, b"{}"),
        ("POST", ENTRIES, {**ANN, "Content-Type": "text/html"}, b"<p>"),
        ("POST", ENTRIES, {**ANN, "Content-Type": "image/png"}, b"\xff\x00"),
        ("POST", ENTRIES, {**ANN, **JSON}, b'{"content": "\xff"}'),
        ("POST", ENTRIES, {**ANN, **JSON}, b'{"content": "\\ud800"}'),
        ("POST", ENTRIES, {**ANN, **JSON}, b" \n "),
        ("POST", ENTRIES, {**ANN, **JSON}, b'"' + b"x" * 700_000),
        ("POST", ENTRIES, [*ANN.items(), *JSON.items(), ("If-Match", '"a"'), ("If-Match", '"b"')], b"{}"),
        ("GET", ENTRIES, [*ANN.items(), ("Authorization", "Bearer bob")], b""),
        ("GET", ENTRIES, [*ANN.items(), ("X-Request-Id", "grün".encode())], b""),
    ],
)
def test_an_answer_is_the_same_byte_by_byte(
    doors: list[Gateway], method: str, path: str, headers: Any, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ask(doors[1], "POST", ENTRIES, headers={**ANN, **JSON}, content=json.dumps(ENTRY).encode())
    assert made.status_code == 201
    monkeypatch.setattr(uuid, "uuid4", lambda: "lambda's own")

    [one, other] = [shown(ask(door, method, path, headers=headers, content=body)) for door in doors]

    assert one == other


def test_what_is_not_changed_is_answered_alike(doors: list[Gateway]) -> None:
    ask(doors[0], "POST", ENTRIES, headers={**ANN, **JSON}, content=json.dumps(ENTRY).encode())
    tag = ask(doors[0], "GET", ENTRIES, headers=ANN).headers["etag"]

    [one, other] = [shown(ask(door, "GET", ENTRIES, headers={**ANN, "If-None-Match": tag})) for door in doors]

    assert (one[0], one) == (304, other)


@pytest.mark.parametrize(("door", "size", "number"), [(0, 1, 1), (1, 1, 0), (1, SMALL_BYTES, 1)])
def test_a_usual_request_makes_no_event(
    doors: list[Gateway], monkeypatch: pytest.MonkeyPatch, door: int, size: int, number: int
) -> None:
    made: list[object] = []

    def note(*given: Any, **named: Any) -> Any:
        made.append(given)
        return build_event(*given, **named)

    monkeypatch.setattr(gateway, "build_event", note)
    body = json.dumps(ENTRY).encode() + b" " * size

    answer = ask(doors[door], "POST", ENTRIES, headers={**ANN, **JSON}, content=body)

    assert (answer.status_code, len(made)) == (201, number)


def test_the_short_reads_are_operations() -> None:
    assert {route.key for function in http_functions() for route in function.routes} >= SHORT


@pytest.mark.parametrize(
    ("query", "limit", "is_short"),
    [
        ("?tail=true&limit=50", "", True),
        ("", "0", True),
        ("?limit=51", "0", False),
        ("?wait=0", "0", False),
        ("?view=line", "0", False),
        ("", "20", False),  # the count is written, and may wait for another process
    ],
)
def test_a_short_read_takes_no_thread(
    monkeypatch: pytest.MonkeyPatch, query: str, limit: str, is_short: bool
) -> None:
    asked: list[bool] = []
    call = Connection.call

    def note(*given: Any, **named: Any) -> Any:
        if given[1] == "batch_get_item":
            asked.append(threading.current_thread() is threading.main_thread())
        return call(*given, **named)

    with store_in_memory():
        gateway = local_gateway()
        ask(gateway, "POST", ENTRIES, headers={**ANN, **JSON}, content=json.dumps(ENTRY).encode())
        monkeypatch.setattr(Connection, "call", note)
        monkeypatch.setenv("FORKLORE_USER_REQUESTS_PER_MINUTE", limit)
        assert ask(gateway, "GET", ENTRIES + query, headers=ANN).status_code == 200

    assert asked[0] is is_short


def test_a_short_read_that_would_sleep_goes_to_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    with store_in_memory():
        gateway = local_gateway()
        ask(gateway, "POST", ENTRIES, headers={**ANN, **JSON}, content=json.dumps(ENTRY).encode())
        connection = open_table().connection
        monkeypatch.setattr(connection, "_sleep", invocation.sleep)
        read = connection.client.batch_get_item

        def busy(**given: Any) -> Any:
            """Answer nothing in the thread of the event loop: who asks again sleeps before."""
            asked.append(threading.current_thread() is threading.main_thread())
            answer = read(**given)
            if not asked[-1]:
                return answer
            unread = {name: {"Keys": items["Keys"]} for name, items in given["RequestItems"].items()}
            return {**answer, "Responses": {}, "UnprocessedKeys": unread}

        monkeypatch.setattr(connection.client, "batch_get_item", busy)
        response = ask(gateway, "GET", ENTRIES, headers=ANN)

    assert (len(response.json()["data"]), asked[0], any(asked[1:])) == (1, True, False)


def local_gateway() -> Gateway:
    """Return the gateway of a store of this process."""
    functions = http_functions()
    commits = Commits(lambda: None)
    return Gateway(functions, authorize=read_authorizer({}), apis=http_apis(functions), commits=commits)
