"""One model at a time makes the vectors of a folder.

Two would take each other's vectors away, again and again, and a search beside that would miss some.
So a program that has asked for a recall keeps the folder's model, by a lock on a file that names
it, until it ends. Another program may use the same model. Only when no other one keeps it can the
model be changed.
"""

import errno
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from forklore_service.domain.meaning import Nearness
from forklore_service.errors import StoreFailedError

MODEL = "forklore.recall.lock"
TRIES_MAX, PAUSE_SECONDS = 20, 0.01


class OneModel:
    """A model of a folder. It asks for the lock when it is first asked for its name, which all that
    reads or writes vectors needs. Threads may share it.
    """

    def __init__(self, nearness: Nearness, folder: Path) -> None:
        self._nearness, self._folder = nearness, folder
        self._lock = threading.Lock()
        self._kept: BinaryIO | None = None

    @property
    def model(self) -> str:
        """Raises StoreFailedError while another program keeps another model of the folder."""
        self.keep()
        return self._nearness.model

    def keep(self) -> None:
        """Keep the model, until this is closed. Raises as `model` does."""
        name = self._nearness.model
        with self._lock:
            if self._kept is None:
                self._kept = _kept(self._folder / MODEL, name)

    @property
    def is_remote(self) -> bool:
        return self._nearness.is_remote

    def near(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        return self._nearness.near(question, texts)

    def vectors(self, texts: Sequence[str]) -> list[bytes]:
        return self._nearness.vectors(texts)

    def asked(self, question: str) -> bytes:
        return self._nearness.asked(question)

    def compare(self, question: str, packed: Sequence[bytes]) -> Sequence[float]:
        return self._nearness.compare(question, packed)

    def close(self) -> None:
        """Leave the folder to any model."""
        with self._lock:
            if self._kept is not None:
                self._kept.close()


def _kept(path: Path, name: str) -> BinaryIO:
    """Return a file that says that the model is in use, until it is closed.

    Raises StoreFailedError if it is another one's, or if the file cannot be used.
    """
    file = None
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
        other = _other_in(file, name.encode())
    except OSError as error:
        if file:
            file.close()  # else who waits for its lock waits for ever
        full, denied = (errno.ENOSPC, errno.EDQUOT), (errno.EACCES, errno.EPERM, errno.EROFS)
        reason = "full" if error.errno in full else "read_only" if error.errno in denied else "failed"
        told = f"the folder's model cannot be noted: {os.strerror(error.errno or 0)}"
        raise StoreFailedError(told, reason=reason) from error
    if other is None:
        return file
    file.close()
    raise StoreFailedError(
        f"another program recalls in this folder with the model {other.decode()}, and this one with {name}:"
        " end it first, or use its model (a function's attribute `model` names it)",
        reason="model",
    )


def _other_in(file: BinaryIO, name: bytes) -> bytes | None:
    """Lock the file for this model. Return the one that another program keeps."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_SH)
    except (ModuleNotFoundError, OSError):  # no such locks here
        return None
    other = b""
    for _ in range(TRIES_MAX):
        fcntl.flock(file, fcntl.LOCK_SH)
        file.seek(0)
        other = file.read()
        if other == name:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE_SECONDS)  # it may only be looking, as this one does
            continue
        file.seek(0)
        file.truncate()
        file.write(name)  # the lock is given up before it becomes a shared one, so it is read again
    return other
