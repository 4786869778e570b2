"""Reads a thread from its end."""

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
    """Reads a thread page by page, from its end.

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

    def page(self) -> Steps[bool]:
        """Read a page; return whether there is more. A name that has moved is read anew."""
        operation = "list_entries_by_name" if "name" in self._of else "list_entries"
        begin = {"tail": True} if self._cursor is None else {"before_cursor": self._cursor}
        try:
            page = yield operation, {**self._of, "channel": "history", "limit": self._page_entries, **begin}
        except NotFoundError:
            self._begin()
            self.found.end()
            return False
        except BadRequestError as error:
            if self._cursor is None or error.code != "invalid_cursor":
                raise
            self._begin()
            return True
        self.found.take(page.data[::-1])
        self.last = self.last or (page.data[-1].id if page.data else None)
        self._cursor = page.before_cursor
        self._page_entries = min(self._page_entries * PAGES_GROW, WHOLE_PAGE_ENTRIES)
        if self._cursor is None:
            self.found.end()
        return not self.found.is_all


def read_all(**of: str) -> Steps[Reading]:
    """Read a whole thread."""
    reading = Reading(WHOLE_PAGE_ENTRIES, **of)
    while (yield from reading.page()):
        pass
    return reading
