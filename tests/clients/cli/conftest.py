"""A store in a folder, which is kept open so that each command finds it open."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import forklore
from tests.clients.cli.running import Forklore
from tools.harness.local_server import local_server


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of data that this process has opened."""
    made = tmp_path_factory.mktemp("data")
    with forklore.Forklore.local(user="nobody", data=made):
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of the profile file. It is empty."""
    return tmp_path / "config"


@pytest.fixture
def run(folder: Path, home: Path) -> Forklore:
    """Run command lines as a user of the test's own."""
    user = f"ann-{uuid.uuid4().hex[:8]}"
    return Forklore(("--data", str(folder), "--user", user), {"XDG_CONFIG_HOME": str(home), "PAGER": ""})


@pytest.fixture(scope="module")
def other_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Another store, which this process has opened."""
    made = tmp_path_factory.mktemp("other")
    with forklore.Forklore.local(user="nobody", data=made):
        yield made


@pytest.fixture
def there(other_folder: Path, home: Path) -> Forklore:
    """Run command lines on the other store, as a user of the test's own."""
    user = f"bob-{uuid.uuid4().hex[:8]}"
    return Forklore(
        ("--data", str(other_folder), "--user", user), {"XDG_CONFIG_HOME": str(home), "PAGER": ""}
    )


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of a local server in a process of its own."""
    with local_server() as address:
        yield address
