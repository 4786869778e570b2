"""How much longer one work takes than another, in one run: a slow machine is slow for both."""

import gc
from collections.abc import Callable
from time import process_time

RUNS = 3


def times_longer(work: Callable[[], object], than: Callable[[], object]) -> float:
    """Return how many times the processor time of `than` the work takes.

    The least time of some runs counts. What is short is repeated.
    """
    return _fewest_seconds(work) / _fewest_seconds(than)


def _fewest_seconds(work: Callable[[], object]) -> float:
    return min(_seconds(work) for _ in range(RUNS))


def _seconds(work: Callable[[], object]) -> float:
    """Return the seconds of one call: of as many as take long enough to be measured."""
    gc.collect()
    calls, begun = 0, process_time()
    while not calls or process_time() - begun < 0.01:
        work()
        calls += 1
    return (process_time() - begun) / calls
