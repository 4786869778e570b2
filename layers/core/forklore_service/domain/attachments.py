"""Attachments: files beside the log, which entries name."""

import hashlib
import re
import unicodedata
from enum import StrEnum
from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.ids import is_uuid
from forklore_service.limits import ATTACHMENT_BYTES_MAX, ATTACHMENT_NAME_BYTES_MAX

TYPE_LETTERS_MAX = 127
TYPE_PATTERN = r"^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$"
"""A type and a subtype, without parameters."""
SHA256_PATTERN = "^[0-9a-f]{64}$"
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What makes a name read in another order than it is written."""
PENDING_SECONDS = 24 * 3600
"""For how long an attachment waits for an entry, since its owner was last told of it."""
ADDRESS_SECONDS = 900
"""How long an address to send bytes to is valid."""
_CLOCK_SECONDS, _LATE_SECONDS = 60, 3600
"""How far clocks may differ, and how long what began in time may take to arrive."""


class FileState(StrEnum):
    """PENDING: nobody has seen its bytes yet. REMOVED: an admin has removed them."""

    PENDING = "pending"
    READY = "ready"
    REMOVED = "removed"


class Reference(NamedTuple):
    """An entry that names an attachment."""

    attachment_id: str
    group_id: str
    entry_id: str


class File(NamedTuple):
    """An attachment. Its bytes lie in the store of objects, under its id.

    owner: who has uploaded it; None: the user was erased. sha256: of its bytes, in hexadecimal
    digits. named: how often an entry has named it, which never falls. named_by: the tree and the
    entry that did so last.
    is_pending: whether its bytes were not seen yet. is_removed: whether an admin has removed them.
    is_going: whether nothing names it, and nothing may name it any more.
    asked: when the owner was last told, for an upload of the same bytes, that there is one.
    due: when the sweep looks at it, for which there is a job; None: no job.
    Of one that is going only its times are kept.
    """

    attachment_id: str
    created_at: str
    owner: str | None = None
    content_type: str = ""
    size: int = 0
    sha256: str = ""
    name: str = ""
    named: int = 0
    named_by: Reference | None = None
    is_pending: bool = False
    is_removed: bool = False
    is_going: bool = False
    asked: str | None = None
    due: str | None = None

    @property
    def told_at(self) -> str:
        """When its owner was last told where to send its bytes, or that they are there."""
        return self.asked or self.created_at

    def next_look(self, now_ms: int) -> str | None:
        """Return when bytes that came late are deleted again, if it is removed or going.

        None: none can come any more. An address to send them to stays valid for a while, and what
        was begun in time may take long.
        """
        ends_ms = ids.milliseconds(self.told_at) + 1000 * (ADDRESS_SECONDS + _CLOCK_SECONDS)
        looks = (ends_ms, ends_ms + 1000 * _LATE_SECONDS)
        return next((ids.timestamp(at_ms) for at_ms in looks if at_ms > now_ms), None)

    @property
    def state(self) -> FileState:
        if self.is_removed:
            return FileState.REMOVED
        return FileState.PENDING if self.is_pending else FileState.READY

    @property
    def can_be_named(self) -> bool:
        return not (self.is_going or self.is_removed)


def when_unnamed(now_ms: int) -> str:
    """Return when an attachment is looked at of which somebody is told now."""
    return ids.timestamp(now_ms + PENDING_SECONDS * 1000)


class NamedFile(NamedTuple):
    """What the content of an entry says of an attachment. name: as the entry calls it."""

    attachment_id: str
    name: str | None


def check(file: File) -> None:
    """Raise ValueError for an attachment that no upload makes."""
    check_name(file.name)
    is_type = len(file.content_type) <= TYPE_LETTERS_MAX and _is_like(TYPE_PATTERN, file.content_type)
    is_hash = _is_like(SHA256_PATTERN, file.sha256)
    if not (is_type and is_hash and is_uuid(file.attachment_id)):
        raise ValueError("its id, its type or its hash has another form")
    if not 1 <= file.size <= ATTACHMENT_BYTES_MAX:
        raise ValueError(f"must have 1 to {ATTACHMENT_BYTES_MAX} bytes")


def _is_like(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def check_name(name: str) -> None:
    """Raise ValueError for what is no plain name of a file.

    >>> check_name("../etc")
    Traceback (most recent call last):
    ValueError: must hold no slash, no control character, and none that turns the direction of text
    """
    if not 1 <= len(name.encode()) <= ATTACHMENT_NAME_BYTES_MAX:
        raise ValueError(f"must have 1 to {ATTACHMENT_NAME_BYTES_MAX} bytes of UTF-8")
    if name in (".", ".."):
        raise ValueError("must be a name of a file, not of a folder")
    if any(map(_is_refused, name)):
        raise ValueError(
            "must hold no slash, no control character, and none that turns the direction of text"
        )


def _is_refused(character: str) -> bool:
    return character in "/\\" or character in _BIDI or unicodedata.category(character) in ("Cc", "Cs")


def digest_of_type(content_type: str) -> str:
    """Return what stands for a content type in a key."""
    return hashlib.sha256(content_type.encode()).hexdigest()[:16]
