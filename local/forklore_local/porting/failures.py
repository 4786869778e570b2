"""Why an export or an import cannot go on. Every message is one line."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from forklore_service.errors import BrokenAncestryError, DamagedError

_UNDECODABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
    BrokenAncestryError,
    DamagedError,
)
"""What reading an item raises that was not written by forklore."""


class PortingError(Exception):
    """An export or an import cannot go on."""


class NoSuchTreeError(PortingError):
    """There is no such tree to export."""


class UnreadableError(PortingError):
    """A tree of the table is damaged, or changes all the time."""


class FormatError(PortingError):
    """A file is no export, or is damaged. The message says where."""


class RefusedError(PortingError):
    """A tree cannot be made in the table."""


class StoppedError(PortingError):
    """The import was asked to stop. What it has made stays, and it can go on."""


class BrokenTreeError(Exception):
    """The items of a tree do not belong together. It may be changing while it is read."""


@contextmanager
def decoding() -> Iterator[None]:
    """Raise FormatError for an item that cannot be decoded. It does not show what is in it."""
    try:
        yield
    except _UNDECODABLE as error:
        raise FormatError(f"an item is damaged ({type(error).__name__})") from error
