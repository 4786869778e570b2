"""How much of each check is done: little with every change, much at the gate, whose parts may be many."""

import os
import secrets
from collections import Counter
from dataclasses import dataclass, field
from random import Random

FIGURES, SEED, PART = "FORKLORE_FIGURES", "FORKLORE_TEST_SEED", "FORKLORE_PART"
COUNT = "count "
SIZES = ("ci", "gate")


@dataclass
class Measure:
    """What a check is to do and what it has done.

    name: the check's. whole_seed: of all parts together. part: which one this run is, from 1 on; each has a
    seed of its own. None: it is not one of many. counts: by what is counted.
    """

    name: str
    size: str
    whole_seed: int
    part: int | None = None
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, name: str) -> "Measure":
        """Return the measure of a test: FORKLORE_FIGURES, FORKLORE_TEST_SEED, and FORKLORE_PART like 3."""
        size = os.environ.get(FIGURES) or SIZES[0]
        assert size in SIZES, f"{FIGURES} is one of {SIZES}"
        part = os.environ.get(PART)
        return cls(name, size, int(os.environ.get(SEED) or secrets.randbits(32)), int(part) if part else None)

    @property
    def seed(self) -> int:
        """The seed of this part."""
        return Random(f"{self.whole_seed} {self.part}").getrandbits(32) if self.part else self.whole_seed

    @property
    def random(self) -> Random:
        """A new source of choices; the seed says all of them."""
        return Random(self.seed)

    def goal(self, *, ci: int, gate: int) -> int:
        """Return how many are to be done in this run, at the least."""
        return {"ci": ci, "gate": gate}[self.size]

    def count(self, **what: int) -> None:
        """Add to what was done."""
        self.counts.update(what)

    @property
    def properties(self) -> dict[str, object]:
        """What the gate keeps of it."""
        return {"seed": self.whole_seed, **{f"{COUNT}{what}": number for what, number in self.counts.items()}}

    def __str__(self) -> str:
        done = ", ".join(f"{number:,} {what.replace('_', ' ')}" for what, number in self.counts.items())
        part = f" {PART}={self.part}" if self.part else ""
        return f"{self.name}: {SEED}={self.whole_seed} {FIGURES}={self.size}{part}: {done}"
