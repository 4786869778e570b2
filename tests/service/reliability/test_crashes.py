"""Every call of every operation fails in every way.

An operation first runs without a fault. It makes n calls, gives an answer and leaves a table. Then,
for each k up to n and each fault, it runs on a copy of the same table with the fault at its kth
call, and on another copy with a fault at every attempt of that call. After a 503 the caller repeats
the request to the same process; without an answer, to a new process. The answer and the table must
be the same as without the fault.
"""

from itertools import islice

import pytest

from tests.service.reliability.crashes import Crashes
from tests.service.reliability.figures import Measure
from tests.service.reliability.service import Endpoint
from tests.service.reliability.world import OPERATIONS, built

POINTS_CI_MAX = 6
KILLS_CI_MAX = 2
CHANGES = [name for name, operation in OPERATIONS.items() if not operation.is_read]


def crashes_of(name: str, endpoint: Endpoint) -> Crashes:
    operation = OPERATIONS[name]
    return Crashes(operation, built(operation.of, endpoint), endpoint)


@pytest.mark.failure(
    "killed-between-calls",
    "lost-answer",
    "retry-without-key",
    "partial-answer",
    "misleading-query-page",
    "busy-database",
    "cancelled-transaction",
    "killed-erasure",
    "killed-retention",
    "restore-race",
)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_recovers_from_every_fault_at_every_call(
    endpoint: Endpoint, name: str, measure: Measure
) -> None:
    """The answer and the table are the same as without the fault.

    The gate tries all points. CI tries some of an operation that has many. With throttling, this
    also shows how many attempts are made before a 503. With cancelled transactions, it shows that a
    conflict is tried again.
    """
    crashes = crashes_of(name, endpoint)

    for point in measure.some(list(crashes.points()), ci=POINTS_CI_MAX):
        measure.count(points=crashes.recovers(*point))


@pytest.mark.failure("killed-between-calls", "killed-erasure", "killed-retention", "revocation-in-children")
@pytest.mark.parametrize("name", CHANGES)
def test_what_a_killed_process_leaves_is_all_or_nothing_once_it_is_swept(
    endpoint: Endpoint, name: str, measure: Measure
) -> None:
    """The request is not repeated. The gate tries all places to be killed, CI some of many."""
    crashes = crashes_of(name, endpoint)
    calls = measure.some(crashes.faultless.calls, ci=KILLS_CI_MAX)
    measure.count(places_to_be_killed=crashes.abandoned(calls))


def test_there_are_as_many_points_as_are_promised(endpoint: Endpoint) -> None:
    """There are at least 500 points. A point is one fault at one call of one operation."""
    points = (point for name in OPERATIONS for point in crashes_of(name, endpoint).points())

    assert len(list(islice(points, 500))) == 500
