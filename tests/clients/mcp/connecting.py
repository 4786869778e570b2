"""Clients of the tools: the library's own, over each transport."""

import json
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import forklore
from forklore.mcp.server import make_server
from tools.harness.local_server import environment

Connect = Callable[[], AbstractAsyncContextManager[Client]]
RUN_S = 120


class Refused(Exception):
    """A tool has told that it could not do what it was called for."""


@asynccontextmanager
async def here(fl: forklore.Forklore, *, allows: bool = True, mode: str = "auto") -> AsyncIterator[Client]:
    """Connect to a server in this process."""
    server = make_server(lambda _: fl, may_delete=allows, may_share=allows)
    async with Client(server, mode=mode) as client:
        yield client


@asynccontextmanager
async def over_stdio(*options: str, **variables: str) -> AsyncIterator[Client]:
    """Connect to `forklore mcp`, in a process of its own."""
    kept = {name: value for name, value in environment().items() if not name.startswith("FORKLORE_")}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "forklore.cli", "mcp", *options],
        env={**kept, "XDG_CONFIG_HOME": "/nonexistent", **variables},
    )
    async with Client(stdio_client(parameters)) as client:
        yield client


@asynccontextmanager
async def over_http(url: str, user: str, *, mode: str = "auto") -> AsyncIterator[Client]:
    """Connect to a server that has the tools at /mcp."""
    headers = {"Authorization": f"Bearer {user}", "X-API-Key": "local-key"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


class Gateway(httpx2.AsyncBaseTransport):
    """Stands in for API Gateway: hands each request to a function as an event.

    invoke: returns the function's answer to an event. user: whom the authorizer finds.
    """

    def __init__(self, invoke: Callable[[Any], Any], user: str | None) -> None:
        self._invoke = invoke
        self._user = user

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return what the function answers."""
        answer = await anyio.to_thread.run_sync(self._invoke, self.event(request, await request.aread()))
        return httpx2.Response(answer["statusCode"], headers=answer["headers"], text=answer["body"])

    def event(self, request: httpx2.Request, body: bytes) -> dict[str, Any]:
        """Return the event of a request, in payload format 2.0."""
        http = {"method": request.method, "path": request.url.path}
        found = {} if self._user is None else {"userId": self._user}
        return {
            "version": "2.0",
            "routeKey": "POST /mcp",
            "rawPath": request.url.path,
            "headers": dict(request.headers),
            "requestContext": {"http": http, "authorizer": {"lambda": found}},
            "body": body.decode(),
            "isBase64Encoded": False,
        }


@asynccontextmanager
async def by_events(invoke: Callable[[Any], Any], user: str, *, mode: str = "auto") -> AsyncIterator[Client]:
    """Connect to a function that has the tools."""
    headers = {"Authorization": f"Bearer {user}", "X-API-Key": "local-key"}
    gateway = Gateway(invoke, user)
    async with (
        httpx2.AsyncClient(headers=headers, transport=gateway) as http,
        Client(streamable_http_client("https://api.example/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


async def call(client: Client, tool: str, **given: Any) -> dict[str, Any]:
    """Call a tool; return what it answers. Raises Refused with what it tells in place of that."""
    answer = await client.call_tool(tool, given)
    [block] = answer.content
    text: str = block.text  # type: ignore[union-attr]
    if answer.is_error:
        raise Refused(text)
    assert json.loads(text) == answer.structured_content
    assert "\n" not in text
    assert json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) == text
    return dict(answer.structured_content or {})


def once() -> str:
    """Return the id of a new call."""
    return uuid.uuid4().hex


def run(story: Callable[[Client], Awaitable[Any]], connected: AbstractAsyncContextManager[Client]) -> Any:
    """Return what a story returns that a client plays."""

    async def play() -> Any:
        with anyio.fail_after(RUN_S):
            async with connected as client:
                return await story(client)

    return anyio.run(play)
