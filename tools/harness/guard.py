"""`python -m tools.harness.guard COMMAND…`: run a command until the standard input closes.

The standard input is a pipe from the process that started this one. The pipe closes when that
process ends, even by SIGKILL.
"""

import subprocess  # nosec B404 # our own engines
import sys
import threading
from collections.abc import Sequence

STOP_SECONDS_MAX = 10.0


def main(command: Sequence[str]) -> int:
    """Run the command and return its exit code.

    The command inherits this process's open files, such as a lock.
    """
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, close_fds=False)  # nosec B603 # an engine
    threading.Thread(target=_end_with_input, args=[process], daemon=True).start()
    return process.wait()


def _end_with_input(process: subprocess.Popen[bytes]) -> None:
    sys.stdin.read()
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
