"""A wrong machine clock, and a life that ends: for processes that have not imported anything of forklore yet.

Nothing here imports forklore. Call `set_machine_clock` first, then import whatever reads the clock.
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
"""No process of a test outlives this, whatever becomes of the test."""


@dataclass(frozen=True)
class MachineClock:
    """How far a process's clock is off, and whether it may learn the time from DynamoDB's answers."""

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
    """Shift `time.time` and `time.time_ns` of this process, and hide DynamoDB's `Date` if asked to."""
    forklore = [name for name in sys.modules if name.partition(".")[0] == "forklore"]
    assert not forklore, f"{forklore} may have read the clock already"
    true_ns, true_seconds = time.time_ns, time.time
    time.time_ns = lambda: true_ns() + clock.shift_seconds * 10**9
    time.time = lambda: true_seconds() + clock.shift_seconds
    if not clock.sees_date:
        _hide_date()


def _hide_date() -> None:
    """Strip the header from what every client made from now on gets back, errors included."""
    from botocore import handlers

    handlers.BUILTIN_HANDLERS.append(("after-call.dynamodb", _strip_date))


def _strip_date(parsed: Any, **_: Any) -> None:
    headers = parsed["ResponseMetadata"]["HTTPHeaders"]
    assert headers.pop("date", None) or not headers, "DynamoDB's answers have no Date to hide"


def end_with_parent(on_line: Callable[[str], None] = lambda _line: None) -> None:
    """End this process by SIGTERM when its standard input closes, or after LIVES_SECONDS_MAX.

    on_line: gets every line that comes in, in a thread of its own.
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
