"""Fixtures: the functions on an embedded table. Each test module has its own table."""

from collections.abc import Iterator

import pytest

from tests.service.aws.world import World
from tests.service.reliability.conftest import measure
from tools.harness.gateway import Gateway, stored, table_in_memory

__all__ = ["measure"]


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """A gateway that sends requests to the functions. Their table is empty at the start."""
    with table_in_memory() as template:
        yield Gateway(template)


@pytest.fixture(scope="module")
def open_world(gateway: Gateway) -> World:
    """The world, for requests that may change the table."""
    return World(gateway)


@pytest.fixture
def world(open_world: World) -> Iterator[World]:
    """The world, for requests that are refused. Fails if the table has changed afterwards."""
    before = stored()
    yield open_world
    assert stored() == before, "a refused request has changed the table"
