"""Where the bytes of attachments lie: S3, or a folder. What they are of, the table knows.

An object is written once, as a whole, and never changed.
"""

import re
from collections.abc import Iterator
from io import BufferedIOBase
from typing import NamedTuple, Protocol
from urllib.parse import quote

from forklore_service.domain.attachments import ADDRESS_SECONDS

VALID_SECONDS = ADDRESS_SECONDS
LINK_SECONDS, LINK_SAME_SECONDS = 900, 300
"""How long a link is valid at most, and for how long the same link is given."""
_SHOWN = re.compile(r"(?:image|audio|video)/[^+]+(?<!svg)")
_ACTIVE = re.compile(r"html|script|svg|css|[/+]xml|^multipart/|^message/|flash")
_HARMLESS_ASCII = re.compile(r"[^A-Za-z0-9._ -]")


class Expected(NamedTuple):
    """What the bytes of an object must be. sha256: 64 hexadecimal digits in lower case."""

    content_type: str
    size: int
    sha256: str


class Upload(NamedTuple):
    """The request that brings the bytes: nothing else is taken there. expires_at: a timestamp."""

    method: str
    url: str
    headers: dict[str, str]
    expires_at: str


class Link(NamedTuple):
    """Where everybody who has the address may read the bytes. expires_at: a timestamp."""

    url: str
    expires_at: str


class Objects(Protocol):
    """The objects of a deployment. An object id is a fresh UUID; others are refused by ValueError.

    Each method but `link` and `upload` raises UnavailableError or StoreFailedError if the store
    does not do its work.
    """

    def upload(self, object_id: str, expected: Expected) -> Upload:
        """Return the request that brings the bytes. It can be sent again until they are whole."""
        ...

    def store(self, object_id: str, content: BufferedIOBase, expected: Expected) -> None:
        """Keep the bytes of a file that is at its start, and never hold all of them.

        Raises WrongBytesError if they are not the expected ones.
        """
        ...

    def read(self, object_id: str) -> Iterator[bytes]:
        """Yield the bytes, piece by piece. Raises WrongBytesError if there are none."""
        ...

    def holds(self, object_id: str, expected: Expected) -> bool:
        """Tell whether the bytes are there, whole, and the expected ones."""
        ...

    def link(self, object_id: str, *, name: str, content_type: str) -> Link:
        """Return a link to the bytes. It asks nobody, so the object may be missing.

        name: of the file that who follows it gets.
        """
        ...

    def delete(self, object_id: str) -> None:
        """Delete the bytes, also those of an upload that was not finished. It may be repeated."""
        ...

    def all(self) -> Iterator[tuple[str, int]]:
        """Yield each object and its size, in no order."""
        ...


class WrongBytesError(ValueError):
    """Bytes that are not the expected ones: another number, another checksum, or none."""


def disposition(name: str, content_type: str) -> str:
    """Return the Content-Disposition of a download. Only pictures, sound and films are shown.

    Source: RFC 6266, appendix D: the plain name is for who does not know the other form.

    >>> print(disposition('Łódź "1".png', "image/png"))
    inline; filename="__d_ _1_.png"; filename*=UTF-8''%C5%81%C3%B3d%C5%BA%20%221%22.png
    """
    how = "inline" if _SHOWN.fullmatch(content_type.lower()) else "attachment"
    return f"{how}; filename=\"{_HARMLESS_ASCII.sub('_', name)}\"; filename*=UTF-8''{quote(name, safe='')}"


def served_type(content_type: str) -> str:
    """Return the type that a download has: that of something that may run is hidden.

    >>> served_type("image/png"), served_type("image/SVG+xml")
    ('image/png', 'application/octet-stream')
    """
    return "application/octet-stream" if _ACTIVE.search(content_type.lower()) else content_type


def link_end(now_s: float) -> int:
    """Return when a link that is made now ends, in seconds since 1970.

    It is the same for LINK_SAME_SECONDS, so that an answer with links stays the same.

    >>> link_end(1_000_000_000), link_end(1_000_000_199), link_end(1_000_000_200)
    (1000000800, 1000000800, 1000001100)
    """
    return int(now_s) // LINK_SAME_SECONDS * LINK_SAME_SECONDS + LINK_SECONDS
