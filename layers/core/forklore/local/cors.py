"""CORS on a developer's machine: pages of this machine, at any port, may call the server.

A deployment has its own settings. A page of any other origin gets no CORS header, so it cannot
read an answer.
"""

import re

from forklore.local.asgi import App, Message, Receive, Scope, Send

OF_THIS_MACHINE = re.compile(rb"http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?")
METHODS = ("GET", "POST", "PATCH", "DELETE")
HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "X-API-Key", "X-Request-Id")
EXPOSED = ("Retry-After", "X-Request-Id")
"""The same three lists are in template.yaml."""


def with_cors(app: App) -> App:
    """Return `app` with CORS headers in its answers, also in those to a preflight (OPTIONS)."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        told = _headers(scope)

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *told]
            await send(message)

        await app(scope, receive, send_with)

    return serve


def _headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return the headers that let the request's origin read the answer."""
    sent = dict(scope["headers"])
    origin = sent.get(b"origin", b"")
    if not OF_THIS_MACHINE.fullmatch(origin):
        return [(b"vary", b"Origin")]
    told = [(b"vary", b"Origin"), (b"access-control-allow-origin", origin)]
    if scope["method"] == "OPTIONS" and b"access-control-request-method" in sent:
        return [*told, _list("allow-methods", METHODS), _list("allow-headers", HEADERS)]
    return [*told, _list("expose-headers", EXPOSED)]


def _list(name: str, values: tuple[str, ...]) -> tuple[bytes, bytes]:
    return f"access-control-{name}".encode(), ", ".join(values).encode()
