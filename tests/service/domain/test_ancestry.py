import uuid
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_service.domain import ancestry, ids
from forklore_service.domain.ancestry import SEGMENTS_MAX, Path, Segment, View
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.model import ForkPosition, StoredEntry
from forklore_service.errors import BrokenAncestryError, ForkTooDeepError
from tests.service.domain.builders import (
    FORK,
    NOW_MS,
    OTHER,
    ROOT,
    SKEWS_MS,
    TWIG,
    Growth,
    Tree,
    at,
    conversation,
    examples,
    growths,
)

BEFORE, AFTER, BLANK = ForkPosition

# An operation of a writer: its kind, the picked conversation and entry, the clock, and randomness.
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "before", "after", "head", "blank"]),
        st.sampled_from([0, 0, 0, 1, 2, 5, 11]),
        st.sampled_from([0, 0, 1, 2, 3, 7, 19]),
        st.sampled_from(SKEWS_MS),
        st.sampled_from([0, 1, 5 << 61, (1 << ids.RANDOM_BITS) - 1]),
        st.sampled_from([1, 7, ids.STEP_MAX]),
    ),
    min_size=8,
    max_size=40,
)
Operations = list[tuple[str, int, int, int, int, int]]
HISTORIES = OPERATIONS | growths(20, 40, 80, 120)
"""Short histories, which are readable when a test fails, and long ones with deep trees."""


def play(history: Operations | Growth) -> Tree:
    """Return the tree that the operations make, each a few milliseconds after the previous one."""
    if isinstance(history, Growth):
        return history.tree()
    tree = Tree()
    for moment, (kind, who, which, skew_ms, random, step) in enumerate(history):
        everyone = tree.conversations
        here = everyone[who % len(everyone)]
        seen = tree.sees[here]
        if kind == "append" or (kind in (BEFORE, AFTER) and not seen):
            tree.append(here, now_ms=NOW_MS + 3 * moment + skew_ms, random=random, step=step)
        elif kind in (BEFORE, AFTER):
            tree.fork(here, ForkPosition(kind), seen[-1 - which % len(seen)])
        else:
            tree.fork(here, AFTER if kind == "head" else BLANK)
    return tree


def plain_view(tree: Tree, conversation_id: str, moment: int) -> list[EntryId]:
    """Return what a conversation showed when the tree had `moment` entries, by recursion.

    These are the entries that its source showed then, up to the fork point, and its own entries.
    """
    own = [e.entry_id for e in tree.entries[:moment] if e.entry.conversation_id == conversation_id]
    fork = tree.forks.get(conversation_id)
    if fork is None or fork.position is BLANK:
        return own
    inherited = plain_view(tree, fork.source, fork.moment)
    if fork.anchor is not None:
        inherited = inherited[: inherited.index(fork.anchor) + (fork.position is AFTER)]
    return inherited + own


def shown(view: View, entries: Sequence[StoredEntry]) -> list[EntryId]:
    """Return the ids of the entries that the view shows, in the order of their keys."""
    bounds = ancestry.bounds_of(view)
    return sorted(e.entry_id for e in entries if e.entry_id < bounds.get(e.entry.conversation_id, FIRST))


# Edges


def test_a_root_shows_its_own_entries_without_end() -> None:
    assert ancestry.view_of(ROOT, ()) == View((Segment(ROOT, LAST),))


def test_a_cut_is_made_in_the_segment_that_owns_the_anchor_and_drops_everything_newer() -> None:
    view = ancestry.view_of(TWIG, (Segment(ROOT, at(20)), Segment(FORK, at(30))))

    assert ancestry.path_before(view, conversation_id=ROOT, entry_id=at(10), last=at(5)) == (
        Segment(ROOT, at(10)),
    )
    assert ancestry.path_after(view, conversation_id=FORK, entry_id=at(25)) == (
        Segment(ROOT, at(20)),
        Segment(FORK, ids.next_id(at(25))),
    )
    assert ancestry.path_after(view, conversation_id=TWIG, entry_id=at(40)) == (
        Segment(ROOT, at(20)),
        Segment(FORK, at(30)),
        Segment(TWIG, ids.next_id(at(40))),
    )


def test_a_cut_after_the_end_of_a_segment_shows_no_more_than_the_segment() -> None:
    view = ancestry.view_of(TWIG, (Segment(ROOT, at(20)),))

    assert ancestry.cut(view, conversation_id=ROOT, stop=at(21)) == (Segment(ROOT, at(20)),)


def test_a_cut_in_a_conversation_that_the_view_does_not_show_is_broken_ancestry() -> None:
    with pytest.raises(BrokenAncestryError, match=OTHER):
        ancestry.cut(ancestry.view_of(ROOT, ()), conversation_id=OTHER, stop=at(1))


def test_an_entry_is_shown_only_with_its_own_conversation_and_only_before_the_stop() -> None:
    view = ancestry.view_of(FORK, (Segment(ROOT, at(20)),))
    asked = [(ROOT, 19), (ROOT, 20), (ROOT, 21), (FORK, 19), (FORK, 21), (OTHER, 19)]

    assert [
        (owner, n) for owner, n in asked if ancestry.shows(view, conversation_id=owner, entry_id=at(n))
    ] == [(ROOT, 19), (FORK, 19), (FORK, 21)]


def test_the_bounds_of_a_view_are_the_stops_of_its_segments() -> None:
    view = ancestry.view_of(TWIG, (Segment(ROOT, at(20)), Segment(FORK, at(30))))

    assert ancestry.bounds_of(view) == {ROOT: at(20), FORK: at(30), TWIG: LAST}


def test_own_entries_come_after_the_largest_stop_of_the_path() -> None:
    assert ancestry.floor_of((Segment(ROOT, at(20)), Segment(FORK, at(30)))) == at(30)
    assert ancestry.floor_of(()) == FIRST


def test_an_append_after_a_fork_at_the_head_is_not_inherited_even_with_a_slow_clock() -> None:
    tree = Tree()
    (root,) = tree.conversations
    first = tree.append(root, now_ms=NOW_MS)
    fork = tree.fork(root, AFTER)
    next_place = tree.append(root, now_ms=0, step=1)

    assert next_place == ids.next_id(first)
    assert shown(tree.view(fork), tree.entries) == [first]


# Depth


def test_repeated_forks_at_the_head_of_an_empty_fork_do_not_lengthen_the_path() -> None:
    tree = Tree()
    (root,) = tree.conversations
    tree.append(root)
    fork = tree.fork(root, AFTER)
    inherited = tree.paths[fork]
    for _ in range(2 * SEGMENTS_MAX):
        fork = tree.fork(fork, AFTER)

    assert len(inherited) == 1
    assert tree.paths[fork] == inherited


def test_a_fork_at_the_head_of_an_empty_root_shows_nothing_of_others() -> None:
    assert ancestry.path_at_head(ancestry.view_of(ROOT, ()), last=FIRST, own_entries=0) == ()


def test_a_fork_before_a_conversation_s_first_own_entry_shows_nothing_of_it() -> None:
    """Its path has no segment for that conversation, in a fork of the fork either."""
    view = ancestry.view_of(TWIG, (Segment(ROOT, at(20)), Segment(FORK, at(30))))

    def before(owner: str, entry_id: EntryId, last: EntryId | None) -> Path:
        return ancestry.path_before(view, conversation_id=owner, entry_id=entry_id, last=last)

    assert before(FORK, at(25), last=at(19)) == (Segment(ROOT, at(20)),)
    assert before(FORK, at(25), last=at(24)) == (Segment(ROOT, at(20)), Segment(FORK, at(25)))
    assert before(TWIG, at(35), last=at(29)) == view.segments[:-1]
    assert before(ROOT, at(1), last=None) == ()


def deep_view(segments: int) -> View:
    """Return the view of a fork with this many segments. Each has an entry at its number."""
    path = tuple(Segment(conversation(n), ids.next_id(at(n))) for n in range(segments))
    return ancestry.view_of(conversation(segments), path)


FORKS: dict[str, Callable[[View, int], Path]] = {
    "before": lambda view, n: ancestry.path_before(
        view, conversation_id=conversation(n), entry_id=ids.next_id(at(n)), last=at(n)
    ),
    "after": lambda view, n: ancestry.path_after(view, conversation_id=conversation(n), entry_id=at(n)),
    "head": lambda view, n: ancestry.path_at_head(view, last=at(n), own_entries=1),
}


@pytest.mark.failure("deep-or-wide-tree")
@pytest.mark.parametrize("how", FORKS)
def test_a_path_has_at_most_a_thousand_segments(how: str) -> None:
    deepest = FORKS[how](deep_view(SEGMENTS_MAX - 1), SEGMENTS_MAX - 1)
    assert len(deepest) == SEGMENTS_MAX == 1_000

    with pytest.raises(ForkTooDeepError) as refused:
        FORKS[how](deep_view(SEGMENTS_MAX), SEGMENTS_MAX)
    assert (refused.value.status, refused.value.code) == (409, "fork_too_deep")


def test_the_deepest_conversation_can_still_be_forked_at_an_inherited_entry() -> None:
    view = deep_view(SEGMENTS_MAX)

    assert FORKS["after"](view, SEGMENTS_MAX - 1) == view.segments[:-1]
    assert ancestry.path_at_head(view, last=view.segments[-2].stop, own_entries=0) == view.segments[:-1]


# Stored paths


def test_a_packed_path_has_32_bytes_for_each_segment() -> None:
    assert ancestry.pack((Segment(ROOT, at(20)), Segment(FORK, at(30)))) == bytes.fromhex(
        "00000001000040008000000000000000"
        "00000000001470008000000000000000"
        "00000002000040008000000000000000"
        "00000000001e70008000000000000000"
    )
    assert ancestry.pack(()) == b""


def test_the_longest_path_comes_back_from_its_32_000_bytes() -> None:
    path = deep_view(SEGMENTS_MAX).segments[:-1]

    assert len(ancestry.pack(path)) == 32_000
    assert ancestry.unpack(ancestry.pack(path)) == path


@pytest.mark.parametrize(
    "path",
    [
        (Segment(ROOT, at(20)), Segment(FORK, at(20))),
        (Segment(ROOT, at(30)), Segment(FORK, at(20))),
        (Segment(ROOT, at(10)), Segment(FORK, at(30)), Segment(TWIG, at(20))),
    ],
    ids=["equal", "falling", "falling at the end"],
)
def test_a_stored_path_whose_stops_do_not_ascend_is_broken_ancestry(path: Path) -> None:
    with pytest.raises(BrokenAncestryError):
        ancestry.unpack(ancestry.pack(path))


@pytest.mark.parametrize("size", [1, 16, 31, 33, 48, 63])
def test_stored_bytes_that_are_no_whole_segments_are_broken_ancestry(size: int) -> None:
    whole = ancestry.pack((Segment(ROOT, at(20)), Segment(FORK, at(30))))

    with pytest.raises(BrokenAncestryError, match=f"{size} bytes"):
        ancestry.unpack(whole[:size])


@pytest.mark.parametrize(
    "packed",
    [
        bytes(32),
        uuid.UUID(ROOT).bytes + uuid.UUID(FORK).bytes,
        ancestry.pack((Segment(ROOT, at(20)),))[:16] + b"\xff" * 16,
        ancestry.pack((Segment(ROOT, at(20)), Segment(ROOT, at(30)))),
    ],
    ids=["zeros", "a stop of version 4", "a stop after the year 9999", "one conversation twice"],
)
def test_a_stored_stop_that_is_no_position_or_a_repeated_conversation_is_broken_ancestry(
    packed: bytes,
) -> None:
    with pytest.raises(BrokenAncestryError):
        ancestry.unpack(packed)


# Any history


@examples(1_200)
@given(HISTORIES)
def test_every_view_equals_the_recursive_definition(
    history: Operations | Growth,
) -> None:
    tree = play(history)
    now = len(tree.entries)

    for conversation_id in tree.paths:
        view, plain = tree.view(conversation_id), plain_view(tree, conversation_id, now)
        assert shown(view, tree.entries) == plain
        assert plain == sorted(
            e.entry_id
            for e in tree.entries
            if ancestry.shows(view, conversation_id=e.entry.conversation_id, entry_id=e.entry_id)
        )
        assert [entry.entry_id for entry in tree.sees[conversation_id]] == plain


@examples(600)
@given(HISTORIES)
def test_bounds_only_tighten_and_segments_ascend_and_are_disjoint(
    history: Operations | Growth,
) -> None:
    tree = play(history)

    for fork, made in tree.forks.items():
        path, bounds = tree.paths[fork], ancestry.bounds_of(tree.view(made.source))
        assert all(segment.stop <= bounds[segment.conversation_id] for segment in path)
        assert len({segment.conversation_id for segment in path} | {fork}) == len(path) + 1
        start = FIRST
        for segment in tree.view(fork).segments:
            assert start < segment.stop
            own = [e for e in tree.own[segment.conversation_id] if e < segment.stop]
            assert all(start < entry_id for entry_id in own)
            start = segment.stop
        assert ancestry.floor_of(path) == max((s.stop for s in path), default=FIRST)
        assert ancestry.unpack(ancestry.pack(path)) == path
