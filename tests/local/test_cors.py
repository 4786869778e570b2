"""Only web pages on this machine may call the local server."""

import asyncio

import httpx
import pytest

from forklore.local import cors
from forklore.local.asgi import Receive, Response, Scope, Send, send_response
from tests.deployment.document import of_type, read_document

PREFLIGHT = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "if-match,x-api-key"}


async def behind(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send_response(send, Response(204, [("allow", "PATCH")], b""))


def ask(method: str, origin: str | None, **headers: str) -> httpx.Headers:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(cors.with_cors(behind))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            sent = headers | ({} if origin is None else {"Origin": origin})
            return await client.request(method, "/v1/conversations", headers=sent)

    response = asyncio.run(send())
    assert (response.status_code, response.headers["allow"]) == (204, "PATCH")
    return response.headers


def told(headers: httpx.Headers) -> set[str]:
    return {name for name in headers if name.startswith("access-control-")}


@pytest.mark.parametrize(
    "origin",
    [
        *("http://localhost:3000", "http://127.0.0.1:5173", "http://[::1]:1", "http://localhost:65535"),
        *("http://localhost", "http://127.0.0.1", "http://[::1]"),
    ],
)
def test_a_page_of_this_machine_may_call(origin: str) -> None:
    simple, preflight = ask("GET", origin), ask("OPTIONS", origin, **PREFLIGHT)

    assert simple["access-control-allow-origin"] == preflight["access-control-allow-origin"] == origin
    assert simple["access-control-expose-headers"] == "Retry-After, X-Request-Id"
    assert preflight["access-control-allow-methods"] == "GET, POST, PATCH, DELETE"
    assert {"if-match", "x-api-key", "authorization", "idempotency-key", "content-type"} < set(
        preflight["access-control-allow-headers"].lower().split(", ")
    )
    assert simple["vary"] == preflight["vary"] == "Origin"


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "*",
        "https://evil.example",
        "http://evil.example:3000",
        "http://localhost.evil.example:3000",
        "http://localhost:3000.evil.example",
        "http://evil.example/http://localhost:3000",
        "http://localhost:3000@evil.example",
        "https://localhost:3000",
        "https://localhost",
        "http://localhost.evil.example",
        "http://localhost:",
        "http://127.0.0.2:80",
        "http://LOCALHOST:3000",
        "http://192.168.0.1:3000",
    ],
)
def test_no_other_page_may(origin: str | None) -> None:
    for headers in (ask("GET", origin), ask("OPTIONS", origin, **PREFLIGHT)):
        assert told(headers) == set()
        assert headers["vary"] == "Origin"


def test_options_that_is_not_a_preflight_gets_no_cors_methods() -> None:
    assert "access-control-allow-methods" not in ask("OPTIONS", "http://localhost:3000")


def test_the_methods_and_headers_are_those_of_the_deployment() -> None:
    [api] = of_type(read_document(), "AWS::ApiGatewayV2::Api").values()
    [_, deployed, _] = api["CorsConfiguration"]["Fn::If"]

    assert list(cors.METHODS) == deployed["AllowMethods"]
    assert list(cors.HEADERS) == deployed["AllowHeaders"]
    assert list(cors.EXPOSED) == deployed["ExposeHeaders"]
