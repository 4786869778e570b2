"""Whether a page misses an entry: each entry names the entries that were shown last before it.

A transaction becomes visible item by item, so a read may show a later entry and not yet an earlier
one. If the reader then continued after the later one, it would never see the earlier one. So a page
must hold the entries that its own entries name, and those that HEAD names as the last ones.
"""

from collections.abc import Iterable

from forklore_service.domain.ids import EntryId
from forklore_service.domain.paging import Window


class Chain:
    """The entries of a page as they are read round by round, and those that are known to be there.

    window: what is read. last: the last entries that are there, where they are known.
    """

    def __init__(self, window: Window, last: Iterable[EntryId | None]) -> None:
        self._window = window
        self._read: set[EntryId] = set()
        self._due: set[EntryId] = set()
        self.take(read=(), named=last)

    def take(self, *, read: Iterable[EntryId], named: Iterable[EntryId | None]) -> None:
        """Take in a round.

        read: its entries of the page's channels. named: the entries that these name.
        """
        self._read.update(read)
        self._due.update(n for n in named if n is not None and self._window.start <= n < self._window.stop)
        self._due -= self._read

    def missing(self, left: Window | None, *, backward: bool) -> EntryId | None:
        """Return the first missing entry in the order of reading; None if none is missing.

        left: what is read next; None: nothing.
        """
        due = [n for n in self._due if left is None or (n >= left.stop if backward else n < left.start)]
        if not due:
            return None
        return max(due) if backward else min(due)
