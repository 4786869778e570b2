"""The functions on an embedded table, one for each file of tests."""

from collections.abc import Iterator

import pytest

from tests.aws.world import World
from tests.reliability.conftest import measure
from tools.harness.gateway import Gateway, stored, table_on_moto

__all__ = ["measure"]


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """What sends requests to the functions; their table begins empty."""
    with table_on_moto() as template:
        yield Gateway(template)


@pytest.fixture(scope="module")
def open_world(gateway: Gateway) -> World:
    """The world, for requests that may change it."""
    return World(gateway)


@pytest.fixture
def world(open_world: World) -> Iterator[World]:
    """The world, for requests that are refused; the table must hold the same afterwards."""
    before = stored()
    yield open_world
    assert stored() == before, "a rejected request has changed the table"
