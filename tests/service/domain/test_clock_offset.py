import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_service.domain import clock_offset
from forklore_service.domain.clock_offset import Offset
from tests.service.domain.builders import examples

DAY_MS = 86_400_000
ANSWERS = st.lists(st.tuples(*[st.integers(0, 3_000)] * 3), min_size=1, max_size=12)
"""The pause before each request, and how long request and answer take, in milliseconds."""


def watch(answers: list[tuple[int, int, int]], *, ahead_ms: int, start_ms: int = DAY_MS) -> list[Offset]:
    """Return the known offset after each answer of a server whose clock is ahead by `ahead_ms`."""
    known: Offset | None = None
    seen = []
    now = start_ms
    for pause, there, back in answers:
        sent = now + pause
        now = sent + there + back
        date_s = (sent + there + ahead_ms) // 1000
        known = clock_offset.observe(known, sent_ms=sent, received_ms=now, date_s=date_s)
        seen.append(known)
    return seen


@examples(1_000)
@given(ANSWERS, st.integers(-DAY_MS, DAY_MS) | st.sampled_from([0, 1, -1, 999, 1_000]))
def test_the_true_offset_is_always_within_the_bounds_and_they_only_narrow(
    answers: list[tuple[int, int, int]], ahead_ms: int
) -> None:
    seen = watch(answers, ahead_ms=ahead_ms)

    assert all(known.low_ms <= ahead_ms <= known.high_ms for known in seen)
    assert all(
        earlier.low_ms <= later.low_ms and later.high_ms <= earlier.high_ms
        for earlier, later in itertools.pairwise(seen)
    )
    fastest = min(there + back for _, there, back in answers)
    assert seen[-1].high_ms - seen[-1].low_ms <= 999 + fastest


@pytest.mark.parametrize(
    ("sent_ms", "received_ms", "date_s", "bounds"),
    [
        (5_000, 5_000, 5, Offset(0, 999)),
        (5_999, 5_999, 5, Offset(-999, 0)),
        (5_000, 5_100, 9, Offset(3_900, 4_999)),
        (5_000, 7_500, 5, Offset(-2_500, 999)),
    ],
    ids=["at the start of a second", "at its end", "far ahead", "a slow answer"],
)
def test_one_answer_bounds_the_offset_to_a_second_and_the_time_it_took(
    sent_ms: int, received_ms: int, date_s: int, bounds: Offset
) -> None:
    assert clock_offset.observe(None, sent_ms=sent_ms, received_ms=received_ms, date_s=date_s) == bounds


def test_each_further_answer_keeps_what_both_allow() -> None:
    known = Offset(-400, 300)

    assert clock_offset.observe(known, sent_ms=5_900, received_ms=5_900, date_s=6) == Offset(100, 300)
    assert clock_offset.observe(known, sent_ms=6_900, received_ms=6_900, date_s=6) == Offset(-400, 99)
    assert clock_offset.observe(known, sent_ms=5_000, received_ms=9_000, date_s=6) == known


def test_bounds_may_meet_in_one_point() -> None:
    assert clock_offset.observe(Offset(-400, 100), sent_ms=5_900, received_ms=5_900, date_s=6) == Offset(
        100, 100
    )


@pytest.mark.parametrize("step_ms", [DAY_MS, -DAY_MS, 2_000, -2_000])
def test_after_the_machine_clock_was_set_only_the_newest_answer_counts(step_ms: int) -> None:
    known = Offset(-10, 10)
    now_ms = 50_000 + step_ms

    seen = clock_offset.observe(known, sent_ms=now_ms, received_ms=now_ms + 20, date_s=50)

    assert seen == Offset(-step_ms - 20, -step_ms + 999)


@pytest.mark.parametrize(
    ("low_ms", "high_ms", "best_ms"),
    [(-300, 600, 0), (0, 0, 0), (200, 900, 200), (-900, -200, -200), (0, 900, 0), (-900, 0, 0), (5, 5, 5)],
)
def test_a_clock_gets_the_smallest_correction_that_the_bounds_allow(
    low_ms: int, high_ms: int, best_ms: int
) -> None:
    assert Offset(low_ms, high_ms).best_ms == best_ms


def test_a_clock_may_be_ten_minutes_off() -> None:
    assert clock_offset.OFFSET_MAX_MS == 600_000
