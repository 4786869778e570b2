"""The vectors of what a conversation says, one for each piece of a history entry. Pure.

An entry never changes, so a vector is made once. A fork shows the entries of others, and so their
vectors: none is copied.
"""

import math
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import mul
from typing import NamedTuple

from forklore_service.domain.ids import FIRST, EntryId

DECIMALS = 4
"""How near an entry is, is told in so many decimals. Equal ones are in the order of their age."""


INDEXED_MAX = 127
"""The largest number of a vector in the index."""


class Vector(NamedTuple):
    """The vector of a piece of an entry. model: what made it. packed: its numbers, as that does.

    packed: empty if the model refuses the piece's text, which then has none and is not asked for
    again. shelf: where a search over all trees finds it; None: it does not.
    """

    conversation_id: str
    entry_id: EntryId
    piece: int
    model: str
    packed: bytes
    shelf: str | None = None


def indexed(packed: bytes) -> list[int]:
    """Return the numbers of a packed vector, whose length is 1, as the index compares them.

    packed: two bytes a number, the lower one first. A cosine knows no length, so they are made as
    large as one byte allows.

    >>> indexed(array("h", [3, -6]).tobytes()), indexed(array("h", [0, 0]).tobytes())
    ([64, -127], [0, 0])
    """
    numbers = array("h")
    numbers.frombytes(packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    most = max(map(abs, numbers), default=0) or 1
    return [round(INDEXED_MAX * number / most) for number in numbers]


def cosine(one: Sequence[int], other: Sequence[int]) -> float:
    """Return how near two vectors are; 0 if one has no direction.

    >>> cosine([3, 4], [6, 8]), cosine([1, 0], [0, 0])
    (1.0, 0.0)
    """
    products: int = sum(map(mul, one, other))
    return products / (math.hypot(*one) * math.hypot(*other) or 1)


class Known(NamedTuple):
    """The vectors of a conversation's own entries, oldest first.

    stop: each history entry before this position has its vectors, or has no text.
    entry_ids: whose each vector is. packed: all of them, one after another, equally long.
    """

    stop: EntryId = FIRST
    entry_ids: Sequence[EntryId] = ()
    packed: bytes = b""

    def and_then(self, stop: EntryId, vectors: Iterable[Vector]) -> "Known":
        """Return these vectors with those of later entries, which are all before `stop`."""
        later = sorted(filter(lambda one: one.packed, vectors), key=lambda one: (one.entry_id, one.piece))
        return Known(
            stop,
            (*self.entry_ids, *(one.entry_id for one in later)),
            b"".join([self.packed, *(one.packed for one in later)]),
        )

    def before(self, stop: EntryId) -> "Known":
        """Return those of the entries before a position."""
        count = bisect_left(self.entry_ids, stop)
        if count == len(self.entry_ids):
            return self
        return Known(stop, self.entry_ids[:count], self.packed[: count * self._bytes_of_one])

    @property
    def _bytes_of_one(self) -> int:
        return len(self.packed) // len(self.entry_ids)


Near = tuple[float, EntryId]
"""How near an entry is to a question. Nearer ones are larger, and newer ones of equals."""


def nearest_first(entry_ids: Iterable[EntryId], near: Iterable[float]) -> list[Near]:
    """Return how near each entry is, which is as near as its nearest piece; newest first of equals.

    >>> nearest_first([EntryId("a"), EntryId("b"), EntryId("b")], [0.25, -1.0, 0.25])
    [(0.25, 'b'), (0.25, 'a')]
    """
    best: dict[EntryId, float] = {}
    for entry_id, one in zip(entry_ids, near, strict=True):
        if one > best.get(entry_id, -2.0):
            best[entry_id] = one
    return sorted([(round(one, DECIMALS), entry_id) for entry_id, one in best.items()], reverse=True)
