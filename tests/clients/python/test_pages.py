"""Lists: with and without `await`, on asyncio and trio."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from forklore.client.asynchronous.pages import AsyncPages
from forklore.client.asynchronous.pages import Page as AsyncPage
from forklore.client.errors import UnexpectedAnswerError
from forklore.client.generated.synchronous.pages import Page, Pages
from tests.clients.python.ways import MODES

Table = Mapping[str | None, tuple[list[int], str | None]]
"""What each cursor brings: the page's rows, and the next cursor."""

THREE: Table = {None: ([1, 2], "b"), "b": ([], "c"), "c": ([3], None)}
CIRCLE: Table = {None: ([1], "b"), "b": ([2], "c"), "c": ([3], "b")}
SAME: Table = {None: ([], "b"), "b": ([], "b")}
EMPTY: Table = {None: ([], None)}


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


def made(mode: str, fetched: Fetched) -> Any:
    """Return the list of a mode."""
    return Pages(fetched.sync) if mode == "sync" else AsyncPages(fetched.later)


def run(mode: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function, which is awaited if need be."""
    return function(*arguments) if mode == "sync" else anyio.run(function, *arguments, backend=mode)


def walked(mode: str, walk: Any, *, stop_after: int | None = None) -> list[Any]:
    """Return what an iteration sees. stop_after: it is left after so many."""
    found: list[Any] = []

    async def through() -> None:
        async for one in walk:
            found.append(one)
            if len(found) == stop_after:
                break

    if mode == "sync":
        found.extend(islice(walk, stop_after))
    else:
        anyio.run(through, backend=mode)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_a_list_goes_on_over_an_empty_page(mode: str) -> None:
    fetched = Fetched(THREE)
    pages = made(mode, fetched)

    assert walked(mode, pages) == [1, 2, 3]
    assert fetched.asked == [None, "b", "c"]
    assert walked(mode, pages) == run(mode, pages.list) == [1, 2, 3], "each walk begins anew"
    assert [list(page.data) for page in walked(mode, pages.pages())] == [[1, 2], [], [3]]


@pytest.mark.parametrize("mode", MODES)
def test_a_list_may_be_empty(mode: str) -> None:
    pages = made(mode, Fetched(EMPTY))

    assert walked(mode, pages) == run(mode, pages.list) == []
    assert run(mode, pages.first) is None


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
        listed = partial(made(mode, fetched).list, limit=limit)
        assert run(mode, listed) == [1, 2, 3][: max(limit, 0)]
        assert fetched.asked == asked

    fetched = Fetched(THREE)
    assert walked(mode, made(mode, fetched), stop_after=2) == [1, 2]
    assert fetched.asked == [None]
    fetched = Fetched(THREE)
    assert run(mode, made(mode, fetched).first) == 1
    assert fetched.asked == [None]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("table", [CIRCLE, SAME])
def test_a_list_that_goes_in_a_circle_is_an_error_and_not_endless(mode: str, table: Table) -> None:
    fetched = Fetched(table)
    with pytest.raises(UnexpectedAnswerError, match="comes back to a page"):
        walked(mode, made(mode, fetched))

    assert len(fetched.asked) == len(table)
    with pytest.raises(UnexpectedAnswerError):
        run(mode, made(mode, Fetched(table)).list)


def test_a_walk_goes_on_where_it_was_left() -> None:
    walk = iter(Pages(Fetched(THREE).sync))

    assert [next(walk), *walk, *walk] == [1, 2, 3]
