"""The services, and a user of each test's own."""

import uuid
from collections.abc import Iterator

import pytest

from tests.adapters.services import KINDS, Service, running


@pytest.fixture(scope="session", params=KINDS)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Each of the services, one after the other."""
    with running(request.param, tmp_path_factory.mktemp("data")) as service:
        yield service


@pytest.fixture
def user() -> str:
    """A user whom no other test uses."""
    return f"ann-{uuid.uuid4().hex[:8]}"
