"""JSON text as bytes in an item: compressed when that is smaller, in chunks when large.

A body is JSON text, which never begins with an `x`. So its first byte tells its encoding: `x` is
zlib, all others are text.
"""

import zlib

from forklore_service.domain.model import StoredEntry

INLINE_BYTES_MAX = 32 * 1024
CHUNK_BYTES = 350 * 1024
_ZLIB_FIRST_BYTE = b"x"


def encode(text: str) -> bytes:
    """Return `text` in UTF-8, or zlib-compressed where that is smaller."""
    plain = text.encode()
    packed = zlib.compress(plain)
    return packed if len(packed) < len(plain) else plain


def decode(body: bytes) -> str:
    """Return the text that `encode` was given."""
    return (zlib.decompress(body) if body[:1] == _ZLIB_FIRST_BYTE else body).decode()


def stored_bytes(stored: StoredEntry) -> int:
    """Return about how many bytes the content of an entry takes where it is stored."""
    entry = stored.entry
    body = stored.chunks * CHUNK_BYTES or len(stored.body)
    return body + sum(len((text or "").encode()) for text in (entry.indexed_content, entry.metadata))


def chunks(body: bytes) -> list[bytes]:
    """Return the parts of a body too large for its entry; none for one that fits."""
    if len(body) <= INLINE_BYTES_MAX:
        return []
    return [body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES)]
