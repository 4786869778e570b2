"""What the gateway and the reference page share of ASGI: types, headers, sending an answer."""

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
    """One whole HTTP answer. Header names are lower case. `send_response` adds Content-Length."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def header_text(value: bytes) -> str:
    """Return a header's value, read as UTF-8 or, if it is not UTF-8, as Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


async def send_response(send: Send, response: Response) -> None:
    """Send `response`.

    A 204 or 304 is sent without a body. The server drops the body of an answer to HEAD.
    """
    bodiless = response.status in (204, 304)
    headers = [(name.encode(), value.encode()) for name, value in response.headers]
    if not bodiless:
        headers.append((b"content-length", str(len(response.body)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if bodiless else response.body})
