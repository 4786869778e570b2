"""Clients by the place where they send. A place is a process or, in it, an event loop.

A connection that goes through `os.fork()` gives one process the answers of the other. In another
event loop than its own it fails. So a transport has a client for each place.
"""

import os
from collections.abc import AsyncGenerator, Callable
from types import AsyncGeneratorType
from typing import Generic, Protocol, TypeVar

from forklore.client.errors import InputError, UnavailableError

C = TypeVar("C")
Place = tuple[int, object]
"""The id of a process, and the token of an event loop or None."""


class PerProcess(Generic[C]):
    """A client for each process. Threads may share it.

    make: makes one. given: the caller's own, for the process that uses it first.
    """

    def __init__(self, make: Callable[[], C], given: C | None = None) -> None:
        self._make = make
        self._given = None if given is None else _Given(given)
        self._made: dict[int, C] = {}
        self.is_closed = False

    def client(self) -> C:
        """Return the client of this process.

        Raises UnavailableError after `close`. Raises InputError for a given client of another one.
        """
        process = os.getpid()
        if self._given is not None:
            return self._given.at((process, None))
        if self.is_closed:
            raise closed()
        if process not in self._made:  # no lock: another thread may hold it while this one forks
            self._made.setdefault(process, self._make())
        return self._made[process]

    def close(self) -> C | None:
        """Make no client any more. Return that of this process, which the caller closes."""
        self.is_closed = True
        return self._made.pop(os.getpid(), None)


class Closable(Protocol):
    """A client for asyncio and trio."""

    async def aclose(self) -> None:
        """Close the connections."""
        ...


A = TypeVar("A", bound=Closable)


class PerLoop(Generic[A]):
    """A client for each event loop. Threads may share it. make, given: as of PerProcess."""

    def __init__(self, make: Callable[[], A], given: A | None = None) -> None:
        self._make = make
        self._given = None if given is None else _Given(given)
        self._made: dict[Place, tuple[A, AsyncGenerator[None, None]]] = {}
        self.is_closed = False

    async def client(self) -> A:
        """Return the client of the running loop. It is closed when the loop ends.

        Raises UnavailableError after `aclose`. Raises InputError for a given client of another one.
        """
        place = _running()
        if self._given is not None:
            return self._given.at(place)
        if self.is_closed:
            raise closed()
        if place not in self._made:
            self._forget_ended_loops()
            made = self._make()
            ending = _closing_at_the_end(made)
            self._made[place] = made, ending
            await anext(ending)
        return self._made[place][0]

    async def aclose(self) -> None:
        """Make no client any more, and close that of the running loop.

        Those of other loops are closed when these end: only there can they be.
        """
        self.is_closed = True
        if (made := self._made.pop(_running(), None)) is not None:
            await made[1].aclose()

    def _forget_ended_loops(self) -> None:
        """Forget what loops have closed, and what belongs to loops that were closed by hand."""
        for place, (_, ending) in list(self._made.items()):
            loop_is_closed = getattr(place[1], "is_closed", None)
            is_over = isinstance(ending, AsyncGeneratorType) and ending.ag_frame is None
            if place[0] == os.getpid() and (is_over or (loop_is_closed is not None and loop_is_closed())):
                self._made.pop(place, None)


class _Given(Generic[C]):
    """The caller's own client."""

    def __init__(self, client: C) -> None:
        self._client = client
        self._places: list[Place] = []

    def at(self, place: Place) -> C:
        """Return the client. Raises InputError if it was used in another place first."""
        if not self._places:
            self._places.append(place)
        if self._places[0] != place:
            raise InputError(
                "the client that was given sends in the process and the event loop that used it first: "
                "give each its own, or give none"
            )
        return self._client


async def _closing_at_the_end(client: Closable) -> AsyncGenerator[None, None]:
    """Yield once. When an event loop ends, it closes the generators that were begun in it."""
    try:
        yield
    finally:
        await client.aclose()


def _running() -> Place:
    import anyio.lowlevel

    return os.getpid(), anyio.lowlevel.current_token().native_token


def closed() -> UnavailableError:
    """Return the error of a call on a client that is closed."""
    return UnavailableError("the client is closed", code="unavailable")
