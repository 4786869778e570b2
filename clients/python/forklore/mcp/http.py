"""The tools over HTTP, without sessions: each request stands alone.

The tools call the API with the credentials of the request that calls them, and with no others. So
who calls may do by a tool what they may do by the API, and nothing else.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

import httpx2
from mcp.server.transport_security import TransportSecuritySettings

from forklore.client.generated.synchronous.client import Forklore
from forklore.mcp.server import make_server
from forklore.mcp.tools import Call

PATH = "/mcp"
BYTES_MAX = 2 * 1024 * 1024
"""Of a request. The longest text of a message is 1.2 MB if each of its letters is escaped."""
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]
RETRY_SECONDS = 5
"""After which credentials that cannot be checked may be sent again."""


def with_tools(app: App, url: str, identify: Callable[[Headers], Awaitable[Mapping[str, Any]]]) -> App:
    """Return `app` with the path of the tools.

    url: of the API that they call. identify: returns the authorizer's context for the headers of a
    request.
    """
    tools = make_app(url)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].removesuffix("/") != PATH:
            await app(scope, receive, send)
            return
        caller = await identify(scope["headers"])
        if caller.get("unavailable") is True:
            await _refuse(send, 503, (b"retry-after", str(RETRY_SECONDS).encode()))
        elif caller.get("userId") is None:
            await _refuse(send, 401, (b"www-authenticate", b"Bearer"))
        else:
            await tools(scope, receive, send)

    return serve


def make_app(url: str) -> App:
    """Return the app that answers a request of the protocol. url: of the API that the tools call.

    Who listens checks Host, Origin and who calls.
    """
    http = httpx2.Client(trust_env=False)
    server = make_server(lambda call: _client_of(call, url, http))
    checked_before = TransportSecuritySettings(enable_dns_rebinding_protection=False)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":  # there is no stream to listen to, and no session to end
            await _refuse(send, 405, (b"allow", b"POST"))
            return
        server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            max_request_body_size=BYTES_MAX,
            transport_security=checked_before,
        )
        manager = server.session_manager  # of this request alone
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    return serve


def _client_of(call: Call, url: str, http: httpx2.Client) -> Forklore:
    """Return a client with the credentials of the request that makes a call."""
    request = call.request_context.request
    assert request is not None, "over HTTP there is a request"
    _, _, token = request.headers["authorization"].partition(" ")
    return Forklore(url, token=token.strip(), client_key=request.headers.get("x-api-key"), http=http)


async def _refuse(send: Send, status: int, header: tuple[bytes, bytes]) -> None:
    await send(
        {"type": "http.response.start", "status": status, "headers": [header, (b"content-length", b"0")]}
    )
    await send({"type": "http.response.body", "body": b""})
