"""What carries calls: HTTP, a Lambda function that is invoked, and the service in this process."""

from typing import Protocol

from forklore.client.calls import Call, RawAnswer


class Transport(Protocol):
    """What carries a call to the service and brings the answer."""

    def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Send once. Raises TransportError without an answer, InputError if it cannot."""
        ...

    def located(self, url: str) -> str:
        """Return where bytes are. Raises UnexpectedAnswerError for what is not safe."""
        ...

    def close(self) -> None:
        """Free what the transport holds."""
        ...


class AsyncTransport(Protocol):
    """The same for asyncio and trio."""

    async def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Send once. Raises TransportError without an answer, InputError if it cannot."""
        ...

    def located(self, url: str) -> str:
        """Return where bytes are. Raises UnexpectedAnswerError for what is not safe."""
        ...

    async def aclose(self) -> None:
        """Free what the transport holds."""
        ...
