"""Every order of the DynamoDB calls of two requests."""

import pytest

from tests.service.reliability.figures import Measure, skip_unless_tried
from tests.service.reliability.held_up import HELD_UP
from tests.service.reliability.pairs import PAIRS
from tests.service.reliability.races import Race
from tests.service.reliability.service import Endpoint


@pytest.mark.failure("write-during-revocation", "write-amid-erasure", "use-amid-retention", "attachment-race")
@pytest.mark.parametrize("name", HELD_UP)
def test_a_request_that_is_held_up_for_long_does_no_harm(
    endpoint: Endpoint, name: str, measure: Measure
) -> None:
    HELD_UP[name](endpoint, None)
    measure.count(schedules_by_hand=1)


ENDLESS = {name: pair for name, pair in PAIRS.items() if pair.is_endless}


@pytest.mark.failure(
    "two-appenders",
    "two-at-one-answer",
    "write-during-deletion",
    "write-during-revocation",
    "revocation-in-children",
    "transfer-race",
    "two-creators",
    "name-moves",
    "removal-race",
    "restore-race",
    "attachment-race",
    "killed-embedder",
)
@pytest.mark.parametrize("name", sorted(PAIRS.keys() - ENDLESS.keys()))
def test_two_simultaneous_requests_have_the_outcome_of_one_after_the_other(
    endpoint: Endpoint, name: str, measure: Measure
) -> None:
    skip_unless_tried(measure)
    measure.count(pairs=1, schedules=Race(PAIRS[name], endpoint).run())


@pytest.mark.failure("two-creators", "unreliable-messages")
@pytest.mark.parametrize("name", ENDLESS)
def test_two_simultaneous_requests_of_many_calls_have_the_outcome_of_one_after_the_other(
    endpoint: Endpoint, name: str, measure: Measure
) -> None:
    """There are too many orders. This tries those in which requests are rarely paused."""
    skip_unless_tried(measure)
    switches_max = measure.goal(ci=1, gate=2)
    measure.count(schedules_of_few_switches=Race(ENDLESS[name], endpoint).run(switches_max=switches_max))


def test_there_are_as_many_pairs_as_are_promised() -> None:
    """All orders are tried of at least 14 pairs."""
    assert len(PAIRS.keys() - ENDLESS.keys()) >= 14
