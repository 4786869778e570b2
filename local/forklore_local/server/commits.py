"""What held requests wait for: a commit, of this process or of another one on the same folder.

No thread waits. One look every LOOK_SECONDS serves all who wait. At each look AT_ONCE of them go on
at the most, who has waited longest first. So those who wait leave the processor to who writes.
"""

import asyncio
from collections.abc import Callable
from typing import Any

LOOK_SECONDS = 0.02
AT_ONCE = 4


class Commits:
    """Lets requests wait for the next commit.

    moment: as Database.moment. is_ending: tells whether nobody may wait any more.
    """

    def __init__(
        self, moment: Callable[[], int | None], is_ending: Callable[[], bool] = lambda: False
    ) -> None:
        self.moment = moment
        self._is_ending = is_ending
        self._waiting: dict[asyncio.Future[None], int | None] = {}
        self._looking: asyncio.Task[None] | None = None

    async def after(self, seen: int | None, seconds: float, gone: asyncio.Future[Any]) -> bool:
        """Wait for a commit after the moment `seen`, and return whether there was one.

        seconds: at most. gone: done when nobody waits for the answer any more.
        """
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = seen
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            await asyncio.wait({waiter, gone}, timeout=max(seconds, 0), return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._waiting[waiter]
        return waiter.done() and not gone.done() and not self._is_ending()

    async def _look(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(LOOK_SECONDS)
                moment = await asyncio.to_thread(self.moment)
                due = [waiter for waiter, seen in self._waiting.items() if seen != moment]
                for waiter in [*self._waiting] if self._is_ending() else due[:AT_ONCE]:
                    if not waiter.done():
                        waiter.set_result(None)
        finally:
            self._looking = None
