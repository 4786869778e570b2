"""Compare a measured figure with its target, or with the figure that is accepted instead."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console

UNEXPLAINED = "**unexplained**"
"""The mark in a table where a figure misses its target without an accepted reason.

The benchmark fails where it finds this mark."""
NOW_MET = "**now met**"
"""The mark where a figure meets its target again. Its accepted figure can be deleted."""
NOISE = 1.05
"""An accepted time may be exceeded by this factor: two quiet runs differ by 1 to 2 %."""


def verdict(is_met: bool, *, is_accepted: bool, why: str | None) -> str:
    """Return what a table says about a target; the empty text for one that is met.

    is_accepted: whether the figure is within the accepted one.
    why: the reason for the accepted figure; None if there is none.
    """
    if is_met:
        return "" if why is None else f"{NOW_MET}: delete the accepted figure ({why})"
    if why is None:
        return f"**missed**: {UNEXPLAINED}"
    if is_accepted:
        return f"**missed**: {why}"
    return f"**missed**: {UNEXPLAINED}, more than the accepted figure ({why})"


@dataclass(frozen=True)
class Target:
    """The maximum of a time, or of a ratio of times.

    accepted: the value that was measured on a quiet machine, where it is above the maximum.
    why: the reason for that.
    """

    most: float
    accepted: float | None = None
    why: str | None = None

    def verdict(self, measured: float) -> str:
        is_accepted = self.accepted is not None and measured <= self.accepted * NOISE
        return verdict(measured <= self.most, is_accepted=is_accepted, why=self.why)


def unexplained(sections: Mapping[str, str], console: Console) -> list[str]:
    """Return the lines that are marked as unexplained, each after the name of its section.

    Prints them, and also the lines whose accepted figure can be deleted.
    """
    wrong = _lines_with(UNEXPLAINED, sections)
    for line in wrong:
        console.print(line, style="red", soft_wrap=True)
    for line in _lines_with(NOW_MET, sections):
        console.print(line, style="yellow", soft_wrap=True)
    return wrong


def _lines_with(mark: str, sections: Mapping[str, str]) -> list[str]:
    lines = ((name, line) for name, text in sections.items() for line in text.splitlines())
    return [f"{name}: {line}" for name, line in lines if mark in line]
