"""Makes a browser's picture smaller, without a loss; makes one."""

import struct
import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, RGB = 0, 2


def smaller(png: bytes) -> bytes:
    """Return the same picture in fewer bytes: areas of one colour need no filter.

    png: with eight bits of red, green and blue a pixel, as Chromium writes it.
    Source: PNG specification, third edition, 7.2 to 9.2.
    """
    parts = list(_chunks(png))
    _, head = parts[0]
    width, _, depth, kind, *_, interlace = struct.unpack(">IIBBBBB", head)
    assert (depth, kind, interlace) == (8, RGB, 0), head
    filtered = zlib.decompress(b"".join(data for name, data in parts if name == b"IDAT"))
    rows = b"".join(b"\0" + row for row in _unfiltered(filtered, 3 * width, 3))
    return _written(head, rows)


def grey(width: int = 60, height: int = 40) -> bytes:
    """Return a grey picture."""
    rows = (b"\0" + b"\x80" * width) * height
    return _written(struct.pack(">IIBBBBB", width, height, 8, GREY, 0, 0, 0), rows)


def _written(head: bytes, rows: bytes) -> bytes:
    """Return a picture. rows: each with its filter before it."""
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the name and the data of each chunk."""
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12


def _unfiltered(filtered: bytes, width: int, pixel: int) -> Iterator[bytes]:
    """Yield the rows. width and pixel: how many bytes a row and a pixel have."""
    above = bytes(width)
    for at in range(0, len(filtered), width + 1):
        method, row = filtered[at], bytearray(filtered[at + 1 : at + 1 + width])
        for place in range(width):
            left, corner = (row[place - pixel], above[place - pixel]) if place >= pixel else (0, 0)
            row[place] = (row[place] + _foreseen(method, left, above[place], corner)) & 255
        above = bytes(row)
        yield above


def _foreseen(method: int, left: int, up: int, corner: int) -> int:
    """Return what a filter adds to a byte."""
    if method < 4:
        return (0, left, up, (left + up) // 2)[method]
    guess = left + up - corner
    return min((left, up, corner), key=lambda one: abs(guess - one))
