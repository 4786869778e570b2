"""How much of each check is done: little with every change, more at the gate, all of it now and then."""

import os
import secrets
from collections import Counter
from dataclasses import dataclass, field
from random import Random

FIGURES, SEED, PART = "FORKLORE_FIGURES", "FORKLORE_TEST_SEED", "FORKLORE_PART"
COUNT = "count "
SIZES = ("ci", "gate", "long")


@dataclass
class Measure:
    """What a check is to do and what it has done.

    name: the check's. whole_seed: of all parts together. part: which one of so many `parts` this run is; each
    has a seed of its own and does its share. counts: by what is counted.
    """

    name: str
    size: str
    whole_seed: int
    part: int = 1
    parts: int = 1
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, name: str) -> "Measure":
        """Return the measure of a test: FORKLORE_FIGURES, FORKLORE_TEST_SEED, and FORKLORE_PART like 3/10."""
        size = os.environ.get(FIGURES) or SIZES[0]
        assert size in SIZES, f"{FIGURES} is one of {SIZES}"
        part, parts = map(int, (os.environ.get(PART) or "1/1").split("/"))
        assert 1 <= part <= parts, f"{PART} is like 3/10"
        return cls(name, size, int(os.environ.get(SEED) or secrets.randbits(32)), part, parts)

    @property
    def seed(self) -> int:
        """The seed of this part."""
        return (
            self.whole_seed if self.parts == 1 else Random(f"{self.whole_seed} {self.part}").getrandbits(32)
        )

    @property
    def random(self) -> Random:
        """A new source of choices; the seed says all of them."""
        return Random(self.seed)

    def goal(self, *, ci: int, gate: int, long: int) -> int:
        """Return how many are to be done in this run, at the least."""
        return -(-{"ci": ci, "gate": gate, "long": long}[self.size] // self.parts)

    def count(self, **what: int) -> None:
        """Add to what was done."""
        self.counts.update(what)

    @property
    def properties(self) -> dict[str, object]:
        """What the gate keeps of it."""
        return {"seed": self.whole_seed, **{f"{COUNT}{what}": number for what, number in self.counts.items()}}

    def __str__(self) -> str:
        done = ", ".join(f"{number:,} {what.replace('_', ' ')}" for what, number in self.counts.items())
        part = f" {PART}={self.part}/{self.parts}" if self.parts > 1 else ""
        return f"{self.name}: {SEED}={self.whole_seed} {FIGURES}={self.size}{part}: {done}"
