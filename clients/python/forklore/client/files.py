"""Files that entries name: what a caller hands over, and its bytes on their way.

The bytes go straight to the address that the service names. The address is a credential itself, so
nothing else is sent there, and no log and no error shows it.
"""

import hashlib
import os
import re
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from forklore.client.errors import InputError, TooLargeError, UnexpectedAnswerError
from forklore.client.generated.limits import (
    ATTACHMENT_BYTES_MAX,
    ATTACHMENT_INLINE_BYTES_MAX,
    ATTACHMENT_NAME_BYTES_MAX,
)
from forklore.client.generated.results import AttachedFile, Attachment, Sending
from forklore.client.retrying import Options

FileGiven = str | os.PathLike[str] | tuple[str, bytes] | IO[bytes] | Attachment | AttachedFile
"""A path, a name with bytes, an open file, or what is uploaded already."""
Progress = Callable[[int, int], object]
"""Called with how many bytes have gone so far, and how many there are."""
METHOD = "PUT"
PIECE_BYTES = 256 * 1024
PAUSES_S = (0.5, 2.0, 5.0)
"""How long to wait before bytes that may not have arrived are sent again."""
LINK_SECONDS_MIN = 60
"""A link that ends earlier is not followed any more."""
UNKNOWN_TYPE = "application/octet-stream"
_NOT_IN_NAMES = re.compile(r"[^\w .,;!#$%&'()+=@^~{}\[\]-]")


class Source:
    """A file that is uploaded: its name, type, size and SHA-256. Use it in a `with` statement.

    opened: what is closed at the end of it. content: the bytes, if they are few enough for one
    request.
    """

    def __init__(self, name: str, content_type: str, stream: IO[bytes], opened: ExitStack) -> None:
        self.name, self.content_type = name, content_type
        self._stream, self._start = stream, stream.tell()
        self.size, self._sha256, content = 0, hashlib.sha256(), b""
        while piece := stream.read(PIECE_BYTES):
            _go_on()
            self.size += len(piece)
            self._sha256.update(piece)
            if self.size > ATTACHMENT_BYTES_MAX:
                said = f"{name} has more than {ATTACHMENT_BYTES_MAX:,} bytes, the most of an attachment"
                raise TooLargeError(said, details={"field": "files"})
            content = content + piece if self.size <= ATTACHMENT_INLINE_BYTES_MAX else b""
        if not self.size:
            raise InputError(f"{name} is empty, and nothing to attach", details={"field": "files"})
        self.content = content or None
        self._opened = opened.pop_all()

    @classmethod
    def of(cls, given: Any, name: str | None, content_type: str | None) -> "Source":
        """Return the file that a caller hands over; it is read once, for its SHA-256.

        name: in place of its own. Raises InputError for what is no file, cannot be read or has no
        name, and TooLargeError for one with too many bytes.
        """
        stream, own = _stream_of(given)
        name = own if name is None else name
        with ExitStack() as opened:
            if stream is not given:
                opened.enter_context(stream)
            if not name:
                raise InputError("the file has no name: give one", details={"field": "name"})
            try:
                if not stream.seekable():
                    stream = opened.enter_context(_kept(stream))
                return cls(name, content_type or type_of(name), stream, opened)
            except OSError as error:
                raise _unreadable(name, error) from error

    def fields(self) -> dict[str, Any]:
        """Return the arguments of `upload_attachment`."""
        return {
            "name": self.name,
            "content_type": self.content_type,
            "size": self.size,
            "sha_256": self._sha256.hexdigest(),
            "content": None if self.content is None else b64encode(self.content).decode(),
        }

    def pieces(self, progress: Progress | None) -> Iterator[bytes]:
        """Yield the bytes once more. Raises InputError before the last ones if they are others."""
        self._stream.seek(self._start)
        done, sha256 = 0, hashlib.sha256()
        while done < self.size:
            _go_on()
            piece = self._stream.read(min(PIECE_BYTES, self.size - done))
            done += len(piece)
            sha256.update(piece)
            if not piece or (done == self.size and sha256.digest() != self._sha256.digest()):
                raise InputError(f"{self.name} has changed while it was sent", details={"field": "files"})
            yield piece
            if progress is not None:
                progress(done, self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()


def type_of(name: str) -> str:
    """Return the content type that a file's name tells. It is the same on all machines.

    >>> type_of("casa.jpg"), type_of("logs.tar.gz"), type_of("casa")
    ('image/jpeg', 'application/gzip', 'application/octet-stream')
    """
    from mimetypes import MimeTypes

    kind, encoding = MimeTypes().guess_type(name, strict=False)
    if encoding is not None:
        return "application/gzip" if encoding == "gzip" else UNKNOWN_TYPE
    return kind or UNKNOWN_TYPE


def plain_name(name: str) -> str:
    """Return a name that an attachment may have. Of a long one it is the end.

    >>> plain_name("a/b?.png"), plain_name("..")
    ('a_b_.png', 'file')
    """
    end = name.encode(errors="replace")[-ATTACHMENT_NAME_BYTES_MAX:].decode(errors="ignore")
    plain = _NOT_IN_NAMES.sub("_", end)
    return plain if plain.strip(".") else "file"


def send(to: Sending, address: str, source: Source, progress: Progress | None, options: Options) -> str:
    """Send the bytes of a file once. Return why they may not have arrived; empty if they have.

    Raises InputError if they are others than before, and UnexpectedAnswerError for another method
    than PUT: the service may not choose what else is done at an address.
    """
    from forklore.client.transports.bytes_at import CutOffError, put

    if to.method != METHOD:
        raise UnexpectedAnswerError("the service names another method than PUT for the bytes")
    headers = {**to.headers, "Content-Length": str(source.size)}
    try:
        put(to.method, address, headers, _in_time(source.pieces(progress), options), options.sending_s)
    except CutOffError as error:
        return str(error)
    return ""


class Target:
    """Where a file is written to: a path, which gets it as a whole, or an open file.

    Use it in a `with` statement, and `keep` at its end.
    """

    def __init__(self, to: str | os.PathLike[str] | IO[bytes]) -> None:
        self._size, self._sha256 = 0, hashlib.sha256()
        self._path: Path | None = None
        if isinstance(to, str | os.PathLike):
            self._path = Path(to)
            try:
                number, made = tempfile.mkstemp(prefix=".forklore-", suffix=".part", dir=self._path.parent)
            except OSError as error:
                raise _unreadable(str(self._path.parent), error, field="to") from error
            self._made, self._stream = Path(made), cast("IO[bytes]", os.fdopen(number, "wb"))
        else:
            self._stream = to

    def fetch(
        self, address: str, found: Attachment | AttachedFile, progress: Progress | None, options: Options
    ) -> str:
        """Write what is still missing. Return why something may be missing yet; empty if not."""
        from forklore.client.transports.bytes_at import CutOffError, pieces_at

        try:
            for piece in _in_time(pieces_at(address, self._size, options.sending_s), options):
                _go_on()
                self._size += len(piece)
                if self._size > found.size:
                    raise _other_bytes(found)
                self._stream.write(piece)
                self._sha256.update(piece)
                if progress is not None:
                    progress(self._size, found.size)
        except CutOffError as error:
            return str(error)
        return "" if self._size >= found.size else "not all bytes came"

    def keep(self, found: Attachment) -> None:
        """End the writing. Raises UnexpectedAnswerError if the bytes are not those of the file."""
        if (self._size, self._sha256.hexdigest()) != (found.size, found.sha_256):
            raise _other_bytes(found)
        if self._path is not None:
            self._stream.close()
            try:
                self._made.replace(self._path)
            except OSError as error:
                raise _unreadable(str(self._path), error, field="to") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is not None:
            self._stream.close()
            with suppress(FileNotFoundError):
                self._made.unlink()


def _other_bytes(found: Attachment | AttachedFile) -> UnexpectedAnswerError:
    return UnexpectedAnswerError(f"other bytes came than those of the attachment {found.id}")


def _in_time(pieces: Iterator[bytes], options: Options) -> Iterator[bytes]:
    """Yield the pieces. Raises CutOffError when the time of all calls is over."""
    from forklore.client.transports.bytes_at import CutOffError

    for piece in pieces:
        if not options.left_s:
            raise CutOffError("their time is over")
        yield piece


def is_valid(shown: AttachedFile) -> bool:
    """Tell whether the link that an entry shows is valid for a while yet."""
    ends_at = datetime.fromisoformat(shown.url_expires_at or "1970-01-01T00:00:00Z")
    return ends_at > datetime.now(UTC) + timedelta(seconds=LINK_SECONDS_MIN)


def _stream_of(given: Any) -> tuple[IO[bytes], str | None]:
    """Return a stream of the bytes, and their name if they have one."""
    match given:
        case str() | os.PathLike():
            name = Path(given).name
            try:
                return Path(given).open("rb"), name
            except (OSError, ValueError) as error:
                raise _unreadable(name, error) from error
        case (str(name), bytes() | bytearray() | memoryview() as held):
            return BytesIO(held), name
        case _ if hasattr(given, "read") and hasattr(given, "seekable"):
            own: object = getattr(given, "name", None)
            return given, Path(own).name if isinstance(own, str) else None
    raise InputError(
        f"a file is a path, a name with bytes, or open for reading bytes, not {type(given).__name__}",
        details={"field": "files"},
    )


def _kept(stream: IO[bytes]) -> IO[bytes]:
    """Return a file with the bytes of a stream that is read once, such as a pipe."""
    kept = tempfile.TemporaryFile()  # noqa: SIM115 (the source closes it)
    while kept.tell() <= ATTACHMENT_BYTES_MAX and (piece := stream.read(PIECE_BYTES)):
        _go_on()
        kept.write(piece)
    kept.seek(0)
    return kept


def _unreadable(name: str, error: OSError | ValueError, *, field: str = "files") -> InputError:
    said = error.strerror if isinstance(error, OSError) else "no path"
    return InputError(f"{name}: {said or type(error).__name__}", details={"field": field})


def _go_on() -> None:
    """Raise the cancellation of the task that waits for this thread, if there is such a one."""
    from anyio.from_thread import check_cancelled

    with suppress(RuntimeError):  # no task waits
        check_cancelled()
