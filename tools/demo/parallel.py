"""Do the same work on many items, a few at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_parallel(
    work: Callable[[Item], Result], items: Sequence[Item], *, threads: int, stop: Callable[[], None]
) -> list[Result]:
    """Return the results in the items' order.

    stop: called at the first error, or when the user interrupts. It should make running work end
    soon. Items that have not begun are then dropped. Raises the first error.
    """
    with ThreadPoolExecutor(max_workers=threads) as executor:
        futures = [executor.submit(work, item) for item in items]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            stop()
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
