from collections.abc import Iterable, Sequence
from functools import partial
from random import Random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_service.domain import ids, paging
from forklore_service.domain.ancestry import Segment, View, view_of
from forklore_service.domain.ids import FIRST, LAST
from forklore_service.domain.model import StoredEntry
from forklore_service.domain.paging import Chain, RangeAnswer, RangeRead, Span, Window
from forklore_service.limits import PAGE_BYTES_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.view_pages import READ_MAX, Shown, ViewPage
from tests.service.domain.builders import (
    FORK,
    ROOT,
    TWIG,
    C,
    Growth,
    H,
    Shelf,
    Tree,
    at,
    conversation,
    examples,
    growths,
    stored,
)

HISTORY = Shown((H,))
BOTH = Shown((H, C), "planner")
CONTEXT = Shown((C,), "planner")


def read(
    shelf: Shelf,
    view: View | None,
    *,
    show: Shown = HISTORY,
    limit: int = 50,
    window: Window = Window(),  # noqa: B008 (a value)
    backward: bool = False,
    own_entries: int | None = None,
) -> ViewPage:
    """Return a page of a view, or of the whole tree if `view` is None, with forklore's own loop."""
    table = cast(Table, shelf)
    if view is None:
        return view_pages.read_tree(table, "tree", show=show, limit=limit, window=window, backward=backward)
    return view_pages.read_view(
        table,
        "tree",
        view,
        show=show,
        limit=limit,
        window=window,
        backward=backward,
        own_entries=own_entries,
    )


def walk(
    shelf: Shelf,
    view: View | None,
    *,
    show: Shown,
    limit: int,
    window: Window,
    backward: bool,
    own_entries: int | None = None,
) -> list[ViewPage]:
    """Return all pages in one direction. Each starts where the previous one says."""
    pages = []
    while True:
        page = read(
            shelf,
            view,
            show=show,
            limit=limit,
            window=window,
            backward=backward,
            own_entries=own_entries,
        )
        pages.append(page)
        assert len(pages) < 1_000, "the pages have no end"
        if page.resume is None:
            return pages
        window, own_entries = window.beyond(page.resume, backward=backward), None


def plain_pages(listed: Sequence[StoredEntry], limit: int) -> list[ViewPage]:
    """Return a list cut into pages by count and bytes. Only the last one names no next position."""
    pages: list[list[StoredEntry]] = [[]]
    for entry in listed:
        size = sum(one.escaped_bytes for one in pages[-1])
        if len(pages[-1]) == limit or (pages[-1] and size + entry.escaped_bytes > PAGE_BYTES_MAX):
            pages.append([])
        pages[-1].append(entry)
    return [ViewPage(page, page[-1].entry_id) for page in pages[:-1]] + [ViewPage(pages[-1], None)]


def plain_list(
    listed: Iterable[StoredEntry], *, show: Shown, window: Window, backward: bool
) -> list[StoredEntry]:
    """Return the shown entries of an ordered list, in the direction of reading."""
    within = [e for e in listed if show.admits(e.entry) and window.start <= e.entry_id < window.stop]
    return within[::-1] if backward else within


# Windows and spans


def test_the_rest_of_a_window_is_what_follows_in_the_direction_of_reading() -> None:
    window = Window(at(1), at(9))

    assert window.beyond(at(4), backward=False) == Window(ids.next_id(at(4)), at(9))
    assert window.beyond(at(4), backward=True) == Window(at(1), at(4))


def test_a_window_never_grows() -> None:
    window = Window(at(3), at(6))

    assert window.beyond(at(1), backward=False) == window
    assert window.beyond(at(9), backward=True) == window
    assert window.clipped(at(1), at(9)) == window
    assert window.clipped(at(4), at(5)) == Window(at(4), at(5))


@pytest.mark.parametrize(("start", "stop", "empty"), [(3, 4, False), (3, 3, True), (4, 3, True)])
def test_a_window_is_empty_when_it_does_not_start_before_its_stop(start: int, stop: int, empty: bool) -> None:
    assert Window(at(start), at(stop)).is_empty is empty


TWIG_VIEW = view_of(TWIG, (Segment(ROOT, at(20)), Segment(FORK, at(30))))


def test_the_spans_of_a_view_lie_side_by_side_from_the_first_position_to_the_last() -> None:
    spans = [
        Span(ROOT, Window(FIRST, at(20))),
        Span(FORK, Window(at(20), at(30))),
        Span(TWIG, Window(at(30), LAST)),
    ]

    assert paging.spans_of(TWIG_VIEW, Window(), backward=False) == spans
    assert paging.spans_of(TWIG_VIEW, Window(), backward=True) == spans[::-1]


def test_spans_are_clipped_to_the_window_and_those_outside_are_left_out() -> None:
    assert paging.spans_of(TWIG_VIEW, Window(at(25), at(28)), backward=False) == [
        Span(FORK, Window(at(25), at(28)))
    ]
    assert paging.spans_of(TWIG_VIEW, Window(at(20), at(31)), backward=False) == [
        Span(FORK, Window(at(20), at(30))),
        Span(TWIG, Window(at(30), at(31))),
    ]
    assert paging.spans_of(TWIG_VIEW, Window(at(9), at(9)), backward=False) == []


def test_a_view_of_nothing_has_no_spans() -> None:
    assert paging.spans_of(View(), Window(), backward=True, own_entries=3) == []


def test_only_the_own_span_has_a_known_count() -> None:
    def counts(window: Window, own_entries: int) -> list[tuple[str | None, int | None]]:
        spans = paging.spans_of(TWIG_VIEW, window, backward=True, own_entries=own_entries)
        return [(span.conversation_id, span.entries) for span in spans]

    assert counts(Window(), 5) == [(TWIG, 5), (FORK, None), (ROOT, None)]
    assert counts(Window(), 0) == [(FORK, None), (ROOT, None)]
    assert counts(Window(stop=at(25)), 5) == [(FORK, None), (ROOT, None)]
    assert counts(Window(stop=at(25)), 0) == [(FORK, None), (ROOT, None)]


# A round


def span(number: int, entries: int | None = None) -> Span:
    """Return the span of conversation `number`, with the positions of one millisecond."""
    return Span(conversation(number), window(number), entries)


def window(first: int, last: int | None = None) -> Window:
    return Window(at(first), at((first if last is None else last) + 1))


def test_a_round_asks_each_channel_of_a_segment_for_the_whole_page() -> None:
    assert paging.plan_round([span(1)], channels=(H, C), wanted=7, crowded_rounds=0) == [
        RangeRead(window(1), 7, conversation(1), H),
        RangeRead(window(1), 7, conversation(1), C),
    ]


def test_channels_of_a_conversation_that_is_alone_are_one_read_of_the_tree() -> None:
    for spans in ([span(1)], [span(1, 3)]):
        planned = partial(paging.plan_round, spans, wanted=7, is_alone=True)
        assert planned(channels=(H, C), crowded_rounds=0) == [RangeRead(window(1), 7)]
        assert [read.channel for read in planned(channels=(H, C), crowded_rounds=1)] == [H, C]
        assert [read.channel for read in planned(channels=(H,), crowded_rounds=0)] == [H]


def test_a_segment_with_a_known_count_is_asked_for_one_entry_more_to_see_its_end() -> None:
    reads = paging.plan_round([span(2, 3), span(1)], channels=(H,), wanted=7, crowded_rounds=0)

    assert reads == [RangeRead(window(2), 4, conversation(2), H), RangeRead(window(1), 7, conversation(1), H)]


@pytest.mark.parametrize("crowded_rounds", [0, 1, 9])
def test_a_round_ends_at_the_segment_that_is_known_to_fill_the_page(crowded_rounds: int) -> None:
    spans = [span(3, 7), span(2), span(1)]

    assert paging.plan_round(spans, channels=(H,), wanted=7, crowded_rounds=crowded_rounds) == [
        RangeRead(window(3), 7, conversation(3), H)
    ]


def test_a_round_of_segments_asks_for_at_most_twice_the_page() -> None:
    spans = [span(number) for number in range(8)]

    assert [
        r.conversation_id for r in paging.plan_round(spans, channels=(H,), wanted=7, crowded_rounds=0)
    ] == [
        conversation(0),
        conversation(1),
    ]
    assert [
        r.conversation_id for r in paging.plan_round(spans, channels=(H, C), wanted=7, crowded_rounds=0)
    ] == [conversation(0), conversation(0)]


def test_more_than_eight_segments_are_one_read_of_the_tree_over_them_all() -> None:
    spans = [span(number) for number in range(1, 10)]

    for channels in ((H,), (H, C)):
        for ordered in (spans, spans[::-1]):
            assert paging.plan_round(ordered, channels=channels, wanted=7, crowded_rounds=0) == [
                RangeRead(window(1, 9), 7)
            ]


def test_an_own_segment_with_a_known_count_is_read_in_parallel_with_the_tree() -> None:
    spans = [span(9, 2), *(span(number) for number in range(8, 0, -1))]

    assert paging.plan_round(spans, channels=(H,), wanted=7, crowded_rounds=0) == [
        RangeRead(window(9), 3, conversation(9), H),
        RangeRead(window(1, 8), 7),
    ]


@pytest.mark.parametrize(
    ("crowded_rounds", "segments"), [(1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 32), (99, 32)]
)
def test_in_a_crowded_tree_each_round_reads_twice_as_many_segments_up_to_32(
    crowded_rounds: int, segments: int
) -> None:
    spans = [span(number) for number in range(100)]

    assert paging.plan_round(spans, channels=(H,), wanted=7, crowded_rounds=crowded_rounds) == [
        RangeRead(window(number), 7, conversation(number), H) for number in range(segments)
    ]


def test_the_whole_tree_is_one_read_whatever_the_channels() -> None:
    for crowded_rounds in (0, 1, 9):
        assert paging.plan_round(
            [Span(None, Window())], channels=(H, C), wanted=7, crowded_rounds=crowded_rounds
        ) == [RangeRead(Window(), 7)]


def answer(*numbers: int, reached: int | None = None) -> RangeAnswer:
    return RangeAnswer([stored(at(n)) for n in numbers], None if reached is None else at(reached))


def numbers_of(entries: Iterable[StoredEntry]) -> list[int]:
    return [ids.milliseconds_of(entry.entry_id) for entry in entries]


def test_the_frontier_is_the_nearest_place_where_a_read_stopped_early() -> None:
    answers = [answer(1, 4, reached=4), answer(2, 3), answer(2, 6, reached=6)]

    assert paging.frontier(answers, backward=False) == at(4)
    assert paging.frontier(answers, backward=True) == at(6)
    assert paging.frontier([answer(2, 3)], backward=False) is None
    assert paging.frontier([], backward=True) is None


def test_a_round_returns_every_entry_up_to_its_frontier_and_none_after_it() -> None:
    assert numbers_of(paging.merge([answer(1, 4, reached=4), answer(2, 3, 5)], backward=False)) == [
        1,
        2,
        3,
        4,
    ]
    assert numbers_of(paging.merge([answer(9, 6, reached=6), answer(8, 7, 5)], backward=True)) == [9, 8, 7, 6]
    assert numbers_of(paging.merge([answer(2, 9), answer(1, 5)], backward=False)) == [1, 2, 5, 9]
    assert numbers_of(paging.merge([answer(9, 2), answer(5, 1)], backward=True)) == [9, 5, 2, 1]


def test_a_read_without_an_entry_sets_the_frontier_too() -> None:
    assert numbers_of(paging.merge([answer(reached=3), answer(2, 5)], backward=False)) == [2]


def test_a_complete_round_leaves_only_the_segments_that_it_did_not_read() -> None:
    spans = [span(1), span(2), span(3)]
    reads = paging.plan_round(spans, channels=(H,), wanted=7, crowded_rounds=0)

    assert paging.spans_left(spans, reads, None, backward=False) == [span(3)]


def test_a_complete_read_of_the_tree_leaves_nothing() -> None:
    spans = [span(9, 2), *(span(number) for number in range(8, 0, -1))]
    reads = paging.plan_round(spans, channels=(H,), wanted=7, crowded_rounds=0)

    assert paging.spans_left(spans, reads, None, backward=True) == []


def test_a_round_that_stopped_early_leaves_the_rest_without_counts() -> None:
    spans = [Span(FORK, Window(at(30), at(40)), entries=5), Span(ROOT, Window(at(10), at(30)))]

    assert paging.spans_left(spans, [], at(35), backward=True) == [
        Span(FORK, Window(at(30), at(35))),
        Span(ROOT, Window(at(10), at(30))),
    ]
    assert paging.spans_left(spans, [], at(30), backward=True) == [Span(ROOT, Window(at(10), at(30)))]
    assert paging.spans_left(spans[::-1], [], at(20), backward=False) == [
        Span(ROOT, Window(ids.next_id(at(20)), at(30))),
        Span(FORK, Window(at(30), at(40))),
    ]


# Pages of any view


def chain_of(forks: int, *, crowd: int, each: int = 1) -> tuple[list[StoredEntry], View, list[StoredEntry]]:
    """Return the entries of a chain of forks, the view of the last fork, and what it shows.

    each: the own entries of a fork. crowd: the entries of other conversations after each fork.
    """
    shown, others, path, now = [], [], [], 0
    for fork in range(forks):
        for _ in range(each):
            now += 1
            shown.append(stored(at(now), conversation(fork)))
            others += [stored(ids.next_id(at(now), 1 + n), conversation(10_000 + n)) for n in range(crowd)]
        path.append(Segment(conversation(fork), at(now + 1)))
    return [*shown, *others], view_of(conversation(forks - 1), tuple(path[:-1])), shown


GROWTHS = growths(5, 15, 40, 80, 150, large=0.3)
LIMITS = st.sampled_from([1, 2, 3, 5, 10, 50, 1_000])
SHOWS = st.sampled_from([HISTORY, BOTH, CONTEXT])
PICK = st.none() | st.integers(0, 999)


def shelf_of(entries: list[StoredEntry], seed: int | None) -> Shelf:
    """Return a shelf of a tree's entries. With a seed, Queries stop early, some of them empty."""
    if seed is None:
        return Shelf(entries)
    random = Random(seed)
    return Shelf(entries, early=lambda: random.choice((None, 0, 1, 2, 5, 20)))


def window_of(seen: Sequence[StoredEntry], after: int | None, up_to: int | None) -> Window:
    """Return the window after one entry of a view, up to and including another one."""
    cut = Window()
    if seen and after is not None:
        cut = cut.clipped(ids.next_id(seen[after % len(seen)].entry_id), LAST)
    if seen and up_to is not None:
        cut = cut.clipped(FIRST, ids.next_id(seen[up_to % len(seen)].entry_id))
    return cut


def count_own(tree: Tree, conversation_id: str, show: Shown) -> int:
    """Return HEAD's count of a conversation's own entries in the channels of `show`."""
    entries = (stored.entry for stored in tree.entries)
    return sum(e.conversation_id == conversation_id and e.channel in show.channels for e in entries)


@examples(2_500)
@given(
    growth=GROWTHS,
    who=st.integers(0, 99),
    show=SHOWS,
    limit=LIMITS,
    after=PICK,
    up_to=PICK,
    early=PICK,
    is_counted=st.booleans(),
)
def test_the_pages_of_a_view_make_its_whole_list_in_both_directions(
    growth: Growth,
    who: int,
    show: Shown,
    limit: int,
    after: int | None,
    up_to: int | None,
    early: int | None,
    is_counted: bool,
) -> None:
    tree = growth.tree()
    here = tree.conversations[who % len(tree.conversations)]
    seen, cut = tree.sees[here], window_of(tree.sees[here], after, up_to)
    own_entries = count_own(tree, here, show) if is_counted and cut == Window() else None

    for backward in (False, True):
        pages = walk(
            shelf_of(tree.entries, early),
            tree.view(here),
            show=show,
            limit=limit,
            window=cut,
            backward=backward,
            own_entries=own_entries,
        )
        listed = plain_list(seen, show=show, window=cut, backward=backward)
        assert pages == plain_pages(listed, limit)


@examples(700)
@given(growth=GROWTHS, show=SHOWS, limit=LIMITS, after=PICK, up_to=PICK, early=PICK)
def test_the_pages_of_a_whole_tree_make_all_its_entries_in_the_order_of_ids(
    growth: Growth,
    show: Shown,
    limit: int,
    after: int | None,
    up_to: int | None,
    early: int | None,
) -> None:
    tree = growth.tree()
    in_order = sorted(tree.entries, key=lambda stored: stored.entry_id)
    cut = window_of(in_order, after, up_to)

    for backward in (False, True):
        pages = walk(
            shelf_of(tree.entries, early), None, show=show, limit=limit, window=cut, backward=backward
        )
        assert pages == plain_pages(plain_list(in_order, show=show, window=cut, backward=backward), limit)


@examples(700)
@given(growth=GROWTHS, who=st.integers(0, 99), show=SHOWS, limit=LIMITS, since=st.integers(1, 20), early=PICK)
def test_entries_appended_after_the_count_was_read_may_be_missing_only_at_the_end(
    growth: Growth, who: int, show: Shown, limit: int, since: int, early: int | None
) -> None:
    tree = growth.tree()
    here = tree.conversations[who % len(tree.conversations)]
    own_entries = count_own(tree, here, show)
    counted = plain_list(tree.sees[here], show=show, window=Window(), backward=False)
    for _ in range(since):
        tree.append(here, channel=H)
    now = plain_list(tree.sees[here], show=show, window=Window(), backward=False)

    for backward in (False, True):
        pages = walk(
            shelf_of(tree.entries, early),
            tree.view(here),
            show=show,
            limit=limit,
            window=Window(),
            backward=backward,
            own_entries=own_entries,
        )
        walked = [entry for page in pages for entry in page.entries][:: -1 if backward else 1]
        assert walked == now[: len(walked)]
        assert len(walked) >= len(counted)


@pytest.mark.long
@examples(250)
@given(
    forks=st.sampled_from([9, 20, 41, 70]),
    crowd=st.sampled_from([0, 1, 3, 4, 6]),
    each=st.sampled_from([1, 2, 5]),
    limit=LIMITS,
    after=PICK,
    up_to=PICK,
    early=PICK,
    is_counted=st.booleans(),
)
def test_the_pages_of_a_long_chain_in_a_crowded_tree_make_its_whole_list(
    forks: int,
    crowd: int,
    each: int,
    limit: int,
    after: int | None,
    up_to: int | None,
    early: int | None,
    is_counted: bool,
) -> None:
    entries, view, seen = chain_of(forks, crowd=crowd, each=each)
    cut = window_of(seen, after, up_to)

    for backward in (False, True):
        pages = walk(
            shelf_of(entries, early),
            view,
            show=BOTH,
            limit=limit,
            window=cut,
            backward=backward,
            own_entries=each if is_counted and cut == Window() else None,
        )
        assert pages == plain_pages(plain_list(seen, show=BOTH, window=cut, backward=backward), limit)


# Edges of a page


def test_an_empty_window_is_an_empty_page_without_a_read() -> None:
    shelf = Shelf([stored(at(5))])

    for view in (view_of(ROOT, ()), None):
        assert read(shelf, view, window=Window(at(5), at(5))) == ViewPage([], None)
    assert shelf.rounds == []


def test_a_conversation_known_to_be_empty_is_an_empty_page_without_a_read() -> None:
    shelf = Shelf([])

    assert read(shelf, view_of(ROOT, ()), own_entries=0) == ViewPage([], None)
    assert shelf.rounds == []


@pytest.mark.failure("misleading-query-page")
@pytest.mark.parametrize("backward", [False, True])
def test_a_page_that_ends_exactly_with_the_list_names_no_next_position(backward: bool) -> None:
    entries = [stored(at(number)) for number in range(1, 5)]
    near_first = entries[::-1] if backward else entries

    assert read(Shelf(entries), view_of(ROOT, ()), limit=4, backward=backward) == ViewPage(near_first, None)
    assert read(Shelf(entries), view_of(ROOT, ()), limit=3, backward=backward) == ViewPage(
        near_first[:3], near_first[2].entry_id
    )


def test_a_page_ends_before_the_entry_that_would_take_it_over_five_megabytes() -> None:
    sizes = [3_000_000, 2_000_000, 1, 6_000_000, 1]
    entries = [stored(at(number), size=size) for number, size in enumerate(sizes, start=1)]
    pages = walk(Shelf(entries), view_of(ROOT, ()), show=HISTORY, limit=50, window=Window(), backward=False)

    assert [numbers_of(page.entries) for page in pages] == [[1, 2], [3], [4], [5]]


def test_a_page_without_shown_entries_ends_at_the_read_bound_with_a_next_position() -> None:
    others = [stored(at(n), channel=C, client_id="coder") for n in range(1, READ_MAX + 2_001)]
    own = stored(at(READ_MAX + 3_000), channel=C, client_id="planner")
    shelf = Shelf([*others, own])

    first, second = walk(shelf, view_of(ROOT, ()), show=CONTEXT, limit=50, window=Window(), backward=False)

    assert first.entries == []
    assert first.resume is not None
    assert at(READ_MAX) <= first.resume <= at(READ_MAX + 1_000)
    assert second == ViewPage([own], None)
    assert len(shelf.rounds) <= 20


def test_only_context_of_the_requested_client_and_epoch_is_shown() -> None:
    def context(number: int, client_id: str, epoch: int) -> StoredEntry:
        return stored(at(number), channel=C, client_id=client_id, epoch=epoch)

    entries = [
        stored(at(1)),
        context(2, "planner", 1),
        context(3, "coder", 1),
        context(4, "planner", 2),
        stored(at(5), client_id="planner"),
    ]
    shown = {
        (channels, epoch): numbers_of(
            read(Shelf(entries), view_of(ROOT, ()), show=Shown(channels, "planner", epoch)).entries
        )
        for channels in ((H,), (C,), (H, C))
        for epoch in (None, 1, 2)
    }

    assert shown == {
        ((H,), None): [1, 5],
        ((H,), 1): [1, 5],
        ((H,), 2): [1, 5],
        ((C,), None): [2, 4],
        ((C,), 1): [2],
        ((C,), 2): [4],
        ((H, C), None): [1, 2, 4, 5],
        ((H, C), 1): [1, 2, 5],
        ((H, C), 2): [1, 4, 5],
    }


# The cost of a page


def family(siblings: int) -> tuple[Shelf, View]:
    """Return a fork of a root at its 30th entry. It and each of its siblings have 5 own entries."""
    entries = [stored(at(number), ROOT) for number in range(1, 31)]
    for number in range(siblings):
        entries += [
            stored(ids.next_id(at(100 + turn), 1 + number), conversation(100 + number)) for turn in range(5)
        ]
    entries += [stored(at(100 + turn), FORK) for turn in range(5)]
    return Shelf(entries), view_of(FORK, (Segment(ROOT, at(31)),))


@pytest.mark.failure("deep-or-wide-tree")
@pytest.mark.parametrize("own_entries", [None, 5])
@pytest.mark.parametrize("limit", [3, 20, 50])
def test_a_page_of_a_fork_makes_the_same_reads_among_one_sibling_and_among_five_hundred(
    limit: int, own_entries: int | None
) -> None:
    for backward in (False, True):
        (few, view), (many, _) = family(1), family(500)
        pages = [
            read(shelf, view, limit=limit, backward=backward, own_entries=own_entries)
            for shelf in (few, many)
        ]

        assert pages[0] == pages[1]
        assert few.rounds == many.rounds
        assert few.looked_at == many.looked_at <= 2 * (limit + 1)


def test_the_newest_page_is_one_read_if_own_entries_fill_it() -> None:
    entries = [stored(at(number), FORK) for number in range(100, 200)]
    shelf = Shelf(entries)
    deep = tuple(Segment(conversation(number), at(number)) for number in range(10, 90))

    page = read(shelf, view_of(FORK, deep), backward=True, own_entries=100)

    assert page == ViewPage(entries[:-51:-1], entries[-50].entry_id)
    assert shelf.rounds == [[RangeRead(Window(at(89), LAST), 51, FORK, H)]]


@pytest.mark.failure("deep-or-wide-tree")
@pytest.mark.parametrize("own_entries", [None, 1])
@pytest.mark.parametrize("backward", [False, True])
def test_a_page_of_a_chain_of_a_thousand_forks_is_one_round(backward: bool, own_entries: int | None) -> None:
    entries, view, shown = chain_of(1_000, crowd=0)
    shelf = Shelf(entries)
    near_first = shown[::-1] if backward else shown

    page = read(shelf, view, backward=backward, own_entries=own_entries)

    assert page == ViewPage(near_first[:50], near_first[49].entry_id)
    assert len(shelf.rounds) == 1
    assert shelf.reads <= 2
    assert shelf.looked_at <= 52


@pytest.mark.parametrize("crowd", [1, 2, 3, 4, 5, 20, 60])
@pytest.mark.parametrize("show", [HISTORY, BOTH], ids=["history", "both"])
@pytest.mark.parametrize("backward", [False, True])
def test_a_page_of_a_long_chain_costs_little_more_in_a_crowded_tree(
    backward: bool, show: Shown, crowd: int
) -> None:
    entries, view, shown = chain_of(300, crowd=crowd)
    shelf = Shelf(entries)
    near_first = shown[::-1] if backward else shown

    page = read(shelf, view, show=show, backward=backward)

    assert page == ViewPage(near_first[:50], near_first[49].entry_id)
    assert len(shelf.rounds) <= 12
    assert shelf.reads <= 140
    assert shelf.looked_at <= 4 * 51


def test_a_walk_over_a_thousand_forks_reads_few_entries_twice() -> None:
    entries, view, shown = chain_of(1_000, crowd=0)
    shelf = Shelf(entries)
    pages = walk(shelf, view, show=HISTORY, limit=50, window=Window(), backward=True)

    assert pages == plain_pages(shown[::-1], 50)
    assert len(shelf.rounds) <= 21
    assert shelf.looked_at <= 1_000 + 2 * 20


def test_a_channel_without_entries_in_a_thousand_crowded_forks_takes_bounded_reads() -> None:
    entries, view, _ = chain_of(1_000, crowd=10)
    shelf = Shelf(entries)

    assert read(shelf, view, show=CONTEXT, backward=True) == ViewPage([], None)
    assert len(shelf.rounds) <= 2 * (1_000 // paging.SEGMENTS_MANY + 1)
    assert shelf.reads <= 1_000


@pytest.mark.parametrize("backward", [False, True])
def test_a_page_of_a_thousand_is_two_rounds(backward: bool) -> None:
    entries = [stored(at(number)) for number in range(1, 3_001)]
    near_first = entries[::-1] if backward else entries
    shelf = Shelf(entries)

    assert read(shelf, view_of(ROOT, ()), limit=1_000, backward=backward) == ViewPage(
        near_first[:1_000], near_first[999].entry_id
    )
    assert len(shelf.rounds) == 2
    assert shelf.looked_at == 1_001


@pytest.mark.parametrize("limit", [50, 200])
def test_a_page_of_a_chain_of_long_forks_costs_few_reads_in_a_crowded_tree(
    limit: int,
) -> None:
    entries, view, shown = chain_of(40, crowd=4, each=limit)
    shelf = Shelf(entries)

    page = read(shelf, view, limit=limit, backward=True)

    assert page.entries == shown[: -limit - 1 : -1]
    assert shelf.looked_at <= 4 * (limit + 1)


@pytest.mark.parametrize("backward", [True, False])
def test_an_entry_that_another_one_names_is_missing_until_it_is_read(backward: bool) -> None:
    chain = Chain(Window(), [])
    chain.take(read=[at(3)], named=[at(2), None])
    assert chain.missing(None, backward=backward) == at(2)

    chain.take(read=[at(2)], named=[at(3)])
    assert chain.missing(None, backward=backward) is None


def test_an_entry_that_is_known_to_be_the_last_is_missing_until_it_is_read() -> None:
    chain = Chain(Window(), [at(3), None])
    assert chain.missing(None, backward=False) == at(3)

    chain.take(read=[at(3)], named=[])
    assert chain.missing(None, backward=False) is None


def test_the_first_missing_entry_in_the_order_of_reading_is_told() -> None:
    chain = Chain(Window(), [at(3), at(5)])

    assert chain.missing(None, backward=False) == at(3)
    assert chain.missing(None, backward=True) == at(5)


def test_what_is_read_next_is_not_missing() -> None:
    chain = Chain(Window(), [at(3), at(5)])

    assert chain.missing(Window(start=at(3)), backward=False) is None
    assert chain.missing(Window(start=at(4)), backward=False) == at(3)
    assert chain.missing(Window(start=at(5)), backward=False) == at(3)
    assert chain.missing(Window(stop=at(6)), backward=True) is None
    assert chain.missing(Window(stop=at(5)), backward=True) == at(5)


def test_an_entry_outside_of_the_window_is_not_missing() -> None:
    chain = Chain(Window(at(3), at(5)), [at(2), at(5)])
    assert chain.missing(None, backward=False) is None

    chain.take(read=[], named=[at(3), at(4)])
    assert chain.missing(None, backward=False) == at(3)
