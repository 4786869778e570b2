"""Faults between a client and its real transport, at chosen calls. Nothing waits for a time."""

import inspect
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from forklore.client.calls import Call, RawAnswer, TransportError

KINDS = ("dies before", "dies after", "unsent", "lost", "lost")
"""What happens to a call: this process is killed, or the call or its answer is lost."""
FAILED = 300


class Faulty:
    """A transport, also one for asyncio. planned: the kind of fault, by the number of the call."""

    def __init__(self, inner: Any, planned: Mapping[int, str]) -> None:
        self._inner, self._planned = inner, planned
        self._sent = 0
        self._meanwhile: Callable[[], None] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def lose_next(self, meanwhile: Callable[[], None]) -> None:
        """Lose the answer of the next write that succeeds, when somebody else has done something."""
        self._meanwhile = meanwhile

    def send(self, call: Call, timeout_s: float) -> Any:
        """Send once, or do not."""
        self._sent += 1
        kind = self._planned.get(self._sent, "")
        if kind == "dies before":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "unsent":
            raise TransportError("planted: the request was lost")
        answer = self._inner.send(call, timeout_s)
        return (
            self._later(call, answer, kind) if inspect.isawaitable(answer) else self._end(call, answer, kind)
        )

    async def _later(self, call: Call, answer: Awaitable[RawAnswer], kind: str) -> RawAnswer:
        return self._end(call, await answer, kind)

    def _end(self, call: Call, answer: RawAnswer, kind: str) -> RawAnswer:
        if kind == "dies after":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._meanwhile is not None and not call.shape.is_read and answer.status < FAILED:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()
            kind = "lost"
        if kind == "lost":
            raise TransportError("planted: the answer was lost")
        return answer
