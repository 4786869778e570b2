"""Clients whose requests are counted, and that can be killed after any of them."""

import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from forklore import AsyncForklore, Forklore
from forklore.client.calls import Call, RawAnswer
from forklore.client.transports import Transport


class Killed(BaseException):
    """The process is killed before it sends another request. Nothing catches this."""


@dataclass
class Wire:
    """What a client sends. lives: requests until it is killed; None: it is not.

    moved: characters of all requests and answers.
    """

    lives: int | None = None
    sent: list[str] = field(default_factory=list)
    moved: int = 0

    def note(self, call: Call) -> None:
        if self.lives is not None and len(self.sent) >= self.lives:
            raise Killed
        self.sent.append(call.shape.name)
        self.moved += len(json.dumps(call.given))

    def wrapped(self, client: Forklore) -> Forklore:
        """Return the client with this wire."""
        transport = client._transport
        made = _Wired(self, transport.send, transport.close, transport.located)
        return type(client)._over(made, client._identity)

    def wrapped_async(self, client: AsyncForklore) -> AsyncForklore:
        """Return the client with this wire."""
        transport = client._transport
        made = _AsyncWired(
            self,
            transport.send,
            transport.blocking,  # type: ignore[attr-defined]
            transport.aclose,
            transport.located,
        )
        return type(client)._over(made, client._identity)


@dataclass
class _Wired:
    wire: Wire
    pass_on: Callable[[Call, float], RawAnswer]
    close: Callable[[], None]
    located: Callable[[str], str]

    def send(self, call: Call, timeout_s: float) -> RawAnswer:
        self.wire.note(call)
        answer = self.pass_on(call, timeout_s)
        self.wire.moved += len(answer.text)
        return answer


@dataclass
class _AsyncWired:
    wire: Wire
    pass_on: Callable[[Call, float], Awaitable[RawAnswer]]
    beside: Callable[[], Transport]
    aclose: Callable[[], Coroutine[Any, Any, None]]
    located: Callable[[str], str]

    async def send(self, call: Call, timeout_s: float) -> RawAnswer:
        self.wire.note(call)
        answer = await self.pass_on(call, timeout_s)
        self.wire.moved += len(answer.text)
        return answer

    def blocking(self) -> _Wired:
        beside = self.beside()
        return _Wired(self.wire, beside.send, beside.close, self.located)
