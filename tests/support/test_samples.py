"""The drawn cases."""

import pytest

from tests.service.reliability.figures import SEED
from tests.support.samples import drawn


def is_drawn(case: object) -> bool:
    return not hasattr(case, "marks")


def test_so_many_cases_are_drawn_and_the_others_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SEED, "7")
    cases = drawn([(1, "a"), (2, "b"), (3, "c"), (4, "d")], 3)

    assert sum(map(is_drawn, cases)) == 3
    [other] = [case for case in cases if not is_drawn(case)]
    assert [mark.name for mark in other.marks] == ["long"]
    values = [tuple(getattr(case, "values", case)) for case in cases]
    assert values == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_another_seed_draws_others_and_the_same_seed_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn_with(seed: str) -> list[bool]:
        monkeypatch.setenv(SEED, seed)
        return list(map(is_drawn, drawn(range(100), 50)))

    assert drawn_with("1") == drawn_with("1") != drawn_with("2")
    assert all(map(is_drawn, drawn(range(3), 5)))
