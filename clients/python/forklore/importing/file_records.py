"""The JSON values of a file one by one: JSON Lines, one array, or one object.

Only one value is held in memory at a time. An element of an array whose digest tells that nothing
of it is to do is not even read.
"""

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from zipfile import ZipExtFile

from forklore.client import jsontext
from forklore.importing.foreign_trees import MalformedFileError

RECORD_BYTES_MAX = 256 * 1024 * 1024
"""The longest line of a file, or element of its array: one conversation, with the files in it."""
VALUES_MAX = 1_000_000
"""The most values in one of them. Each takes up to a hundred times its bytes when it is read."""
CHUNK_BYTES = 1024 * 1024
_MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
_FOREIGN_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SPACE = b" \t\r\n"
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_TOKEN = re.compile(rb"(?:[^\[\]{},\"]++|" + _STRING + rb")*+([\[\]{},])", re.DOTALL)
"""What comes before a bracket or a comma, and it."""
_BRACKET = re.compile(rb"(?:[^\[\]{}\"]++|" + _STRING + rb")*+([\[\]{}])", re.DOTALL)
"""The same inside an element, whose commas need not be seen."""
_TEXT = re.compile(_STRING, re.DOTALL)
_JOINT = re.compile(rb"\}[ \t\r\n]*,[ \t\r\n]*\{[ \t\r\n]*" + _STRING)
Passes = Callable[[str], str]
"""Returns by the digest of a value's text the id of its tree if it is passed over, else nothing."""


@dataclass(slots=True)
class FileRecord:
    """A value of a file, and its place, as `line 3` or `element 12`.

    digest: of its text, if it is an element of an array. Such a text is read when somebody asks
    for the value. passed: the id of its tree, if that is there already.
    """

    _held: Any
    place: str
    digest: str = field(default="", compare=False)
    passed: str = field(default="", compare=False)

    @property
    def value(self) -> Any:
        """The value. Raises MalformedFileError if its text is not JSON in UTF-8."""
        if isinstance(self._held, MalformedFileError):
            raise self._held
        if isinstance(self._held, bytes):
            self._held = _parse(self._held, self.place, RECORD_BYTES_MAX)
        return self._held

    @property
    def problem(self) -> str:
        """What is wrong with a line that is no value; empty if nothing is."""
        return str(self._held) if isinstance(self._held, MalformedFileError) else ""


def records_of(
    stream: BinaryIO, *, bytes_max: int = RECORD_BYTES_MAX, passes: Passes = lambda _digest: ""
) -> Iterator[FileRecord]:
    """Yield the values of a file.

    An array gives its elements. Otherwise each line that is not blank is a value; or else the file
    is one value. Raises MalformedFileError, on reaching it, for a value that is not JSON in UTF-8
    or has more than `bytes_max` bytes; for a line behind the first, when its value is asked for.
    """
    start, line = _first(stream)
    if start == b"[":
        yield from _Elements(stream, bytes_max, passes)
    elif start:
        first = start + stream.readline(bytes_max)
        try:
            value = _parse(first, f"line {line}", bytes_max)
        except MalformedFileError:
            rest = stream.read(max(0, bytes_max + 1 - len(first)))
            if not rest:
                raise
            value, line = _parse_whole(first + rest, line, bytes_max), 0
        yield FileRecord(value, f"line {line}" if line else "the file")
        yield from _lines(stream, line, bytes_max)


def _first(stream: BinaryIO) -> tuple[bytes, int]:
    """Return the first byte that is not white space, and its line. Empty: there is none."""
    line, byte = 1, stream.read(1)
    if byte in (_MARK[:1], b"\xff", b"\xfe"):
        mark = byte + stream.read(1)
        if mark in _FOREIGN_MARKS:
            raise MalformedFileError("line 1: UTF-16, not UTF-8")
        if mark + stream.read(1) != _MARK:
            raise MalformedFileError("line 1: not UTF-8 at byte 1")
        byte = stream.read(1)
    while byte and byte in _SPACE:
        line += byte == b"\n"
        line += _skip(stream)
        byte = stream.read(1)
    return byte, line


def _skip(stream: BinaryIO, *, to_line: bool = False) -> int:
    """Skip the white space that is read already, and return how many lines end in it.

    to_line: not what stands before the next value in its line.
    """
    if not isinstance(stream, io.BufferedReader | ZipExtFile):
        return 0
    ahead = stream.peek(CHUNK_BYTES)
    space = ahead[: len(ahead) - len(ahead.lstrip(_SPACE))]
    skipped = stream.read(space.rfind(b"\n") + 1 if to_line else len(space))
    return skipped.count(b"\n")


def _lines(stream: BinaryIO, line: int, bytes_max: int) -> Iterator[FileRecord]:
    while text := stream.readline(bytes_max + 1):
        line += 1
        if text.strip(_SPACE):
            try:
                value = _parse(text, f"line {line}", bytes_max)
            except MalformedFileError as error:
                if len(text) > bytes_max:
                    raise
                if not text.endswith(b"\n") and _is_open(text):
                    raise UnfinishedError(str(error)) from error
                value = error
            yield FileRecord(value, f"line {line}")
        else:
            line += _skip(stream, to_line=True)


def _is_open(text: bytes) -> bool:
    """Tell whether brackets are open at the end of a text, or where a string does not end."""
    depth = at = 0
    while token := _BRACKET.match(text, at):
        depth, at = depth + (1 if token[1] in b"[{" else -1), token.end()
    return depth > 0


def _parse(text: bytes, place: str, bytes_max: int) -> Any:
    if len(text) > bytes_max:
        raise MalformedFileError(f"{place}: more than {bytes_max:,} bytes")
    _count(text, place)
    try:
        return _value(text.removeprefix(_MARK).decode())
    except UnicodeDecodeError as error:
        raise MalformedFileError(f"{place}: not UTF-8 at byte {error.start + 1}") from error
    except _NotJsonError as error:
        raise MalformedFileError(f"{place}: {error}") from error


def _parse_whole(text: bytes, line: int, bytes_max: int) -> Any:
    """Return the value of a file that is one value; `text` begins in its line `line`."""
    if len(text) > bytes_max:
        raise MalformedFileError(f"line {line}: more than {bytes_max:,} bytes")
    _count(text, f"line {line}")
    try:
        return _value(text.decode())
    except UnicodeDecodeError as error:
        at = line + text.count(b"\n", 0, error.start)
        byte = error.start - text.rfind(b"\n", 0, error.start)
        raise MalformedFileError(f"line {at}: not UTF-8 at byte {byte}") from error
    except _NotJsonError as error:
        raise MalformedFileError(f"line {line + error.line - 1}: {error}") from error


def _count(text: bytes, place: str) -> None:
    """Raise MalformedFileError if JSON text holds more than VALUES_MAX values."""

    def most(text: bytes) -> int:
        return sum(map(text.count, (b",", b"[", b"{")))

    if most(text) > VALUES_MAX and most(_TEXT.sub(b"", text)) > VALUES_MAX:
        raise MalformedFileError(f"{place}: more than {VALUES_MAX:,} values")


class UnfinishedError(MalformedFileError):
    """The last line is no value, and has no end: somebody may be writing it."""


class _NotJsonError(Exception):
    """A text is not one JSON value. line: where, from 1."""

    def __init__(self, reason: str, *, line: int = 1) -> None:
        super().__init__(reason)
        self.line = line


def _value(text: str) -> Any:
    """Return the JSON value in `text`. A number that a float cannot hold is a Decimal."""
    try:
        return jsontext.read(text)
    except json.JSONDecodeError as error:
        raise _NotJsonError(f"not JSON: {error.msg} at column {error.colno}", line=error.lineno) from error
    except ValueError as error:
        raise _NotJsonError(str(error)) from error


class _Elements:
    """The elements of an array, whose first bracket has been read.

    Where an element ends is guessed first: most elements begin with the same name. A guess is right
    if its text is there from an earlier import, or is JSON as a whole. Else brackets are counted.
    """

    def __init__(self, stream: BinaryIO, bytes_max: int, passes: Passes) -> None:
        self._stream, self._bytes_max, self._passes = stream, bytes_max, passes
        self._buffer, self._start, self._number = b"", 0, 1
        self._joint = b""  # what stands between two elements, from a bracket to the name

    def __iter__(self) -> Iterator[FileRecord]:
        is_last = False
        while not is_last:
            record = self._guessed()
            if record is None:
                text, is_last = self._counted()
                if is_last and self._number == 1 and not text.strip(_SPACE):
                    return
                record = self._record(text)
            yield record
            self._number += 1

    def _record(self, text: bytes) -> FileRecord:
        if len(text) > self._bytes_max:
            raise MalformedFileError(f"element {self._number}: more than {self._bytes_max:,} bytes")
        digest = hashlib.sha256(text.strip(_SPACE)).hexdigest()
        return FileRecord(text, f"element {self._number}", digest, self._passes(digest))

    def _guessed(self) -> FileRecord | None:
        """Return the next element, if it ends where the next name stands that begins one."""
        joint, start = self._joint, self._start
        end = self._buffer.find(joint, start) if joint else -1
        if joint and end < 0 and self._reads_more():
            start, end = 0, self._buffer.find(joint)
        if end < 0 or end - start >= self._bytes_max:
            return None
        record = self._record(self._buffer[start : end + 1])
        if not record.passed:
            try:
                _ = record.value
            except MalformedFileError:
                self._joint = b""
                return None
        self._start = end + joint.index(b"{")
        return record

    def _reads_more(self) -> bool:
        """Read on, and let the buffer begin with the element."""
        rest = self._buffer[self._start :]
        more = self._stream.read(max(CHUNK_BYTES, len(rest)))
        self._buffer, self._start = rest + more, 0
        return bool(more)

    def _counted(self) -> tuple[bytes, bool]:
        """Return the text of the next element, and whether it is the last one.

        Raises MalformedFileError if the array does not end, or something follows it.
        """
        at, depth, where = self._start, 0, f"element {self._number}"
        while True:
            token = (_BRACKET if depth else _TOKEN).match(self._buffer, at)
            if token is None:  # the end, or a string that does not end here
                at -= self._start
                if len(self._buffer) - self._start > self._bytes_max:
                    raise MalformedFileError(f"{where}: more than {self._bytes_max:,} bytes")
                if not self._reads_more():
                    raise MalformedFileError(f"{where}: the file ends inside it")
                continue
            at = token.end()
            match token[1]:
                case b"[" | b"{":
                    depth += 1
                case b"]" | b"}" if depth:
                    depth -= 1
                case b"}":
                    raise MalformedFileError(f"{where}: not JSON: a bracket that closes nothing")
                case b"," | b"]" as end if not depth:
                    return self._until(at), end == b"]"

    def _until(self, end: int) -> bytes:
        """Return the element before the comma or bracket that ends there. Learn what follows it."""
        text = self._buffer[self._start : end - 1]
        joint = _JOINT.match(self._buffer, self._start + len(text.rstrip(_SPACE)) - 1)
        self._joint, self._start = joint[0] if joint else b"", end
        if self._buffer[end - 1 : end] == b"]" and (
            self._buffer[end:].strip(_SPACE) or _first(self._stream)[0]
        ):
            raise MalformedFileError("not JSON: something follows the end of the array")
        return text
