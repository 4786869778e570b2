"""How much work each check does: little for every change, much at the gate."""

import os
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

import pytest

FIGURES, SEED = "FORKLORE_FIGURES", "FORKLORE_TEST_SEED"
COUNT = "count "
SIZES = ("ci", "gate")
TRIED_IN_CI = 1 / 5
Item = TypeVar("Item")


@dataclass
class Measure:
    """How much work a check must do, and how much it has done.

    name: the test's name. counts: what was done.
    """

    name: str
    size: str
    seed: int
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, name: str) -> "Measure":
        """Return a test's measure, read from FORKLORE_FIGURES and FORKLORE_TEST_SEED."""
        size = os.environ.get(FIGURES) or SIZES[0]
        assert size in SIZES, f"{FIGURES} is one of {SIZES}"
        return cls(name, size, int(os.environ.get(SEED) or secrets.randbits(32)))

    @property
    def random(self) -> Random:
        """A new random generator with this seed."""
        return Random(self.seed)

    def goal(self, *, ci: int, gate: int) -> int:
        """Return the minimum that this run must do."""
        return {"ci": ci, "gate": gate}[self.size]

    def some(self, all_of_them: Sequence[Item], *, ci: int) -> Sequence[Item]:
        """Return what this run must try: all at the gate, a random choice of so many for CI."""
        if self.size == "gate" or len(all_of_them) <= ci:
            return all_of_them
        chosen = set(self.random.sample(range(len(all_of_them)), ci))
        return [one for place, one in enumerate(all_of_them) if place in chosen]

    def is_tried(self, *, ci: float) -> bool:
        """Tell whether this run does this test: always at the gate, with this chance for CI.

        The seed and the test's name decide. CI has a fixed seed, so it always does the same ones.
        """
        return self.size == "gate" or Random(f"{self.seed} {self.name}").random() < ci

    def count(self, **what: int) -> None:
        """Add to the counts."""
        self.counts.update(what)

    @property
    def properties(self) -> dict[str, object]:
        """What the report of pytest keeps."""
        return {"seed": self.seed, **{f"{COUNT}{what}": number for what, number in self.counts.items()}}

    def __str__(self) -> str:
        done = ", ".join(f"{number:,} {what.replace('_', ' ')}" for what, number in self.counts.items())
        return f"{self.name}: {SEED}={self.seed} {FIGURES}={self.size}: {done}"


def is_gate() -> bool:
    """Tell whether this run does the full work."""
    return Measure.of("").size == "gate"


def skip_unless_tried(measure: Measure, *, ci: float = TRIED_IN_CI) -> None:
    """Skip a test that another run of CI does. The gate does all. ci: as of `is_tried`."""
    if not measure.is_tried(ci=ci):
        pytest.skip(f"left to another run; {FIGURES}=gate does all")
