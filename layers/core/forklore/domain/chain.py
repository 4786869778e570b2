"""Whether a page holds all that is there: each entry names what was shown last before it.

A transaction becomes visible item by item, so a read may show a later entry and not yet an earlier one. A
reader who goes on behind the later one would miss the earlier one for ever. So the entries that a page's
entries name, and those that HEAD names as the last ones, must be among the page's.
"""

from collections.abc import Iterable

from forklore.domain.ids import EntryId
from forklore.domain.paging import Window


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
        """Note a round: the entries it has read of the page's channels, and those that its entries name."""
        self._read.update(read)
        self._due.update(n for n in named if n is not None and self._window.start <= n < self._window.stop)
        self._due -= self._read

    def missing(self, left: Window | None, *, backward: bool) -> EntryId | None:
        """Return the first entry, in the order of reading, that should have been read; None: none is missing.

        left: what is read next; None: nothing.
        """
        due = [n for n in self._due if left is None or (n >= left.stop if backward else n < left.start)]
        if not due:
            return None
        return max(due) if backward else min(due)
