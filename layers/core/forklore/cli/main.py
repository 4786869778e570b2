"""The console script `forklore`. It needs the packages of the extra `cli`."""

import io
import sys

from forklore.extras import from_extra


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    with from_extra("cli"):
        from forklore.cli.app import make_app
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a letter that it cannot hold is no failure
    make_app()(prog_name="forklore")
