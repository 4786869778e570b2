"""How much work each check does: little for every change, much at the gate, in many parts."""

import os
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

import pytest

FIGURES, SEED, PART = "FORKLORE_FIGURES", "FORKLORE_TEST_SEED", "FORKLORE_PART"
COUNT = "count "
SIZES = ("ci", "gate")
TRIED_IN_CI = 1 / 5
Item = TypeVar("Item")


@dataclass
class Measure:
    """How much work a check must do, and how much it has done.

    name: the check's name. whole_seed: the seed of all parts together. part: the number of this
    run, from 1; each part has its own seed. None: the check has only one part. counts: what was
    done.
    """

    name: str
    size: str
    whole_seed: int
    part: int | None = None
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, name: str) -> "Measure":
        """Return a test's measure, read from FORKLORE_FIGURES, _TEST_SEED and _PART (such as 3)."""
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
        """A new random generator with the seed of this part."""
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
        """The values that the gate keeps."""
        return {"seed": self.whole_seed, **{f"{COUNT}{what}": number for what, number in self.counts.items()}}

    def __str__(self) -> str:
        done = ", ".join(f"{number:,} {what.replace('_', ' ')}" for what, number in self.counts.items())
        part = f" {PART}={self.part}" if self.part else ""
        return f"{self.name}: {SEED}={self.whole_seed} {FIGURES}={self.size}{part}: {done}"


def is_gate() -> bool:
    """Tell whether this run does the full work."""
    return Measure.of("").size == "gate"


def skip_unless_tried(measure: Measure, *, ci: float = TRIED_IN_CI) -> None:
    """Skip a test that another run of CI does. The gate does all. ci: as of `is_tried`."""
    if not measure.is_tried(ci=ci):
        pytest.skip(f"left to another run; {FIGURES}=gate does all")
