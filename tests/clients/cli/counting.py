"""A client in this process whose requests are counted."""

from collections.abc import Iterator
from contextlib import contextmanager

from forklore import Forklore
from forklore.client.calls import Call, RawAnswer
from forklore.client.transports import Transport
from forklore.client.transports.direct import Identity
from forklore.client.transports.in_process import InProcessTransport
from forklore_local.in_process.service import EmbeddedService


class Counting:
    """A transport. sent: the operation of each request."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.sent: list[str] = []

    def send(self, call: Call, timeout_s: float) -> RawAnswer:
        self.sent.append(call.shape.name)
        return self._inner.send(call, timeout_s)

    def located(self, url: str) -> str:
        return self._inner.located(url)

    def close(self) -> None:
        """Leave the service to who made it."""


@contextmanager
def counted(client: str | None = None) -> Iterator[tuple[Forklore, list[str]]]:
    """Yield a client of a service of its own, and the operations that it has sent."""
    identity, service = Identity("ann", client, ()), EmbeddedService.open(None)
    transport = Counting(InProcessTransport(service, identity))
    try:
        yield Forklore._over(transport, identity), transport.sent
    finally:
        service.close()
