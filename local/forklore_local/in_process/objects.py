"""The bytes of attachments in a folder: `ab/…` holds whole objects, `incoming` what arrives."""

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from types import TracebackType
from typing import Self

from forklore_service.domain.ids import is_uuid, timestamp
from forklore_service.errors import StoreFailedError
from forklore_service.storage.objects import VALID_SECONDS, Expected, Link, Upload, WrongBytesError, link_end

ATTACHMENTS = "attachments"
"""The folder in the folder that keeps the data."""
PIECE_BYTES = 256 * 1024
_INCOMING = "incoming"
_PART_SECONDS = 24 * 3600
"""After so long nothing brings the rest of what is not whole: who did was killed."""


class FolderObjects:
    """The objects of a folder. It is made with the first of them. None: a temporary one.

    Any number of processes may use one folder. An address is that of a file of this machine:
    who uploads writes the file, and `holds` looks at it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder, self._is_temporary = folder, folder is None
        self._is_tidy = False
        self._making = threading.Lock()

    @property
    def folder(self) -> Path:
        """Where the objects are."""
        with self._making:  # the first objects may come side by side
            if self._folder is None:
                with _failing():
                    self._folder = Path(tempfile.mkdtemp(prefix="forklore-")).absolute()
                weakref.finalize(self, _remove, self._folder, os.getpid())
            return self._folder

    @property
    def _incoming(self) -> Path:
        """The folder for what is not whole. It is made; only its owner may read it and `folder`.

        The first use removes what a killed process has left.
        """
        incoming = self.folder / _INCOMING
        with _failing():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            incoming.mkdir(mode=0o700, exist_ok=True)
            if not self._is_tidy:
                self._is_tidy = True
                for part in incoming.glob("*.*"):
                    with contextlib.suppress(FileNotFoundError):  # another process has been faster
                        if part.stat().st_mtime < time.time() - _PART_SECONDS:
                            part.unlink()
        return incoming

    def close(self) -> None:
        """Forget the objects of a temporary folder."""
        if self._is_temporary and self._folder is not None:
            _remove(self._folder, os.getpid())

    def place(self, object_id: str) -> Path:
        """Return the file of an object, which may be missing. What is there is whole."""
        _require_id(object_id)
        return self.folder / object_id[:2] / object_id

    def upload(self, object_id: str, expected: Expected) -> Upload:
        _require_id(object_id)
        ends_at = timestamp(int((time.time() + VALID_SECONDS) * 1000))
        url = (self._incoming / object_id).absolute().as_uri()
        return Upload("PUT", url, {"content-type": expected.content_type}, ends_at)

    def link(self, object_id: str, *, name: str, content_type: str) -> Link:  # noqa: ARG002
        return Link(self.place(object_id).absolute().as_uri(), timestamp(link_end(time.time()) * 1000))

    def store(self, object_id: str, content: BufferedIOBase, expected: Expected) -> None:
        with self.arriving(object_id, expected) as arriving:
            while piece := content.read(PIECE_BYTES):
                arriving.write(piece)
            with contextlib.suppress(FileNotFoundError):  # as if it were deleted after it was kept
                arriving.keep()

    def read(self, object_id: str) -> Iterator[bytes]:
        try:
            with _failing(), self.place(object_id).open("rb") as file:
                while piece := file.read(PIECE_BYTES):
                    yield piece
        except FileNotFoundError as error:
            raise WrongBytesError("there are none") from error

    def holds(self, object_id: str, expected: Expected) -> bool:
        """Tell whether the object is there. What was uploaded as a file becomes the object now."""
        try:
            with _failing(), self.place(object_id).open("rb") as file:
                size, sha256 = os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256")
                return (size, sha256.hexdigest()) == (expected.size, expected.sha256)
        except FileNotFoundError:
            uploaded = self._incoming / object_id
            is_taken = self.take(uploaded, object_id, expected)
            if is_taken:
                uploaded.unlink(missing_ok=True)
            return is_taken

    def take(self, place: Path, object_id: str, expected: Expected) -> bool:
        """Keep a copy of a file, if it is there and what is expected; tell whether it is.

        Others may still write to the file.
        """
        try:
            with _failing(), place.open("rb") as file:
                self.store(object_id, file, expected)
        except (FileNotFoundError, WrongBytesError):
            return False
        return True

    def arriving(self, object_id: str, expected: Expected) -> "Arriving":
        """Return what takes the bytes of an object piece by piece. Use it in a `with` statement."""
        with _failing():
            return Arriving(self._incoming, self.place(object_id), expected)

    def delete(self, object_id: str) -> None:
        place = self.place(object_id)
        with _failing():
            place.unlink(missing_ok=True)
            for left in (self.folder / _INCOMING).glob(f"{object_id}*"):
                left.unlink(missing_ok=True)

    def all(self) -> Iterator[tuple[str, int]]:
        """Yield each object. One whose bytes have not all arrived is there once for each try."""
        for file in self.folder.glob("*/*"):
            object_id = file.name.partition(".")[0]
            with contextlib.suppress(FileNotFoundError):  # it has just gone
                if is_uuid(object_id):
                    yield object_id, file.stat().st_size


class Arriving:
    """The bytes of an object that are arriving. They become the object as a whole or not at all.

    incoming: the folder for what is not whole. place: of the object.
    """

    def __init__(self, incoming: Path, place: Path, expected: Expected) -> None:
        self._place, self._expected = place, expected
        self._size, self._sha256 = 0, hashlib.sha256()
        self._made = incoming / f"{place.name}.{secrets.token_hex(8)}"
        self._file = os.open(self._made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)

    def write(self, piece: bytes) -> None:
        """Write a piece. Raises WrongBytesError if there are more bytes than expected."""
        self._size += len(piece)
        if self._size > self._expected.size:
            raise WrongBytesError(f"more than {self._expected.size} bytes")
        self._sha256.update(piece)
        with _failing():
            left = memoryview(piece)
            while left:
                left = left[os.write(self._file, left) :]

    def keep(self) -> None:
        """Make the bytes the object, for good.

        Raises WrongBytesError for others than expected, FileNotFoundError if the object was deleted
        meanwhile.
        """
        if self._size != self._expected.size:
            raise WrongBytesError(f"{self._size} bytes, not {self._expected.size}")
        if self._sha256.hexdigest() != self._expected.sha256:
            raise WrongBytesError(f"their SHA-256 is {self._sha256.hexdigest()}")
        with _failing():
            os.fsync(self._file)
            try:
                self._place.parent.mkdir(mode=0o700, exist_ok=True)
                self._made.replace(self._place)
                for folder in (self._place.parent, self._place.parent.parent):
                    sync(folder)
            except FileNotFoundError as error:
                folders = self._made.parent.exists() and self._place.parent.exists()
                if self._made.exists() or not folders:
                    raise _failed(error) from error
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)
        self._made.unlink(missing_ok=True)


def sync(place: Path) -> None:
    """Have the disk keep a file, or the names in a folder, where the system can do that."""
    if os.name != "nt":
        opened = os.open(place, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _require_id(object_id: str) -> None:
    if not is_uuid(object_id):
        raise ValueError("an object id is a UUID")


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # after fork() the folder belongs to the other one
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _failing() -> Iterator[None]:
    """Raise StoreFailedError for an error of the disk. It names no file."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _failed(error) from error


def _failed(error: OSError) -> StoreFailedError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    denied = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    reason = "full" if full else "read_only" if denied else "failed"
    return StoreFailedError(
        f"attachments cannot be kept or read: {os.strerror(error.errno or 0)}", reason=reason
    )
