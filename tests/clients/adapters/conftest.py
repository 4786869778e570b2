"""The services, and a user of each test's own."""

import os
import tempfile
import uuid
from collections.abc import Iterator

import pytest

from tests.clients.adapters.metered import Metered, metering
from tests.clients.adapters.services import Service, chosen, running
from tools.bench.local import ENVIRONMENT


def pytest_configure(config: pytest.Config) -> None:
    """Frameworks write to the home of whoever imports them: that is a folder of the tests' own."""
    home = tempfile.TemporaryDirectory()
    config.add_cleanup(home.cleanup)
    os.environ["HOME"] = home.name


@pytest.fixture(scope="session", params=chosen(os.environ))
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Each of the services that are tested, one after the other."""
    with running(request.param, tmp_path_factory.mktemp("data")) as service:
        yield service


@pytest.fixture
def user() -> str:
    """A user whom no other test uses."""
    return f"ann-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def metered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Metered]:
    """A process of the service whose capacity units are counted."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with metering() as metered:
        yield metered
