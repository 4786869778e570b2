"""`python -m tests.support.server SHIFT date|no-date`: the local server with a wrong machine clock.

It listens on a free port of 127.0.0.1, prints its address, and ends when its standard input closes.
"""

import runpy
import sys

from tests.support.machine_clock import MachineClock, end_with_parent, set_machine_clock


def main() -> None:
    """Serve until a signal comes or the standard input closes."""
    set_machine_clock(MachineClock.from_arguments(sys.argv[1:]))
    end_with_parent()
    sys.argv[1:] = ["--host", "127.0.0.1", "--port", "0"]
    runpy.run_module("forklore_local.server", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
