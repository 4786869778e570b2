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


def takes_at_most(times: float, work: Callable[[], object], *, than: Callable[[], object]) -> bool:
    """Tell whether the work takes at most so many times the processor time of `than`.

    The least time of each counts. Only what seems to take longer is measured again.
    """
    gc.collect()
    least, least_of_other = _seconds(work), _seconds(than)
    for _ in range(RUNS - 1):
        if least <= times * least_of_other:
            break
        least, least_of_other = min(least, _seconds(work)), min(least_of_other, _seconds(than))
    return least <= times * least_of_other


def _seconds(work: Callable[[], object]) -> float:
    """Return the seconds of one call: of as many as take long enough to be measured."""
    calls, begun = 0, process_time()
    while not calls or process_time() - begun < 0.01:
        work()
        calls += 1
    return (process_time() - begun) / calls
