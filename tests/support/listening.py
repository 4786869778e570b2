"""Servers of the tests' own: a port for one, the wait until it listens, the end of all that it started."""

import os
import signal
import socket
import subprocess
import time

STOP_SECONDS_MAX = 10.0


def free_port() -> int:
    """Return a port of 127.0.0.1 where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def wait_until_it_listens(process: subprocess.Popen[bytes], port: int, *, seconds: float) -> None:
    """Wait for a server at a port. Raises AssertionError if it ends, or does not listen in time."""
    give_up_at = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert process.poll() is None, f"{process.args!r} ended with {process.returncode}"
            assert time.monotonic() < give_up_at, f"{process.args!r} does not listen"
            time.sleep(0.02)


def end_session(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session of its own, with all that it has started there."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(STOP_SECONDS_MAX)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
