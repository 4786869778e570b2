"""Alternatives in random trees, beside a plain definition that knows only what each fork shows.

The tree and the table are in memory, so that thousands of trees can be asked.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_service.domain.alternatives import ViewLine
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.keys import Key, in_head
from forklore_service.domain.model import Channel, Conversation, ForkPosition, Head
from forklore_service.domain.paging import RangeAnswer, RangeRead, Window
from forklore_service.domain.tree import ForkRecord
from forklore_service.storage import items
from forklore_service.storage.found import Found
from forklore_service.usecases.reading.alternatives import AlternativesReader
from forklore_service.usecases.shared.view_pages import Shown, read_view
from tests.service.domain.builders import Growth, Shelf, Tree, conversation, examples, growths
from tests.service.domain.test_alternatives import history_of, places_of, plain, records_of

H = Channel.HISTORY
BEFORE, AFTER, BLANK = ForkPosition
ROOT = conversation(0)


class MemoryTable(Shelf):
    """A tree of the builders as a table: what reads of entries, HEADs and fork records answer."""

    def __init__(self, tree: Tree, removed: frozenset[str]) -> None:
        super().__init__(tree.entries)
        self._removed = removed
        self._records = records_of(tree, removed)
        self.records_read = 0
        self.read = SimpleNamespace(fork_records=self._fork_records)

    def _fork_records(
        self, _group: str, owner: str, *, first: EntryId, last: EntryId, newest_first: bool, limit: int
    ) -> Iterator[ForkRecord]:
        found = [one for one in self._records.get(owner, []) if first <= one.stop <= last]
        found = (found[::-1] if newest_first else found)[:limit]
        self.records_read += len(found)
        return iter(found)

    def get(self, wanted: Iterable[Key]) -> Found:
        live = [key for key in wanted if in_head(key.sort) not in self._removed]
        heads = (items.head_item(Conversation(in_head(key.sort), ROOT, ""), Head("ann", "")) for key in live)
        return Found(dict(zip(live, heads, strict=True)))

    def start(self, call: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(call())
        return future

    def start_range(self, group_id: str, read: RangeRead, *, backward: bool) -> Future[RangeAnswer]:
        return self.start(lambda: self.read_ranges(group_id, [read], backward=backward)[0])

    def side_by_side(self, call: Any, arguments: Any) -> Any:
        return map(call, arguments)


def listed(
    table: MemoryTable, tree: Tree, of: str, window: Window, *, limit: int, backward: bool
) -> dict[tuple[EntryId | None, EntryId | None], list[str]]:
    """Return the alternatives of the places of one page, as list_entries asks for them."""
    view, history = tree.view(of), history_of(tree)[of]
    line = ViewLine(view, root_id=ROOT)
    after = None if backward else next((e for e in history[::-1] if e < window.start), None)
    near = line.number_of(window.stop) if backward and window.stop != LAST else line.own
    reader = AlternativesReader(
        table,  # type: ignore[arg-type]
        ROOT,
        line,
        backward=backward,
        after=after,
        near=near if backward else line.number_of(after),
    )
    page = read_view(
        table,  # type: ignore[arg-type]
        ROOT,
        view,
        show=Shown((H,)),
        limit=limit,
        window=window,
        backward=backward,
        beside=reader.start,
    )
    shown = sorted(e.entry_id for e in page.entries)
    around = [place for place in places_of(history) if place[1] in shown]
    if window.stop == LAST and (backward or page.resume is None):
        around.append(places_of(history)[-1])
    places = [line.place(after=after, before=before) for after, before in around]
    return dict(zip(around, reader.of(places), strict=True))


@examples(900)
@given(growths(10, 25, 60), st.sampled_from([0.0, 0.3, 0.7]), st.integers(0, 1 << 32))
def test_the_alternatives_of_each_place_are_those_of_the_plain_definition(
    growth: Growth, removals: float, seed: int
) -> None:
    tree, random = growth.tree(), Random(seed)
    removed = frozenset(one for one in tree.paths if random.random() < removals)
    histories = history_of(tree)
    table = MemoryTable(tree, removed)
    for of in random.sample([*tree.paths], min(6, len(tree.paths))):
        if of in removed:
            continue
        history = histories[of]
        start = random.choice([FIRST, *history])
        stop = random.choice([LAST, LAST, *history])
        backward, limit = random.random() < 0.5, random.choice([1, 3, 50])
        window = Window(start if not backward else FIRST, stop if backward else LAST)
        found = listed(table, tree, of, window, limit=limit, backward=backward)

        assert found == {place: plain(tree, removed, of, *place) for place in found}


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(("position", "anchor"), [(BEFORE, 3), (AFTER, 2)])
def test_a_place_with_many_forks_is_jumped_over(backward: bool, position: ForkPosition, anchor: int) -> None:
    """The records of other places are read, and of a crowded one only the first."""
    tree = Tree()
    for moment in range(10):
        tree.append(ROOT, now_ms=1_000 * moment)
    entries = list(tree.sees[ROOT])
    crowd = [tree.fork(ROOT, position, entries[anchor]) for _ in range(2_000)]
    late = tree.fork(ROOT, BEFORE, entries[8])
    table = MemoryTable(tree, frozenset())

    found = listed(table, tree, ROOT, Window(), limit=1_000, backward=backward)

    assert {before: of for (_, before), of in found.items() if of} == {
        entries[3].entry_id: crowd[:100],
        entries[8].entry_id: [late],
    }
    assert table.records_read <= 15 + 2 * 101


def test_the_chain_of_a_view_is_read_in_the_round_of_its_entries() -> None:
    """Nothing is read after the page, for a view of a few segments."""
    tree = Tree()
    tree.append(ROOT)
    fork = tree.fork(ROOT, AFTER)
    tree.append(fork)
    table = MemoryTable(tree, frozenset())
    reads: list[str] = []
    line = ViewLine(tree.view(fork), root_id=ROOT)
    reader = AlternativesReader(
        table,  # type: ignore[arg-type]
        ROOT,
        line,
        backward=False,
        after=None,
        near=0,
    )
    reader.start([RangeRead(Window(), 1, one, H) for one in (ROOT, fork)])
    table.read = SimpleNamespace(fork_records=partial(reads.append, "late"))
    first, own = (e.entry_id for e in tree.sees[fork])

    places = [line.place(after=None, before=first), line.place(after=first, before=own)]
    assert reader.of([*places, line.place(after=own, before=None)]) == [[], [], []]
    assert not reads
