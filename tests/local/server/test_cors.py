"""Only web pages on this machine may call the local server."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from forklore_local.server import cors
from forklore_local.server.asgi import Receive, Response, Scope, Send, send_response
from forklore_local.server.callers import Callers
from forklore_service.api import operations
from tests.deployment.document import of_type, read_document
from tools.harness.local_server import local_server

SENDING = Path(__file__).parents[3] / "clients" / "typescript" / "src" / "sending.ts"
ELSEWHERE = "http://localhost:3000"
"""The origin of a page that another server of this machine serves."""

PREFLIGHT = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "if-match,x-api-key"}


async def behind(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send_response(send, Response(204, [("allow", "PATCH")], b""))


def ask(method: str, origin: str | None, status: int = 204, /, **headers: str) -> httpx.Headers:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(cors.with_cors(behind, Callers()))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            sent = headers | ({} if origin is None else {"Origin": origin})
            return await client.request(method, "/v1/conversations", headers=sent)

    response = asyncio.run(send())
    assert (response.status_code, "allow" in response.headers) == (status, status == 204)
    return response.headers


def told(headers: httpx.Headers) -> set[str]:
    return {name for name in headers if name.startswith("access-control-")}


@pytest.mark.parametrize(
    "origin",
    [
        *("http://localhost:3000", "http://127.0.0.1:5173", "http://[::1]:1", "http://localhost:65535"),
        *("http://localhost", "http://127.0.0.1", "http://[::1]", "https://localhost:3000"),
    ],
)
def test_a_page_of_this_machine_may_call(origin: str) -> None:
    simple, preflight = ask("GET", origin), ask("OPTIONS", origin, **PREFLIGHT)

    assert simple["access-control-allow-origin"] == preflight["access-control-allow-origin"] == origin
    assert simple["access-control-expose-headers"] == ", ".join(cors.EXPOSED)
    assert preflight["access-control-allow-methods"] == ", ".join(cors.METHODS)
    assert {
        "if-match",
        "if-none-match",
        "x-api-key",
        "authorization",
        "idempotency-key",
        "content-type",
    } < set(preflight["access-control-allow-headers"].lower().split(", "))
    assert simple["vary"] == preflight["vary"] == "Origin"


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "*",
        "https://evil.example",
        "http://evil.example:3000",
        "http://localhost.evil.example:3000",
        "http://localhost:3000.evil.example",
        "http://evil.example/http://localhost:3000",
        "http://localhost:3000@evil.example",
        "http://localhost.evil.example",
        "http://localhost:",
        "http://127.0.0.2:80",
        "http://LOCALHOST:3000",
        "http://192.168.0.1:3000",
    ],
)
def test_no_other_page_may(origin: str) -> None:
    for headers in (ask("GET", origin, 403), ask("OPTIONS", origin, 403, **PREFLIGHT)):
        assert told(headers) == set()
        assert headers["vary"] == "Origin"


def test_what_is_sent_by_no_page_is_answered_without_cors() -> None:
    headers = ask("GET", None)

    assert (told(headers), headers["vary"]) == (set(), "Origin")


def test_options_that_is_not_a_preflight_gets_no_cors_methods() -> None:
    assert "access-control-allow-methods" not in ask("OPTIONS", "http://localhost:3000")


def test_the_methods_and_headers_are_those_of_the_deployment() -> None:
    [api] = of_type(read_document(), "AWS::ApiGatewayV2::Api").values()
    [_, deployed, _] = api["CorsConfiguration"]["Fn::If"]

    assert list(cors.METHODS) == deployed["AllowMethods"]
    assert list(cors.HEADERS) == deployed["AllowHeaders"]
    assert list(cors.EXPOSED) == deployed["ExposeHeaders"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with local_server() as address:
        yield address


@pytest.mark.parametrize("method", cors.METHODS)
@pytest.mark.parametrize("origin", [ELSEWHERE, "http://127.0.0.1:5173"])
def test_the_service_lets_a_page_of_this_machine_send_each_method_with_every_header(
    url: str, origin: str, method: str
) -> None:
    asked = {"Access-Control-Request-Method": method}
    asked["Access-Control-Request-Headers"] = ",".join(sorted(map(str.lower, cors.HEADERS)))
    found = httpx.options(f"{url}/v1/conversations", headers={"Origin": origin, **asked})

    assert found.status_code in (200, 204)
    assert found.headers["access-control-allow-origin"] == origin
    assert method in found.headers["access-control-allow-methods"].split(", ")
    allowed = found.headers["access-control-allow-headers"].lower().split(", ")
    assert set(allowed) >= set(map(str.lower, cors.HEADERS))
    assert "access-control-allow-credentials" not in found.headers


def test_a_page_of_this_machine_can_read_answers_and_errors_and_their_headers(url: str) -> None:
    ann = {"Origin": ELSEWHERE, "Authorization": "Bearer ann"}
    path = f"{url}/v1/conversations"
    answers = [httpx.post(path, headers=ann, json={}), httpx.get(path, headers=ann)]
    answers += [httpx.get(path, headers={"Origin": ELSEWHERE}), httpx.get(f"{path}/none", headers=ann)]

    assert [found.status_code for found in answers] == [201, 200, 401, 404]
    for found in answers:
        assert found.headers["access-control-allow-origin"] == ELSEWHERE
        exposed = "Retry-After, X-Request-Id, Forklore-Cost, ETag, Forklore-Ask-Again-Ms"
        assert found.headers["access-control-expose-headers"] == exposed


def test_a_page_of_elsewhere_is_let_do_nothing_by_the_service(url: str) -> None:
    headers = {"Origin": "https://evil.example", **PREFLIGHT}

    assert told(httpx.options(f"{url}/v1/conversations", headers=headers).headers) == set()


def test_what_the_client_of_a_page_sends_and_reads_a_page_of_another_port_may_send_and_read() -> None:
    text = SENDING.read_text(encoding="utf-8")
    [named] = re.findall(r"const named = \{(.*?)\n\t\};", text, re.DOTALL)
    sent = set(re.findall(r'^\t\t"?([\w-]+)"?:', named, re.MULTILINE))
    read = set(re.findall(r'headers\.get\("([\w-]+)"', text)) - {"apigw-requestid"}

    assert {"Authorization", "Idempotency-Key", "If-None-Match"} <= sent <= set(cors.HEADERS)
    assert {"X-Request-Id", "ETag"} <= read <= set(cors.EXPOSED)


def test_the_method_of_every_operation_is_let_through_and_no_other() -> None:
    assert set(cors.METHODS) == {operation.method for operation in operations.ALL}
