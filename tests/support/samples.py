"""Which of many similar cases `make test` tries. `make test-reliability` tries the others."""

import os
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from tests.service.reliability.figures import SEED


def drawn(cases: Sequence[Any], number: int) -> list[Any]:
    """Return the cases as parameters of a test. All but so many, chosen at random, are `long`.

    FORKLORE_TEST_SEED chooses others. All processes of a run must choose the same ones, so without
    a seed the choice is always the same.
    """
    seed = os.environ.get(SEED) or "0"
    chosen = set(Random(f"{seed} {len(cases)} {number}").sample(range(len(cases)), min(number, len(cases))))
    return [
        case
        if place in chosen
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        for place, case in enumerate(cases)
    ]
