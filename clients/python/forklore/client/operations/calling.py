"""What the generated methods stand on: a call goes through the core, and becomes a result.

Here stand the two drivers of the core: one for threads, one for asyncio and trio.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from forklore.client.calls import Call, RawAnswer, Shape, TransportError
from forklore.client.decoding import result_of
from forklore.client.omitted import OMITTED
from forklore.client.retrying import Options, Outcome, Send, attempts
from forklore.client.transports import AsyncTransport, Transport

R = TypeVar("R")


class Calling:
    """Sends calls over one transport."""

    def __init__(self, transport: Transport, options: Options) -> None:
        self._transport = transport
        self._options = options

    def send(self, call: Call) -> RawAnswer:
        """Return the answer as it came, after all retries, also that of an error.

        Raises InputError, and NoAnswerError without any answer.
        """
        steps = attempts(call, self._options)
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
                    outcome = self._transport.send(step.call, step.timeout_s)
                except TransportError as error:
                    outcome = error
                except Exception as error:  # noqa: BLE001 (the core raises it again)
                    steps.throw(error)
            else:
                time.sleep(step.seconds)

    def _call(
        self,
        shape: Shape,
        given: Mapping[str, Any],
        made: Callable[[Any], R],
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        nulls: tuple[str, ...] = (),
    ) -> R:
        call = Call.of(shape, _said(given, nulls), idempotency_key=idempotency_key, if_match=if_match)
        return result_of(self.send(call), made)


class AsyncCalling:
    """Sends calls over one transport, for asyncio and trio."""

    def __init__(self, transport: AsyncTransport, options: Options) -> None:
        self._transport = transport
        self._options = options

    async def send(self, call: Call) -> RawAnswer:
        """Return the answer as it came, after all retries, also that of an error.

        Raises InputError, and NoAnswerError without any answer.
        """
        import anyio

        steps = attempts(call, self._options)
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
                    outcome = await self._transport.send(step.call, step.timeout_s)
                except TransportError as error:
                    outcome = error
                except Exception as error:  # noqa: BLE001 (the core raises it again)
                    steps.throw(error)
            else:
                await anyio.sleep(step.seconds)

    async def _call(
        self,
        shape: Shape,
        given: Mapping[str, Any],
        made: Callable[[Any], R],
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        nulls: tuple[str, ...] = (),
    ) -> R:
        call = Call.of(shape, _said(given, nulls), idempotency_key=idempotency_key, if_match=if_match)
        return result_of(await self.send(call), made)


def _said(given: Mapping[str, Any], nulls: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments that are not left out. nulls: those whose None is sent as null."""
    return {
        name: value
        for name, value in given.items()
        if value is not OMITTED and (value is not None or name in nulls)
    }
