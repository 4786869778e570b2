"""The local server, in a process of its own."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
READY_S = 60


@contextmanager
def local_server(*module: str, **variables: str) -> Iterator[str]:
    """Start the local server on a free port, yield its address, and stop it.

    module: what Python runs, with arguments; without it the server itself. variables: of its
    environment. Without FORKLORE_DYNAMODB_ENDPOINT it has its embedded database.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", *(module or ("forklore_local.server",)), "--port", "0"],
        cwd=ROOT,
        env=environment(HOST="127.0.0.1", PORT="0", PYTHONUNBUFFERED="1", **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        lines: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=_read_all, args=(process, lines), daemon=True)
        reader.start()
        try:
            yield _wait_for_url(lines)
        finally:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
            reader.join(timeout=20)


def environment(**variables: str) -> dict[str, str]:
    """Return this process's environment with its import path and the given variables."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | variables


def _read_all(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    """Put every line into the queue, so that the pipe never fills up; None at the end."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def _wait_for_url(lines: queue.Queue[str | None]) -> str:
    seen: list[str] = []
    until = time.monotonic() + READY_S
    while (left_s := until - time.monotonic()) > 0:
        try:
            line = lines.get(timeout=left_s)
        except queue.Empty:
            break
        if line is None:
            break
        seen.append(line)
        if found := re.search(r"http://127\.0\.0\.1:[1-9]\d*", line):
            return found.group()
    raise AssertionError("the local server did not say where it listens:\n" + "".join(seen))
