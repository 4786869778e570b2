"""What runs a function beside its caller: a thread, or a task of asyncio or trio."""

import threading
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any


class Beside:
    """Runs a function in a thread, from `begin` to `end`.

    run: raises nothing, and looks often whether it is over.
    """

    def __init__(self, run: Callable[[], None]) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=run, name="forklore answer", daemon=True)

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def is_over(self, within_s: float) -> bool:
        """Return whether `end` was called; wait for it so long."""
        return self._over.wait(within_s)

    def end(self) -> None:
        """Let the function end, and wait until it has."""
        self._over.set()
        self._thread.join()

    def to_the_end(self, function: Callable[[], None]) -> None:
        """Call a function."""
        function()

    def turn(self) -> None:
        """Let other threads run."""
        time.sleep(0)


class AsyncBeside:
    """The same in a task. It may be begun and ended in different tasks, as generators need.

    So the task is not in a group of the caller's, whose end would be that of the one who began it.
    """

    def __init__(self, run: Callable[[], Awaitable[None]]) -> None:
        self._run = run

    async def begin(self) -> None:
        """Start the task. This cannot be cancelled."""
        import asyncio

        import anyio
        import anyio.lowlevel

        self._over, self._done = anyio.Event(), anyio.Event()
        loop: Any = anyio.lowlevel.current_token().native_token
        if isinstance(loop, asyncio.AbstractEventLoop):
            self._task = loop.create_task(self._whole())  # a loop holds its tasks weakly
            self._task.add_done_callback(lambda _: self._done.set())  # also if it never ran
        else:
            import trio

            trio.lowlevel.spawn_system_task(self._whole)

    async def _whole(self) -> None:
        try:
            await self._run()
        finally:
            self._done.set()

    async def is_over(self, within_s: float) -> bool:
        """Return whether `end` was called; wait for it so long."""
        import anyio

        with anyio.move_on_after(within_s):
            await self._over.wait()
        return self._over.is_set()

    async def end(self) -> None:
        """Let the function end, and wait until it has."""
        import anyio

        self._over.set()
        with anyio.CancelScope(shield=True):
            await self._done.wait()

    async def to_the_end(self, function: Callable[[], Awaitable[None]]) -> None:
        """Call a function, also while the caller is cancelled."""
        import anyio

        with anyio.CancelScope(shield=True):
            await function()

    def turn(self) -> Awaitable[None]:
        """Return what lets other tasks run when it is awaited. It may be left alone."""
        return _Turn()


class _Turn:
    """A coroutine is made when this is awaited: one that nobody awaits would be warned of."""

    def __await__(self) -> Generator[Any, None, None]:
        import anyio.lowlevel

        return anyio.lowlevel.checkpoint().__await__()
