"""The two drivers of the core: one for threads, one for asyncio and trio."""

import time
from typing import Protocol

from forklore.client.calls import Call, RawAnswer, TransportError
from forklore.client.retrying import Outcome, Send, Steps


class Transport(Protocol):
    """What carries a call to the service and brings the answer."""

    def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Send once. Raises TransportError without an answer, InputError if it cannot."""
        ...

    def close(self) -> None:
        """Free what the transport holds."""
        ...


class AsyncTransport(Protocol):
    """The same for asyncio and trio."""

    async def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Send once. Raises TransportError without an answer, InputError if it cannot."""
        ...

    async def aclose(self) -> None:
        """Free what the transport holds."""
        ...


def drive(steps: Steps, transport: Transport) -> RawAnswer:
    """Do what the core says; return its answer."""
    outcome: Outcome = None
    while True:
        try:
            step = steps.send(outcome)
        except StopIteration as done:
            answer: RawAnswer = done.value
            return answer
        outcome = None
        if isinstance(step, Send):
            try:
                outcome = transport.send(step.call, step.timeout_s)
            except TransportError as error:
                outcome = error
        else:
            time.sleep(step.seconds)


async def adrive(steps: Steps, transport: AsyncTransport) -> RawAnswer:
    """Do what the core says; return its answer."""
    import anyio

    outcome: Outcome = None
    while True:
        try:
            step = steps.send(outcome)
        except StopIteration as done:
            answer: RawAnswer = done.value
            return answer
        outcome = None
        if isinstance(step, Send):
            try:
                outcome = await transport.send(step.call, step.timeout_s)
            except TransportError as error:
                outcome = error
        else:
            await anyio.sleep(step.seconds)
