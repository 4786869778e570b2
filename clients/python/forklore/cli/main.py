"""The console script `forklore`. It needs the packages of the extra `cli`."""

import io
import os
import sys
from pathlib import Path

from forklore.extras import from_extra

USAGE, INTERRUPTED = 2, 130


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    try:
        _run()
    except KeyboardInterrupt:  # while modules are imported
        sys.exit(INTERRUPTED)


def _run() -> None:
    _open_streams()
    with from_extra("cli"):
        from forklore.cli.app import make_app
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a letter that it cannot hold is no failure
    make_app()(prog_name="forklore")


def _open_streams() -> None:
    """Open the standard streams that the process was started without, so no file takes their place.

    Without a standard output it ends with USAGE.
    """
    is_deaf = sys.stdout is None
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    if is_deaf:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if is_deaf:
        sys.stderr.write("forklore: standard output is closed\n")
        sys.exit(USAGE)
