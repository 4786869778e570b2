"""Reads a thread from its end."""

from itertools import takewhile

from forklore import BadRequestError, NotFoundError
from forklore.adapters.langgraph.records import Thread
from forklore.adapters.running import Steps

PAGE_ENTRIES = 16
"""Of the first page for the latest checkpoint. It often has all that is needed."""
LONG_PAGE_ENTRIES, WHOLE_PAGE_ENTRIES = 64, 1000
"""Of the first page for a few checkpoints, or an older one; and for a whole thread."""
PAGES_GROW = 4
"""Each further page is so many times larger. An entry of a long thread may be large."""


class Reading:
    """Reads a thread page by page, from its end; after its branch of now those that it has left.

    of: the conversation's name or id. found: what was read. last: the id of the last entry.
    """

    def __init__(self, page_entries: int, **of: str) -> None:
        self._of = of
        self._page_entries = page_entries
        self._begin()

    def _begin(self) -> None:
        self.found = Thread()
        self.last: str | None = None
        self._cursor: str | None = None
        self._branches = 0
        self._seen: set[str] = set()

    def page(self) -> Steps[bool]:
        """Read a page; return whether there is more. A name that has moved is read anew."""
        left = self.found.left or []
        of = {"conversation_id": left[self._branches - 1]} if self._branches else self._of
        operation = "list_entries_by_name" if "name" in of else "list_entries"
        begin = {"tail": True} if self._cursor is None else {"before_cursor": self._cursor}
        try:
            page = yield operation, {**of, "channel": "history", "limit": self._page_entries, **begin}
        except NotFoundError:
            if self._branches:  # somebody has deleted it
                return self._turn()
            self._begin()
            self.found.end()
            return False
        except BadRequestError as error:
            if self._cursor is None or error.code != "invalid_cursor":
                raise
            self._begin()
            return True
        # What stands before an entry is the same in all branches.
        fresh = list(takewhile(lambda entry: entry.id not in self._seen, page.data[::-1]))
        self._seen.update(entry.id for entry in fresh)
        self.found.take(fresh)
        self.last = self.last or (page.data[-1].id if page.data else None)
        self._page_entries = min(self._page_entries * PAGES_GROW, WHOLE_PAGE_ENTRIES)
        self._cursor = page.before_cursor if len(fresh) == len(page.data) else None
        return self._cursor is not None or self._turn()

    def _turn(self) -> bool:
        """Turn to the next branch that the thread has left; return whether there is one."""
        self._cursor = None
        self._branches += 1
        if self._branches > len(self.found.left or []):
            self.found.end()
        return not self.found.is_all


def read_all(**of: str) -> Steps[Reading]:
    """Read a whole thread."""
    reading = Reading(WHOLE_PAGE_ENTRIES, **of)
    while (yield from reading.page()):
        pass
    return reading
