"""A cost is compared with the accepted one: rounds exactly, units but for what zlib decides."""

import pytest

from tools.bench.costs import differing


@pytest.mark.parametrize("measured", ["2 / 5 / 164", "2 / 5 / 166", "2 / 5 / 162"])
def test_a_cost_that_another_zlib_explains_is_the_accepted_one(measured: str) -> None:
    assert differing({"copy": measured}, {"copy": "2 / 5 / 164"}) == []


@pytest.mark.parametrize("measured", ["1 / 5 / 164", "2 / 6 / 164", "2 / 4 / 164", "2 / 5 / 168"])
def test_another_cost_is_not(measured: str) -> None:
    assert differing({"copy": measured}, {"copy": "2 / 5 / 164"}) == [f"copy: {measured}, not 2 / 5 / 164"]


def test_a_case_that_only_one_of_them_has_differs() -> None:
    assert differing({"new": "1 / 0 / 6"}, {"old": "1 / 0 / 6"}) == [
        "new: 1 / 0 / 6, not None",
        "old: None, not 1 / 0 / 6",
    ]
