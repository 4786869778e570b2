"""Make a file in a folder of its own, unless another make has just made it.

python3 tools/make/once.py TARGET [PREREQUISITE…] -- COMMAND…

Two makes at once each find that the file is missing, and both would fill the folder. So the command
runs under a lock, and only if the file is still older than a prerequisite. The file is touched at
the end: without it the folder is not whole, and the next make makes it anew.

The lock is the file FOLDER.lock. It is held as long as this process or one that it started is
alive: a killed make leaves no lock, but its `pip` keeps the next make out until it has ended.
"""

from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
from pathlib import Path


def main(target: Path, prerequisites: list[Path], command: list[str]) -> int:
    """Return 0 if the target is there and new, or the exit status of the command."""
    folder = target.parent
    if folder.is_symlink():
        print(
            f"{folder} is a link to {folder.resolve()}, whose content would be deleted."
            f" Remove the link first: rm {folder}",
            file=sys.stderr,
        )
        return 2
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Waiting for another make, which makes {folder}.", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        if is_new(target, prerequisites):
            return 0
        status = subprocess.run(command, pass_fds=[lock.fileno()], check=False).returncode
        if status == 0:
            target.touch()
        return status


def is_new(target: Path, prerequisites: list[Path]) -> bool:
    """Return whether the target is there, and no prerequisite is newer."""
    try:
        made = target.stat().st_mtime_ns
    except FileNotFoundError:
        return False
    return all(one.stat().st_mtime_ns <= made for one in prerequisites)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl+C ends this without a traceback
    end = sys.argv.index("--")
    made, *needed = map(Path, sys.argv[1:end])
    sys.exit(main(made, needed, sys.argv[end + 1 :]))
