"""The few words of ASGI that the gateway and the reference page share: types, headers, one answer."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Response:
    """One whole HTTP answer; header names in lower case, Content-Length left to `send_response`."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def header_text(value: bytes) -> str:
    """Return a header's value: UTF-8 where it is UTF-8, otherwise Latin-1, as HTTP once had it."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


async def send_response(send: Send, response: Response) -> None:
    """Send `response`, without a body where HTTP allows none (204 and 304; the server drops HEAD's)."""
    bodiless = response.status in (204, 304)
    headers = [(name.encode(), value.encode()) for name, value in response.headers]
    if not bodiless:
        headers.append((b"content-length", str(len(response.body)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if bodiless else response.body})
