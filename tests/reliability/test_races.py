"""Every order of the DynamoDB calls of two requests (reliability, C4)."""

import pytest

from tests.reliability.figures import Measure
from tests.reliability.held_up import HELD_UP
from tests.reliability.pairs import PAIRS
from tests.reliability.races import Race


@pytest.mark.parametrize("name", HELD_UP)
def test_a_request_that_is_held_up_for_long_does_no_harm(endpoint: str, name: str, measure: Measure) -> None:
    """C4: F12."""
    HELD_UP[name](endpoint, None)
    measure.count(schedules_by_hand=1)


ENDLESS = [name for name, pair in PAIRS.items() if pair.is_endless]


@pytest.mark.parametrize("name", sorted(PAIRS.keys() - set(ENDLESS)))
def test_two_requests_come_out_as_if_made_one_after_the_other(
    endpoint: str, name: str, measure: Measure
) -> None:
    """C4: F10, F11, F12, F13 and F14."""
    measure.count(pairs=1, schedules=Race(PAIRS[name], endpoint).run())


@pytest.mark.parametrize("name", ENDLESS)
def test_two_requests_of_many_calls_come_out_so_however_one_stops_for_the_other(
    endpoint: str, name: str, measure: Measure
) -> None:
    """C4: F14 and F17, in the orders in which few must wait who could go on, as there are too many."""
    switches_max = measure.goal(ci=1, gate=2)
    measure.count(schedules_of_few_switches=Race(PAIRS[name], endpoint).run(switches_max=switches_max))


def test_there_are_as_many_pairs_as_are_promised() -> None:
    """C4: 14 pairs or more whose orders are all tried."""
    assert len(PAIRS) - len(ENDLESS) >= 14
