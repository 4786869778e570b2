"""Work of both kinds of clients, written once: generators that yield a call and take its answer."""

import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeVar

import anyio

from forklore import ApiError, AsyncForklore, Forklore

T = TypeVar("T")
Call = tuple[str, dict[str, Any]]
"""A method of a client's `api`, or one of FILES of the client itself, and its arguments."""
Steps = Generator[Call, Any, T]
FILES = ("upload", "read")
PAUSE = "pause"
"""In place of a method: wait PAUSE_S, and go on."""
PAUSE_S = 0.005


def run(client: Forklore, steps: Steps[T]) -> T:
    """Return what the steps return. An error of a call is theirs first."""
    try:
        operation, given = next(steps)
        while True:
            try:
                answer = _method(client, operation, time.sleep)(**given)
            except ApiError as error:
                operation, given = steps.throw(error)
            else:
                operation, given = steps.send(answer)
    except StopIteration as end:
        done: T = end.value
        return done
    finally:
        steps.close()  # also after a cancellation


async def arun(client: AsyncForklore, steps: Steps[T]) -> T:
    """Return what the steps return, as `run` does, for asyncio and trio."""
    try:
        operation, given = next(steps)
        while True:
            try:
                answer = await _method(client, operation, anyio.sleep)(**given)
            except ApiError as error:
                operation, given = steps.throw(error)
            else:
                operation, given = steps.send(answer)
    except StopIteration as end:
        done: T = end.value
        return done
    finally:
        steps.close()  # also after a cancellation


def _method(client: Forklore | AsyncForklore, operation: str, sleep: Callable[[float], Any]) -> Any:
    if operation == PAUSE:
        return partial(sleep, PAUSE_S)
    return getattr(client if operation in FILES else client.api, operation)
