"""A free port of 127.0.0.1 for a server that is started here."""

import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TypeVar

PORTS_MAX = 3

T = TypeVar("T")


class ServerDidNotStartError(Exception):
    """A server gave no answer in time; the message is one line."""


class ServerEndedError(ServerDidNotStartError):
    """A server ended at once. Another process may have taken its port."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


@contextmanager
def on_free_port(
    serve: Callable[[int], AbstractContextManager[T]], *, find: Callable[[], int] = free_port
) -> Iterator[T]:
    """Yield what `serve` yields at a free port. If its server ends at once, try another port.

    Raises ServerEndedError after PORTS_MAX ports.
    """
    with ExitStack() as stack:
        yield _entered(stack, serve, find)


def _entered(
    stack: ExitStack, serve: Callable[[int], AbstractContextManager[T]], find: Callable[[], int]
) -> T:
    for _ in range(PORTS_MAX - 1):
        with suppress(ServerEndedError):
            return stack.enter_context(serve(find()))
    return stack.enter_context(serve(find()))
