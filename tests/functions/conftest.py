"""Fixtures: the functions on a table in memory, queues on moto, and the answers to the events."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from tests.functions.story import tell_functions
from tests.support.others import moto
from tools.harness.gateway import Answer, Gateway, table_in_memory

__all__ = ["moto"]


@pytest.fixture(scope="package")
def gateway() -> Iterator[Gateway]:
    """A gateway that sends events to the functions. Their table is empty at the start."""
    with table_in_memory() as template, mock_aws():
        yield Gateway(template, FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude")


@pytest.fixture(scope="package")
def told(gateway: Gateway) -> dict[str, Answer]:
    """The first good answer of each route."""
    return tell_functions(gateway.deliver)
