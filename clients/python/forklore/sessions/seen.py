"""What was collected already: a look at size and time tells whether a file has changed since."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

Look = list[list[int]]
"""Size and time of change, in nanoseconds, of a session's file and of what belongs to it."""


def state_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Return the folder for what forklore remembers of this machine."""
    given = environment.get("XDG_STATE_HOME", "")
    return (Path(given) if Path(given).is_absolute() else home / ".local" / "state") / "forklore"


def look_at(paths: Iterable[Path]) -> Look:
    """Return how files are now. Those that have just gone are left out."""
    found: Look = []
    for path in paths:
        with suppress(FileNotFoundError):
            stat = path.stat()
            found.append([stat.st_size, stat.st_mtime_ns])
    return found


class Seen:
    """How files were when they were collected into one store, by their paths.

    path: returns the file that keeps it, also when a run has just made the store. What cannot be
    read of it counts as not collected.
    """

    def __init__(self, path: Callable[[], Path]) -> None:
        self._path = path
        self._looks: dict[str, Look] = {}
        self._store = ""
        self._is_new = False
        with suppress(OSError, ValueError):
            told = json.loads(path().read_text(encoding="utf-8"))
            self._looks = dict(told["files"]) if isinstance(told.get("files"), dict) else {}
            self._store = str(told.get("store", ""))

    def is_same(self, path: Path, look: Look) -> bool:
        """Tell whether a file is as it was collected."""
        return self._looks.get(str(path)) == look

    def put(self, path: Path, look: Look) -> None:
        """Note how a file was before it was read."""
        self._is_new = True
        self._looks[str(path)] = look

    def take_store(self, store: str) -> None:
        """Take nothing for collected that was so into another store at the same place."""
        if store != self._store:
            self._store = store
            self.forget()

    def forget(self) -> None:
        """Take nothing for collected."""
        self._looks.clear()

    def save(self) -> None:
        """Write it all, whole or not at all, if anything was noted."""
        if not self._is_new:
            return
        path = self._path()
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({"store": self._store, "files": self._looks}), encoding="utf-8")
        part.replace(path)
