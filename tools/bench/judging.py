"""What is said of a target: held, known to be missed by no more than is accepted, or unexplained."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console

UNEXPLAINED = "**unexplained**"
"""What a table says where a cost is more than it should be. The benchmark fails where it finds it."""
MARK_CAN_GO = "**held by now**"
"""What it says of a target that is marked as missed and is not."""
NOISE = 1.05
"""How many times an accepted time, or ratio of times, may be measured: two quiet runs differ by 1 to 2 %."""


def verdict(holds: bool, *, is_accepted: bool, why: str | None) -> str:
    """Return what is said of a target; nothing of one that is held.

    is_accepted: whether it is missed by no more than what is accepted. why: None if nothing is.
    """
    if holds:
        return "" if why is None else f"{MARK_CAN_GO}, no longer: {why}"
    if why is None:
        return f"**missed**: {UNEXPLAINED}"
    return (
        f"**missed**: {why}" if is_accepted else f"**missed**: {UNEXPLAINED}, more than is accepted of: {why}"
    )


@dataclass(frozen=True)
class Target:
    """What a time, or a ratio of times, may be at the most.

    accepted: what it came to on a quiet machine, where that is more; why it is.
    """

    most: float
    accepted: float | None = None
    why: str | None = None

    def verdict(self, taken: float) -> str:
        is_accepted = self.accepted is not None and taken <= self.accepted * NOISE
        return verdict(taken <= self.most, is_accepted=is_accepted, why=self.why)


def unexplained(blocks: Mapping[str, str], console: Console) -> list[str]:
    """Return the lines of blocks that are unexplained, each after its block's name; print them.

    Print those, too, whose mark can go.
    """
    wrong = _lines_with(UNEXPLAINED, blocks)
    for line in wrong:
        console.print(line, style="red", soft_wrap=True)
    for line in _lines_with(MARK_CAN_GO, blocks):
        console.print(line, style="yellow", soft_wrap=True)
    return wrong


def _lines_with(mark: str, blocks: Mapping[str, str]) -> list[str]:
    return [f"{name}: {line}" for name, text in blocks.items() for line in text.splitlines() if mark in line]
