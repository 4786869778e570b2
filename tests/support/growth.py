"""What a work takes, whatever the machine: how many calls, or how much longer than another work."""

import gc
import sys
from collections.abc import Callable
from time import process_time
from types import FrameType

RUNS = 3


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions of Python the work calls."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def times_longer(work: Callable[[], object], than: Callable[[], object]) -> float:
    """Return how many times the processor time of `than` the work takes.

    The least time of some runs counts. What is short is repeated.
    """
    gc.collect()
    return _fewest_seconds(work) / _fewest_seconds(than)


def _fewest_seconds(work: Callable[[], object]) -> float:
    return min(_seconds(work) for _ in range(RUNS))


def _seconds(work: Callable[[], object]) -> float:
    """Return the seconds of one call: of as many as take long enough to be measured."""
    calls, begun = 0, process_time()
    while not calls or process_time() - begun < 0.01:
        work()
        calls += 1
    return (process_time() - begun) / calls
