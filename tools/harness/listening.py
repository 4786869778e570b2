"""Wait until a server listens; end a server with all processes that it started."""

import os
import signal
import socket
import subprocess
import time

from tools.harness.ports import ServerDidNotStartError, ServerEndedError

STOP_SECONDS_MAX = 10.0


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
