"""Long output goes through a pager, as git's does."""

import os
import signal
import subprocess  # nosec B404 # the user's own pager
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from shutil import which
from typing import IO, cast

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


NOT_RUN = (126, 127)
"""What a shell ends with if it cannot run a command, or cannot find it."""
KEPT_MAX = 2**21
"""Characters, more than a pipe holds: after as many the pager has read something, so it runs."""


class _Kept:
    """Writes to a pager, and keeps the beginning for the case that it does not run."""

    encoding = "utf-8"

    def __init__(self, stream: IO[str], process: "subprocess.Popen[str]") -> None:
        self._stream = stream
        self._process = process
        self._texts: list[str] = []
        self._size = 0
        self._is_direct = False

    def write(self, text: str) -> None:
        """Write a text. Raises BrokenPipeError if the pager has ended by itself."""
        if not self._is_direct and self._size <= KEPT_MAX:
            self._texts.append(text)
            self._size += len(text)
        if self._is_direct:
            sys.stdout.write(text)
            return
        try:
            self._stream.write(text)
        except BrokenPipeError:
            self._process.wait()
            if not self.end():
                raise
        if self._size > KEPT_MAX:
            self._texts.clear()

    def flush(self) -> None:
        """Hand on what is buffered."""
        (sys.stdout if self._is_direct else self._stream).flush()

    def end(self) -> bool:
        """Write what a pager that did not run should have shown. Return whether there is none."""
        if not self._is_direct and self._process.returncode in NOT_RUN:
            self._is_direct = True
            sys.stdout.writelines(self._texts)
            self._texts.clear()
        return self._is_direct


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Leave Ctrl+C to another program of the terminal, which has begun before."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def paged(command: str) -> Iterator[IO[str]]:
    """Yield the input of a pager; wait for its end at the end of the block.

    The command is read by the shell, as git and man read it. If it cannot be run, the output goes
    to standard output.
    """
    process: subprocess.Popen[str] = subprocess.Popen(  # nosec B602 # it is the user's own command
        command,
        shell=True,
        stdin=subprocess.PIPE,
        encoding="utf-8",
        env={"LESS": LESS, **os.environ},
    )
    assert process.stdin is not None
    kept = _Kept(process.stdin, process)
    try:
        yield cast("IO[str]", kept)
    finally:
        with without_interrupts():
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
            kept.end()
