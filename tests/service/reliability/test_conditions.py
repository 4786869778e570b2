"""Each condition of each write is needed: without it a race or a delayed request goes wrong.

For each condition, `conditions.txt` names the smallest check that fails without it. It lists
exactly the conditions that the service sends.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.reliability.conditions import conditions_of, without
from tests.service.reliability.crashes import Crashes, nothing
from tests.service.reliability.faults import Rewrite
from tests.service.reliability.figures import Measure, skip_unless_tried
from tests.service.reliability.held_up import HELD_UP
from tests.service.reliability.pairs import PAIRS
from tests.service.reliability.races import Race
from tests.service.reliability.service import Endpoint
from tests.service.reliability.torn_reads import TornReads
from tests.service.reliability.violation import Violation
from tests.service.reliability.world import OPERATIONS, Operation, built

SWITCHES_MAX = 2


def read_table() -> dict[str, str]:
    """Return for each condition the check that fails without it."""
    text = Path(__file__).with_name("conditions.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(tuple(map(str.strip, line.split("|"))) for line in lines)  # type: ignore[misc]


TABLE = read_table()


def sent_by(operation: Operation, endpoint: Endpoint) -> set[str]:
    """Return the conditions that an operation sends if no fault happens."""
    crashes = Crashes(operation, built(operation.of, endpoint), endpoint)
    with crashes.world.copy(endpoint) as store:
        process, _ = crashes.attempt(store, nothing)
        return {condition for call in process.faults.calls for condition in conditions_of(call)}


def all_operations() -> Iterator[Operation]:
    yield from OPERATIONS.values()
    for pair in PAIRS.values():
        yield from (*pair.one, *pair.other)


def test_the_table_names_every_condition_that_is_sent_and_no_other(endpoint: Endpoint) -> None:
    changes = {id(operation): operation for operation in all_operations() if not operation.is_read}
    sent = set().union(*(sent_by(operation, endpoint) for operation in changes.values()))

    assert sorted(sent - TABLE.keys()) == [], "sent, but not in conditions.txt"
    assert sorted(TABLE.keys() - sent) == [], "in conditions.txt, but not sent"


def fails(check: str, condition: str, endpoint: Endpoint) -> bool:
    """Tell whether a check fails if the condition is removed from every write."""
    kind, _, name = check.partition(" ")
    try:
        {"race": by_race, "torn": by_torn_read, "held-up": by_hand}[kind](name, without(condition), endpoint)
    except Violation:
        return True
    return False


def by_race(name: str, rewrite: Rewrite, endpoint: Endpoint) -> None:
    race = Race(PAIRS[name], endpoint, rewrite)
    assert race.is_same_alone
    race.run(switches_max=SWITCHES_MAX)


def by_torn_read(name: str, rewrite: Rewrite, endpoint: Endpoint) -> None:
    TornReads(PAIRS[name], endpoint, rewrite).run()


def by_hand(name: str, rewrite: Rewrite, endpoint: Endpoint) -> None:
    HELD_UP[name](endpoint, rewrite)


@pytest.mark.parametrize("condition", TABLE)
def test_without_a_condition_its_check_fails(endpoint: Endpoint, condition: str, measure: Measure) -> None:
    skip_unless_tried(measure)
    assert fails(TABLE[condition], condition, endpoint), f"nothing fails without {condition}"
    measure.count(conditions=1)
