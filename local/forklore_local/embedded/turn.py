"""Whose turn it is to write: processes that share a folder write in turn.

SQLite lets whoever asks first have its lock, so a process that writes without pause would always be
faster than one that waits for it. And what a request decides would be out of date each time it is
written. So a process asks for the turn before it asks for SQLite's lock, and keeps it while it
decides again. The turn is a courtesy: who waits too long for it goes on without it, and for a while
does not wait again, for a process that was stopped may have it.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

TURN = "forklore.turn.lock"
"""The process whose turn it is locks this file of the folder."""
TURN_SECONDS = 1.0
IMPATIENT_SECONDS = 5.0
"""How long nobody waits after a turn that did not come."""
LOOK_SECONDS = 0.0005


class Turn:
    """The turn of this process, which its threads share. folder: None where nobody else writes."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self._holders = set[object]()
        self._wait_from_s = 0.0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the turn in the block."""
        if self._folder is None:
            yield
            return
        holder = object()
        try:
            with self._lock:
                if not self._holders:
                    self._wait(self._folder)
                self._holders.add(holder)
            yield
        finally:
            with self._lock:
                self._holders.discard(holder)
                if not self._holders:
                    self._leave()

    def _wait(self, folder: Path) -> None:
        now_s = time.monotonic()
        is_patient = now_s >= self._wait_from_s
        give_up_at = now_s + TURN_SECONDS if is_patient else now_s
        with suppress(ModuleNotFoundError, OSError):  # no such locks here, or the folder is gone
            import fcntl

            if self._file is None:
                self._file = (folder / TURN).open("ab")
            while True:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    if time.monotonic() >= give_up_at:
                        break
                    time.sleep(LOOK_SECONDS)
            if is_patient:
                self._wait_from_s = give_up_at + IMPATIENT_SECONDS

    def _leave(self) -> None:
        if self._file is not None:
            import fcntl

            with suppress(ValueError):  # it was closed just now
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the turn up for good. In a forked process this leaves it to the parent."""
        self._folder = None
        file, self._file = self._file, None  # without the lock, which a thread of the parent may have
        if file is not None:
            file.close()
