"""What is told of each answer: a line of the log, and numbers for who looks at the server.

A line names a route and never a path, a query, a header or a body: they may hold ids of a link,
tokens and content.
"""

import json
import logging
import time
from collections.abc import Callable
from typing import Any

from forklore_local.server.asgi import App, Message, Receive, Scope, Send

FAILED = 500
"""The first status of an error of the server's own."""
LEFT = 499
"""The status of who left before an answer began. Nobody is sent it."""
ROUTE = "route"
"""The member of a scope with the key of the route that a request took."""
PARTS = ("/docs", "/files", "/mcp", "/metrics")
"""The other paths that are told apart. All else is the page's."""
_log = logging.getLogger("forklore")
_access = logging.getLogger("forklore.access")


def show_each() -> None:
    """Write a line for every answer, not only for those that failed."""
    _access.setLevel(logging.INFO)


def with_lines(
    app: App,
    *,
    begun: Callable[[], object] = lambda: None,
    ended: Callable[[str, int, float | None], object] = lambda _route, _status, _seconds: None,
) -> App:
    """Return `app`, of whose answers the log tells. One of FAILED and more is always shown.

    begun: called with each request. ended: with its route, its status and the seconds that it took,
    None where it was held until there was news.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        started, status, request_id, body = time.monotonic(), LEFT, None, b""

        async def sending(message: Message) -> None:
            nonlocal status, request_id, body
            if message["type"] == "http.response.start":
                status = message["status"]
                held = [value for name, value in message["headers"] if name == b"x-request-id"]
                request_id = held[0].decode("latin-1") if held else None
            elif status >= FAILED and not body:
                body = message.get("body", b"")
            await send(message)

        begun()
        try:
            await app(scope, receive, sending)
        except Exception:
            status = FAILED
            raise
        finally:
            seconds = time.monotonic() - started
            route = route_of(scope)
            ended(route, status, None if b"wait=" in scope["query_string"] else seconds)
            log, level = (_log, logging.ERROR) if status >= FAILED else (_access, logging.INFO)
            if log.isEnabledFor(level):
                told = {
                    "method": scope["method"],
                    "route": route,
                    "status": status,
                    **(_why(body) if status >= FAILED else {}),
                    "ms": round(seconds * 1000),
                    "ip": (scope.get("client") or [None])[0],
                    "xRequestId": request_id,
                }
                log.log(level, "answered", extra=told)

    return serve


def route_of(scope: Scope) -> str:
    """Return the key of the route that a request took, or the part of the server that it asked."""
    return scope.get(ROUTE) or _part(scope["path"])


def _part(path: str) -> str:
    """Return which part of the server a path is for that no route of the API has.

    >>> _part("/files/secret"), _part("/")
    ('/files', '/')
    """
    return next((part for part in PARTS if path == part or path.startswith(f"{part}/")), "/")


def _why(body: bytes) -> dict[str, Any]:
    """Return the words of an error that the service chooses, and none that a caller could."""
    try:
        error = json.loads(body)
        told = {"code": error["code"], "reason": error["details"].get("reason")}
    except (ValueError, KeyError, TypeError, AttributeError):  # not an error of forklore
        return {}
    return {name: held for name, held in told.items() if isinstance(held, str) and held}
