"""A wrong machine clock, and a limited lifetime, for processes that tests start.

This module imports nothing of forklore. Call `set_machine_clock` first, and then import forklore.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

LIVES_SECONDS_MAX = 3600.0
"""Every process of a test ends after this time, even if the test does not end it."""


@dataclass(frozen=True)
class MachineClock:
    """How far a process's clock is off, and whether it sees the `Date` of DynamoDB's answers."""

    shift_seconds: int = 0
    sees_date: bool = True

    @property
    def arguments(self) -> list[str]:
        """The command line that `from_arguments` reads."""
        return [str(self.shift_seconds), "date" if self.sees_date else "no-date"]

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> "MachineClock":
        shift, date = arguments
        assert date in ("date", "no-date"), date
        return cls(int(shift), date == "date")


def set_machine_clock(clock: MachineClock) -> None:
    """Shift `time.time` and `time.time_ns` of this process. Hide DynamoDB's `Date` if asked to."""
    forklore = [name for name in sys.modules if name.startswith("forklore")]
    assert not forklore, f"{forklore} may have read the clock already"
    true_ns, true_seconds = time.time_ns, time.time
    time.time_ns = lambda: true_ns() + clock.shift_seconds * 10**9
    time.time = lambda: true_seconds() + clock.shift_seconds
    if not clock.sees_date:
        _hide_date()


def _hide_date() -> None:
    """Remove the header from all answers to clients that are made from now on, also from errors."""
    from botocore import handlers

    handlers.BUILTIN_HANDLERS.append(("after-call.dynamodb", _strip_date))


def _strip_date(parsed: Any, **_: Any) -> None:
    headers = parsed["ResponseMetadata"]["HTTPHeaders"]
    assert headers.pop("date", None) or not headers, "DynamoDB's answers have no Date to hide"


def end_with_parent(on_line: Callable[[str], None] = lambda _line: None) -> None:
    """End this process by SIGTERM when its standard input closes, or after LIVES_SECONDS_MAX.

    on_line: is called with every line that comes in, in a thread of its own.
    """
    closed = threading.Event()

    def read_to_end() -> None:
        for line in sys.stdin:
            on_line(line)
        closed.set()

    def wait() -> None:
        closed.wait(LIVES_SECONDS_MAX)
        os.kill(os.getpid(), signal.SIGTERM)

    for target in (read_to_end, wait):
        threading.Thread(target=target, daemon=True).start()
