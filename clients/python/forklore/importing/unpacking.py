"""Files that are compressed by zstd, as Codex keeps sessions that nobody has used for a while."""

import io
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from forklore.extras import needing
from forklore.importing.foreign_trees import MalformedFileError

ZSTD = b"\x28\xb5\x2f\xfd"
PACKED = ".zst"
"""How the name of such a file ends."""
UNPACKED_BYTES, UNPACKED_TIMES = 10_000_000, 100
"""How large what is packed may become, in bytes or times its own. Of texts it is 5 to 20 times."""
CHUNK_BYTES = 128 * 1024


@dataclass(slots=True)
class Measure:
    """How far a file is read, in bytes."""

    total: int = 0
    read: int = 0

    @property
    def share(self) -> float:
        """How much of the file is read, from 0 to 1."""
        return min(1.0, self.read / self.total) if self.total else 0.0


class Counted(io.RawIOBase):
    """A stream that notes how much of it is read."""

    def __init__(self, stream: Any, measure: Measure) -> None:
        self._stream, self._measure = stream, measure

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what comes next."""
        text = self._stream.read(len(buffer))
        buffer[: len(text)] = text
        self._measure.read += len(text)
        return len(text)


def unpacked(stream: io.BufferedReader) -> io.BufferedReader:
    """Return a stream itself, or what it unpacks to.

    To read on raises MalformedFileError where the stream is damaged, or unpacks to too much.
    """
    if not stream.peek(len(ZSTD)).startswith(ZSTD):
        return stream
    return io.BufferedReader(_Unpacked(stream), CHUNK_BYTES)


def zstd_module() -> ModuleType:
    """Return the library, which Python has since 3.14. Raises MissingExtraError."""
    with needing("cli"):
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    return zstd


class _Unpacked(io.RawIOBase):
    """What a stream unpacks to, up to a bound."""

    def __init__(self, stream: io.BufferedReader) -> None:
        zstd = zstd_module()
        self._packed, self._bytes = Measure(), 0
        self._file = zstd.ZstdFile(Counted(stream, self._packed))
        self._errors = (zstd.ZstdError, EOFError)

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack what comes next. Raises MalformedFileError."""
        try:
            text = self._file.read(len(buffer))
        except self._errors as error:
            raise MalformedFileError(f"damaged zstd: {error}") from error
        buffer[: len(text)] = text
        self._bytes += len(text)
        if self._bytes > max(UNPACKED_BYTES, UNPACKED_TIMES * self._packed.read):
            said = f"the file unpacks to {self._bytes:,} bytes and more: no program writes such a one"
            raise MalformedFileError(said)
        return len(text)
