"""The vectors that this process has read. They never change, so nothing has to be read again.

An erasure in another process does not reach them. It reaches the entries, without which a vector
shows nothing.
"""

import threading
from collections import OrderedDict

from forklore_service.domain.ids import EntryId
from forklore_service.domain.vectors import Known

BYTES_MAX = 64_000_000
"""So much is kept: 60,000 vectors of 512 numbers."""
ID_BYTES = 100
"""About so many bytes an entry id takes."""

Of = tuple[str, str, str]
"""A tree, a conversation and a model."""


class VectorCache:
    """A bounded, thread-safe cache. It drops the least recently used first.

    shelves: of trees, which never change. ends: each own history entry of a conversation up to this
    one has its vectors, or has no text. These two are small, and are not bounded.
    """

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._max = bytes_max
        self._bytes = 0
        self._known: OrderedDict[Of, Known] = OrderedDict()
        self._lock = threading.Lock()
        self.shelves: dict[str, str] = {}
        self.ends: dict[Of, EntryId] = {}

    def get(self, of: Of) -> Known:
        with self._lock:
            if of in self._known:
                self._known.move_to_end(of)
            return self._known.get(of, Known())

    def put(self, of: Of, known: Known) -> None:
        with self._lock:
            self._bytes += _bytes(known) - _bytes(self._known.pop(of, Known()))
            self._known[of] = known
            while self._bytes > self._max:
                _, dropped = self._known.popitem(last=False)
                self._bytes -= _bytes(dropped)


def _bytes(known: Known) -> int:
    return len(known.packed) + ID_BYTES * len(known.entry_ids)
