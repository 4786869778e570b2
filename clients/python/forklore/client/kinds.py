"""The other kind of a client: the same service and caller, for threads or for asyncio and trio."""

from typing import TypeVar

from forklore.client.asynchronous.client import AsyncForklore
from forklore.client.calls import Call, RawAnswer
from forklore.client.generated.synchronous.client import Forklore
from forklore.client.transports import Transport

C = TypeVar("C", bound=Forklore | AsyncForklore)


def checked(client: C) -> C:
    """Return a client of either kind. Raises TypeError for anything else."""
    if not isinstance(client, Forklore | AsyncForklore):
        raise TypeError(f"client is a Forklore or an AsyncForklore, not {type(client).__name__}")
    return client


def as_sync(client: Forklore | AsyncForklore) -> Forklore:
    """Return the client for threads. It ends when the given one is closed.

    Raises TypeError for what is no client. Raises InputError if the given one sends by a client of
    httpx2 that the caller has made.
    """
    if isinstance(client, AsyncForklore):
        transport: Transport = client._transport.blocking()  # type: ignore[attr-defined]
        return Forklore._over(transport, client._identity, client._options)
    return checked(client)


def as_async(client: Forklore | AsyncForklore) -> AsyncForklore:
    """Return the client for asyncio and trio. Each call of a client for threads runs in a thread.

    Raises TypeError for what is no client.
    """
    if isinstance(client, Forklore):
        return AsyncForklore._over(InThreads(client._transport), client._identity, client._options)
    return checked(client)


class InThreads:
    """Sends calls by a transport for threads: each in a thread."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Send once. Raises TransportError without an answer, InputError if it cannot."""
        import anyio.to_thread

        return await anyio.to_thread.run_sync(self._inner.send, call, timeout_s)

    def located(self, url: str) -> str:
        """Return where bytes are. Raises UnexpectedAnswerError for what is not safe."""
        return self._inner.located(url)

    def blocking(self) -> Transport:
        """Return the transport that sends the calls."""
        return self._inner

    async def aclose(self) -> None:
        """Leave the transport open: who made it closes it."""
