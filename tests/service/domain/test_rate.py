"""Processes that count in turn let the limit through, and at most a few requests more for each."""

from random import Random

import pytest

from forklore_service.domain.rate import WINDOW_SECONDS, Tally, uncounted_max, window_of


@pytest.mark.parametrize("limit", [1, 2, 19, 20, 40, 41, 200, 1_000])
def test_one_process_lets_exactly_the_limit_through(limit: int) -> None:
    tally = Tally()

    taken = [tally.take(limit) for _ in range(limit)]

    assert None not in taken
    assert tally.take(limit) is None
    assert limit - sum(due or 0 for due in taken) < uncounted_max(limit)


@pytest.mark.parametrize("limit", [1, 3, 40, 100, 600])
@pytest.mark.parametrize("processes", [1, 2, 7, 30])
@pytest.mark.parametrize("is_late", [False, True], ids=["at once", "late"])
def test_each_process_lets_at_most_twice_its_uncounted_requests_more_through(
    limit: int, processes: int, is_late: bool
) -> None:
    """is_late: a process learns the count only before its next request, as on Lambda."""
    random, counted, passed = Random(limit * processes), 0, 0
    tallies, under_way = [Tally() for _ in range(processes)], [0] * processes
    for _ in range(3 * (limit + processes * 20)):
        at = random.randrange(processes)
        if under_way[at]:
            counted += under_way[at]
            tallies[at].learn(counted)
        due = tallies[at].take(limit)
        passed += due is not None
        under_way[at] = due or 0
        if due and not is_late:
            counted, under_way[at] = counted + due, 0
            tallies[at].learn(counted)

    most = (2 if is_late else 1) * uncounted_max(limit)
    assert limit <= passed <= limit + processes * most


def test_a_count_that_is_late_takes_nothing_back() -> None:
    tally = Tally()
    for _ in range(20):
        tally.take(200)

    tally.learn(10)
    assert tally == Tally(counted=20)
    tally.learn(200)
    assert tally.take(200) is None


@pytest.mark.parametrize(("now_s", "window_s"), [(0, 0), (59, 0), (60, 60), (61, 60), (119, 60)])
def test_a_window_is_a_minute(now_s: int, window_s: int) -> None:
    assert window_of(now_s) == window_s
    assert 0 < window_of(now_s) + WINDOW_SECONDS - now_s <= WINDOW_SECONDS
