"""Long output goes through a pager, as git's does."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from shutil import which
from typing import IO

LESS = "FRX"
"""less ends by itself if all fits on the screen, shows colours, and leaves the text on it."""


def pager_of(environment: Mapping[str, str]) -> str | None:
    """Return the command of the pager; None for none: an empty variable, or `cat`.

    >>> pager_of({"FORKLORE_PAGER": "", "PAGER": "more"}), pager_of({"PAGER": "more"})
    (None, 'more')
    """
    for name in ("FORKLORE_PAGER", "PAGER"):
        if name in environment:
            command = environment[name].strip()
            return None if command in ("", "cat") else command
    return "less" if which("less") else None


@contextmanager
def paged(command: str) -> Iterator[IO[str]]:
    """Yield the input of a pager; wait for its end at the end of the block.

    The command is read by the shell, as git and man read it.
    """
    process = subprocess.Popen(  # nosec B602 # it is the user's own command
        command,
        shell=True,
        stdin=subprocess.PIPE,
        encoding="utf-8",
        env={"LESS": LESS, **os.environ},
    )
    assert process.stdin is not None
    try:
        yield process.stdin
    finally:
        # From here on Ctrl+C is the pager's own.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
