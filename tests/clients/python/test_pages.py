"""Lists: with and without `await`, on asyncio and trio."""

from collections.abc import Awaitable, Callable, Mapping

import anyio
import anyio.lowlevel
import pytest

from forklore.client.asynchronous.pages import AsyncPages
from forklore.client.asynchronous.pages import Page as AsyncPage
from forklore.client.errors import UnexpectedAnswerError
from forklore.client.synchronous.pages import Page, Pages

Table = Mapping[str | None, tuple[list[int], str | None]]
"""What each cursor brings: the page's rows, and the next cursor."""

THREE: Table = {None: ([1, 2], "b"), "b": ([], "c"), "c": ([3], None)}
CIRCLE: Table = {None: ([1], "b"), "b": ([2], "c"), "c": ([3], "b")}
SAME: Table = {None: ([], "b"), "b": ([], "b")}
EMPTY: Table = {None: ([], None)}
MODES = ["sync", "asyncio", "trio"]


class Fetched:
    """Brings pages from a table. asked: the cursors that were asked for."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.asked: list[str | None] = []

    def sync(self, cursor: str | None) -> Page[int]:
        self.asked.append(cursor)
        return Page(*self._table[cursor])

    async def later(self, cursor: str | None) -> AsyncPage[int]:
        await anyio.lowlevel.checkpoint()
        self.asked.append(cursor)
        return AsyncPage(*self._table[cursor])


def walked(mode: str, fetched: Fetched, *, stop_after: int | None = None) -> list[int]:
    """Return what an iteration through the list sees. stop_after: it is left after so many."""
    found: list[int] = []
    if mode == "sync":
        for one in Pages(fetched.sync):
            found.append(one)
            if len(found) == stop_after:
                break
        return found

    async def walk() -> None:
        async for one in AsyncPages(fetched.later):
            found.append(one)
            if len(found) == stop_after:
                break

    anyio.run(walk, backend=mode)
    return found


def listed(mode: str, fetched: Fetched, limit: int | None = None) -> list[int]:
    if mode == "sync":
        return Pages(fetched.sync).list(limit=limit)
    return anyio.run(lambda: AsyncPages(fetched.later).list(limit=limit), backend=mode)


def first(mode: str, fetched: Fetched) -> int | None:
    if mode == "sync":
        return Pages(fetched.sync).first()
    return anyio.run(AsyncPages(fetched.later).first, backend=mode)


def rows_of_pages(mode: str, fetched: Fetched) -> list[list[int]]:
    if mode == "sync":
        return [list(page.data) for page in Pages(fetched.sync).pages()]

    async def walk() -> list[list[int]]:
        return [list(page.data) async for page in AsyncPages(fetched.later).pages()]

    return anyio.run(walk, backend=mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_list_goes_on_over_an_empty_page(mode: str) -> None:
    fetched = Fetched(THREE)

    assert walked(mode, fetched) == [1, 2, 3]
    assert fetched.asked == [None, "b", "c"]
    assert listed(mode, Fetched(THREE)) == [1, 2, 3]
    assert rows_of_pages(mode, Fetched(THREE)) == [[1, 2], [], [3]]


@pytest.mark.parametrize("mode", MODES)
def test_a_list_may_be_empty(mode: str) -> None:
    assert walked(mode, Fetched(EMPTY)) == listed(mode, Fetched(EMPTY)) == []
    assert first(mode, Fetched(EMPTY)) is None


@pytest.mark.parametrize("mode", MODES)
def test_nothing_more_is_asked_for_than_is_needed(mode: str) -> None:
    for limit, asked in (
        (0, []),
        (-1, []),
        (1, [None]),
        (2, [None]),
        (3, [None, "b", "c"]),
        (9, [None, "b", "c"]),
    ):
        fetched = Fetched(THREE)
        assert listed(mode, fetched, limit) == [1, 2, 3][: max(limit, 0)]
        assert fetched.asked == asked

    fetched = Fetched(THREE)
    assert walked(mode, fetched, stop_after=2) == [1, 2]
    assert fetched.asked == [None]
    fetched = Fetched(THREE)
    assert first(mode, fetched) == 1
    assert fetched.asked == [None]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("table", [CIRCLE, SAME])
def test_a_list_that_goes_in_a_circle_is_an_error_and_not_endless(mode: str, table: Table) -> None:
    fetched = Fetched(table)
    with pytest.raises(UnexpectedAnswerError, match="comes back to a page"):
        walked(mode, fetched)

    assert len(fetched.asked) == len(table)
    with pytest.raises(UnexpectedAnswerError):
        listed(mode, Fetched(table))


@pytest.mark.parametrize("mode", MODES)
def test_each_walk_begins_anew(mode: str) -> None:
    if mode == "sync":
        pages = Pages(Fetched(THREE).sync)
        assert list(pages) == list(pages) == [1, 2, 3]
        walk = iter(pages)
        assert [next(walk), *walk, *walk] == [1, 2, 3]
        return

    later: Callable[[str | None], Awaitable[AsyncPage[int]]] = Fetched(THREE).later

    async def twice() -> list[int]:
        many = AsyncPages(later)
        return [one async for one in many] + [one async for one in many]

    assert anyio.run(twice, backend=mode) == [1, 2, 3, 1, 2, 3]
