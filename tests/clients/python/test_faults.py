"""Faults between the client and the service: nothing is lost, and nothing is doubled."""

from collections.abc import Iterator

import pytest

from tests.clients.python.talking import run_and_compare
from tests.service.reliability.conftest import measure
from tests.service.reliability.figures import Measure
from tests.support.machine_clock import MachineClock
from tests.support.processes import local_servers

__all__ = ["measure"]
CALLS = 72


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a local server in a process of its own, with a store in its memory."""
    with local_servers([MachineClock()], endpoint="", table="forklore") as [url]:
        yield url


@pytest.mark.failure("faulty-network")
def test_nothing_is_lost_and_nothing_is_doubled(address: str, measure: Measure) -> None:
    run_and_compare(address, "sync", CALLS, measure)

    assert sum(measure.counts.values()) > CALLS, "no fault was planted"
