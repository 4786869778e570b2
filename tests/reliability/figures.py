"""How much of each check is done: little with every change, more at the gate, all of it now and then."""

import os
import secrets
from collections import Counter
from dataclasses import dataclass, field
from random import Random

FIGURES, SEED = "FORKLORE_FIGURES", "FORKLORE_TEST_SEED"
SIZES = ("ci", "gate", "long")


@dataclass
class Measure:
    """What a check is to do and what it has done. name: the check's. counts: by what is counted."""

    name: str
    size: str
    seed: int
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, name: str) -> "Measure":
        """Return the measure of a test, as the environment has it: FORKLORE_FIGURES, FORKLORE_TEST_SEED."""
        size = os.environ.get(FIGURES) or SIZES[0]
        assert size in SIZES, f"{FIGURES} is one of {SIZES}"
        return cls(name, size, int(os.environ.get(SEED) or secrets.randbits(32)))

    @property
    def random(self) -> Random:
        """A new source of choices; the seed says all of them."""
        return Random(self.seed)

    def goal(self, *, ci: int, gate: int, long: int) -> int:
        """Return how many are to be done in this run."""
        return {"ci": ci, "gate": gate, "long": long}[self.size]

    def count(self, **what: int) -> None:
        """Add to what was done."""
        self.counts.update(what)

    @property
    def properties(self) -> dict[str, object]:
        """What the gate keeps of it."""
        return {"seed": self.seed, **{f"count {what}": number for what, number in self.counts.items()}}

    def __str__(self) -> str:
        done = ", ".join(f"{number:,} {what.replace('_', ' ')}" for what, number in self.counts.items())
        return f"{self.name}: {SEED}={self.seed} {FIGURES}={self.size}: {done}"
