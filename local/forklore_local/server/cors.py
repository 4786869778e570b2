"""A server on a developer's machine answers its callers only, and tells browsers so (CORS).

A deployment has its own settings. Here pages of this machine may call, at any port.
"""

from forklore_local.server.asgi import App, Message, Receive, Response, Scope, Send, send_response
from forklore_local.server.callers import Callers, Headers

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
HEADERS = (
    *("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match"),
    *("X-API-Key", "X-Request-Id", "Forklore-Cost"),
)
EXPOSED = ("Retry-After", "X-Request-Id", "Forklore-Cost", "ETag", "Forklore-Ask-Again-Ms")
"""The same three lists are in template.yaml."""

_ASKED = frozenset({b"host", b"origin", b"access-control-request-method"})


def with_cors(app: App, callers: Callers) -> App:
    """Return `app` for `callers`, with CORS headers in its answers and in those to a preflight.

    What another site's page sends does not reach `app`.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        sent: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            if name in _ASKED:
                sent.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        refusal = callers.refusal(sent)
        if refusal is not None:
            headers = [("content-type", "application/json"), ("vary", "Origin"), ("connection", "close")]
            body = f'{{"message":"{refusal.message} The option --allow-host names others."}}'.encode()
            await send_response(send, Response(refusal.status, headers, body))
            return
        told = _headers(scope["method"], sent)

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *told]
            await send(message)

        await app(scope, receive, send_with)

    return serve


def _headers(method: str, sent: Headers) -> list[tuple[bytes, bytes]]:
    """Return the headers that let the request's origin read the answer. It may."""
    if "origin" not in sent:
        return [(b"vary", b"Origin")]
    told = [(b"vary", b"Origin"), (b"access-control-allow-origin", sent["origin"][0].encode("latin-1"))]
    if method == "OPTIONS" and "access-control-request-method" in sent:
        return [*told, _list("allow-methods", METHODS), _list("allow-headers", HEADERS)]
    return [*told, _list("expose-headers", EXPOSED)]


def _list(name: str, values: tuple[str, ...]) -> tuple[bytes, bytes]:
    return f"access-control-{name}".encode(), ", ".join(values).encode()
