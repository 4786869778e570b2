"""The portable file of a whole table: its items as lines, compressed (docs/formats.md)."""

import gzip
import hashlib
import json
import zlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from forklore_local.copying.failures import CopyError, FormatError
from forklore_local.embedded.database import DamagedRowError
from forklore_local.embedded.items import place_of
from forklore_local.embedded.rows import item_in
from forklore_local.embedded.values import InvalidError
from forklore_service.storage.connection import Item

ENDING = ".jsonl.gz"
FORMAT, VERSION = "forklore-table", 3
_HEADER_BYTES_MAX = 1_000
_ITEM, _END = b'{"Item":', b'{"End":'
"""How lines begin. An item stands as in the files of DynamoDB's own exports."""


def line_of(item: Item) -> bytes:
    """Return the line of an item. The same item always has the same line.

    >>> line_of({"PK": {"S": "c"}, "body": {"B": b"no text"}})
    b'{"Item":{"PK":{"S":"c"},"body":{"B":"bm8gdGV4dA=="}}}\\n'
    """
    return _line({"Item": item})


class Writer:
    """Writes a file from its header on, and its last line when it is ended."""

    def __init__(self, stream: IO[bytes], *, at: str) -> None:
        self._stream = gzip.GzipFile(fileobj=stream, mode="wb", filename="", mtime=0)
        self._digest, self._items = hashlib.sha256(), 0
        self._write(_line({"format": FORMAT, "version": VERSION, "writtenAt": at}))

    def put(self, item: Item) -> None:
        self._write(line_of(item))
        self._items += 1

    def end(self) -> None:
        """Write the number of the items, and the digest of all lines before this one."""
        self._write(_end(self._items, self._digest.hexdigest()))
        self._stream.close()

    def _write(self, line: bytes) -> None:
        self._digest.update(line)
        self._stream.write(line)


def read(path: Path) -> Iterator[Item]:
    """Yield the items of a file. Raises FormatError where it is cut or was changed, CopyError."""
    number = 1
    try:
        with gzip.open(path) as stream:
            try:
                for item in _items(stream):
                    number += 1
                    yield item
            except (EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
                why = error if isinstance(error, FormatError) else "the file is cut or was changed"
                raise FormatError(f"{path}: line {number + 1}: {why}") from error
    except OSError as error:
        raise CopyError(f"{path}: {error.strerror}") from error


def _items(stream: gzip.GzipFile) -> Iterator[Item]:
    header = stream.readline(_HEADER_BYTES_MAX)
    _check_header(header)
    digest = hashlib.sha256(header)
    for number, line in enumerate(stream):
        if line.startswith(_END):
            if line != _end(number, digest.hexdigest()) or stream.read(1):
                raise FormatError("the file was changed")
            return
        if not (line.startswith(_ITEM) and line.endswith(b"}\n")):
            raise FormatError("it is no item")
        try:
            item = item_in(line[len(_ITEM) : -2].decode())
            place_of(item)
        except (AttributeError, DamagedRowError, InvalidError) as error:
            raise FormatError("it is no item") from error
        digest.update(line)
        yield item
    raise FormatError("the file is cut")


def _check_header(line: bytes) -> None:
    header = json.loads(line)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FormatError("it is no copy of a table")
    if header.get("version") != VERSION:
        raise FormatError(f"it has version {header.get('version')} of the format, and this reads {VERSION}")


def _end(items: int, sha256: str) -> bytes:
    return _line({"End": {"items": items, "sha256": sha256}})


def _line(value: object) -> bytes:
    return _ENCODER.encode(value).encode() + b"\n"


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=lambda held: b64encode(held).decode()
)
