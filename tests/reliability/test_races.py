"""Every order of the DynamoDB calls of two requests (reliability, C4)."""

import pytest

from tests.reliability.figures import Measure
from tests.reliability.pairs import PAIRS
from tests.reliability.races import Race


@pytest.mark.parametrize("name", PAIRS)
def test_two_requests_come_out_as_if_made_one_after_the_other(
    endpoint: str, name: str, measure: Measure
) -> None:
    """C4: F10, F11, F12, F13 and F14."""
    measure.count(pairs=1, schedules=Race(PAIRS[name], endpoint).run())
