"""A server that is started here: a free port of 127.0.0.1, its start, and its end."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TypeVar

PORTS_MAX = 3
STOP_SECONDS_MAX = 10.0

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


def wait_until_it_listens(process: subprocess.Popen[bytes], port: int, *, seconds: float) -> None:
    """Wait until a server listens.

    Raises ServerEndedError, or ServerDidNotStartError after `seconds`.
    """
    give_up_at = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None:
                raise ServerEndedError(f"{process.args!r} ended with {process.returncode}") from None
            if time.monotonic() > give_up_at:
                raise ServerDidNotStartError(f"{process.args!r} does not listen") from None
            time.sleep(0.02)


def end_session(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session, with all processes of that session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(STOP_SECONDS_MAX)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
