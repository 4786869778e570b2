"""Which context an agent holds, and what a sync of its present context writes."""

import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from hashlib import sha256
from typing import Any, NamedTuple

from forklore_service.domain.ids import EntryId
from forklore_service.errors import ConflictError

EPOCH_MAX = 2**53
"""The highest epoch there is: the last whole number that every JSON parser reads exactly."""
NAMED_EPOCH_MAX = EPOCH_MAX - 1
"""The highest epoch that a caller may name for an entry, so that a sync after it has one left."""


NO_ELEMENTS = bytes(32)
"""The digest of a context without elements."""
_PLAIN_DIGITS_MAX = 64
"""A whole number of more digits is written with an exponent. No int that was read has more."""


class Epoch(NamedTuple):
    """A client's latest epoch in a view.

    first: its first entry, which may be an inherited one. digest: of all its elements; None: not
    known.
    """

    number: int
    first: EntryId | None
    digest: bytes | None = None


NO_EPOCH = Epoch(0, None, NO_ELEMENTS)
"""A view that shows no context of the client."""


class Sync(NamedTuple):
    """What to write: the elements from `start` on, in `epoch`."""

    epoch: int
    start: int
    increments: bool


def decide_sync(known: bytes, sent: Sequence[Any], *, epoch: int) -> Sync | None:
    """Return what turns the known context into the one sent; None if they are the same.

    known: the digest of the latest epoch. epoch: its number; 0 when there is none.
    Raises ConflictError when a new epoch is needed and none is left.

    >>> decide_sync(digest_of(["a"]), ["a", "b"], epoch=3)
    Sync(epoch=3, start=1, increments=False)
    >>> decide_sync(digest_of(["a"]), ["b"], epoch=3)
    Sync(epoch=4, start=0, increments=True)
    """
    if epoch == 0:
        return Sync(1, 0, increments=False) if sent else None
    digest, count = NO_ELEMENTS, 0
    while digest != known:
        if count == len(sent):
            return _next(epoch)
        digest = digest_of(sent[count : count + 1], after=digest)
        count += 1
    return Sync(epoch, count, increments=False) if count < len(sent) else None


def _next(epoch: int) -> Sync:
    if epoch >= EPOCH_MAX:
        raise ConflictError(f"no epoch is left after {EPOCH_MAX}", reason="no_epoch_left", latestEpoch=epoch)
    return Sync(epoch + 1, 0, increments=True)


def digest_of(elements: Iterable[Any], *, after: bytes = NO_ELEMENTS) -> bytes:
    """Return the digest of a context, 32 bytes: of its elements in order, however they are spelled.

    after: the digest of the elements that come before these.

    >>> digest_of(["a", "b"]) == digest_of(["b"], after=digest_of(["a"]))
    True
    """
    return joined(after, map(hash_of, elements))


def hash_of(element: Any) -> bytes:
    return sha256(canonical(element).encode()).digest()


def joined(digest: bytes, hashes: Iterable[bytes]) -> bytes:
    """Return the digest of a context with more elements, which are given by their hashes."""
    for one in hashes:
        digest = sha256(digest + one).digest()
    return digest


def canonical(value: Any) -> str:
    """Return one text for all spellings of a JSON value: numbers by value, names in one order.

    >>> canonical({"b": [True], "a": Decimal("1.0")}), canonical(Decimal("0.10"))
    ('{"a":1,"b":[true]}', '1e-1')
    """
    return _MARKED_NUMBER.sub(r"\1", _ENCODER.encode(value))


def _number(value: Decimal) -> str:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "JSON has no NaN and no infinity"
    text = "".join(map(str, digits))
    significant = text.rstrip("0")
    exponent += len(text) - len(significant)
    if not significant:
        return "0"
    if 0 <= exponent <= _PLAIN_DIGITS_MAX - len(significant):
        return "-" * sign + significant + "0" * exponent
    return "-" * sign + f"{significant}e{exponent}"


def _marked(value: Decimal) -> str:
    """Return a number as a text that nobody can send: it begins with half of a surrogate pair."""
    return "\udc00" + _number(value)


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_marked)
_MARKED_NUMBER = re.compile(r'"\\udc00([^"]*)"')
