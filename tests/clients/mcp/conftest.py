"""A service, and a local server that has the tools."""

import uuid
from collections.abc import Iterator

import pytest

from forklore import Forklore
from tools.harness.local_server import local_server


@pytest.fixture(scope="module")
def service() -> Iterator[Forklore]:
    """A client of a service that forgets all at the end."""
    with Forklore.local(user="nobody") as made:
        yield made


@pytest.fixture
def ann(service: Forklore) -> Forklore:
    """An agent of a user of the test's own."""
    return service.acting_as(f"ann-{uuid.uuid4().hex[:8]}", "planner")


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of a local server with the tools."""
    with local_server("forklore.cli", "serve", "--mcp") as address:
        yield address
