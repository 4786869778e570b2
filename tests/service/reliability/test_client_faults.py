"""Faults between clients and the service, in many calls. tests/clients/python has a few of each."""

import pytest

from tests.clients.python.faulty import FAULTS
from tests.clients.python.talking import run_and_compare
from tests.service.reliability.figures import Measure
from tests.service.reliability.intact import assert_intact
from tests.support.machine_clock import MachineClock
from tests.support.processes import local_servers
from tests.support.tables import Store

MODES = ["sync", "asyncio", "trio"]


@pytest.mark.failure("faulty-network", "lost-answer")
@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_lost_and_nothing_is_doubled(
    served_store: Store, dynamodb_local_endpoint: str, mode: str, measure: Measure
) -> None:
    calls = measure.goal(ci=80, gate=2000)
    with local_servers([MachineClock()], endpoint=dynamodb_local_endpoint, table=served_store.name) as [
        address
    ]:
        run_and_compare(address, mode, calls, measure)

    assert measure.counts["calls"] >= calls
    assert all(measure.counts[fault] for fault in FAULTS if fault != "no_fault")
    assert_intact(served_store)
