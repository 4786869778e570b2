# Made from the module of the same name in `asynchronous/` by `python -m tools.client`.
"""Lists as iterables: page after page is asked for while one goes on."""

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from forklore.client.errors import InputError, UnexpectedAnswerError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a list. cursor: where the list goes on; None where it ends."""

    data: Sequence[T]
    cursor: str | None


def refuse_paging(given: Mapping[str, object], instead: str) -> None:
    """Refuse the arguments of an operation that choose one page: a list asks for all of them.

    instead: what to do in their place, in words. Raises InputError.
    """
    taken = given.keys() & {"limit", "tail", "after_cursor", "before_cursor"}
    if taken:
        told = f"{instead}; `.list(limit=…)` ends earlier"
        raise InputError(told, details={"field": min(taken)})


class Pages(Generic[T]):
    """A list of any length. `for one in pages` goes through it; each walk begins anew.

    fetch: returns the page at a cursor; None: the first one.
    """

    def __init__(self, fetch: Callable[[str | None], Page[T]]) -> None:
        self._fetch = fetch

    def pages(self) -> "PageWalk[T]":
        """Go through the pages. A page may be short, even empty, and the list still goes on.

        The walk raises UnexpectedAnswerError for a list that goes in a circle.
        """
        return PageWalk(self._fetch)

    def __iter__(self) -> "Walk[T]":
        return Walk(self.pages())

    def list(self, *, limit: int | None = None) -> builtins.list[T]:
        """Return what the list holds, the first `limit` of it if that is given."""
        found: builtins.list[T] = []
        if limit is not None and limit <= 0:
            return found
        for page in self.pages():
            found += page.data
            if limit is not None and len(found) >= limit:
                return found[:limit]
        return found

    def first(self) -> T | None:
        """Return the first of the list; None if it is empty."""
        found = self.list(limit=1)
        return found[0] if found else None


class PageWalk(Generic[T]):
    """One walk through the pages of a list."""

    def __init__(self, fetch: Callable[[str | None], Page[T]]) -> None:
        self._fetch = fetch
        self._cursor: str | None = None
        self._followed: set[str] = set()
        self._is_over = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Page[T]:
        if self._is_over:
            raise StopIteration
        page = self._fetch(self._cursor)
        cursor = page.cursor
        if cursor in self._followed:
            raise UnexpectedAnswerError("the list comes back to a page that was there before")
        if cursor is None:
            self._is_over = True
        else:
            self._followed.add(cursor)
        self._cursor = cursor
        return page


class Walk(Generic[T]):
    """One walk through what a list holds."""

    def __init__(self, pages: PageWalk[T]) -> None:
        self._pages = pages
        self._held: Iterator[T] = iter(())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        while True:
            for one in self._held:
                return one
            self._held = iter((self._pages.__next__()).data)
