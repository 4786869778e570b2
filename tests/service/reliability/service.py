"""Processes of the service on a table, with faults between the two."""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from forklore_service.domain.names import REVISION_BITS
from forklore_service.storage.clock import Clock
from tests.service.reliability.faults import Choose, Faults, Rewrite
from tests.support.tables import Store, fresh_store
from tools.harness import service

Endpoint = str | None
"""The address of a DynamoDB Local. None: the tables are on the engine of this process."""


class InOrder(ThreadPoolExecutor):
    """An executor that runs each task immediately, in the calling thread, so the order is fixed."""

    def __init__(self) -> None:
        super().__init__(1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 (the Future raises it)
            future.set_exception(error)
        return future


def random_bits(wanted: int) -> int:
    """Return random bits. A new name begins at revision 1, so that runs can be compared."""
    return 0 if wanted == REVISION_BITS else secrets.randbits(wanted)


class Process(service.Process):
    """A process of the service whose calls to DynamoDB can fail.

    faults: what goes wrong with its calls.
    in_order: whether reads that may overlap are made one after another.
    rewrite: turns a call's body into the body that is sent.
    """

    def __init__(
        self,
        store: Store,
        choose: Choose = lambda _call: None,
        *,
        clock: Clock | None = None,
        in_order: bool = False,
        seconds: float | None = None,
        rewrite: Rewrite | None = None,
        random: Callable[[int], int] = random_bits,
    ) -> None:
        threads = InOrder() if in_order else None
        super().__init__(store, clock=clock, seconds=seconds, threads=threads, random=random)
        self.faults = Faults(self.table, choose, rewrite=rewrite)


@contextmanager
def new_store(endpoint: Endpoint) -> Iterator[Store]:
    """Yield a new, empty table."""
    with fresh_store(f"forklore-{uuid4()}", endpoint=endpoint) as store:
        yield store
