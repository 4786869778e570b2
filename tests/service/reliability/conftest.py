"""Fixtures: a table, and the amount of work and the seed of a run.

In CI the checks run on the engine of this process, and at the gate on DynamoDB Local, which takes
several times as long. What needs several processes or a stream always runs on DynamoDB Local.
"""

import os
from collections.abc import Callable, Iterator

import pytest

from tests.service.reliability.figures import Measure, is_gate
from tests.service.reliability.service import Endpoint, new_store
from tests.support.dynamodb_local import CHOSEN
from tests.support.tables import Store

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "us-east-1",
    "FORKLORE_TABLE": "each test names its own",
    "FORKLORE_DELETE_WAIT_SECONDS": "0",
}


@pytest.fixture(scope="session", autouse=True)
def environment() -> Iterator[None]:
    """Give the processes of the service credentials, and settings of no deployment."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in ENVIRONMENT.items():
            environment.setenv(name, value)
        for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "FORKLORE_QUEUE"):
            environment.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def endpoint(request: pytest.FixtureRequest) -> str | None:
    """Where the tables of this run are."""
    if not is_gate() or os.environ.get(CHOSEN) == "embedded":
        return None
    return str(request.getfixturevalue("dynamodb_local_endpoint"))


@pytest.fixture
def store(endpoint: Endpoint) -> Iterator[Store]:
    """An empty table, with direct access to its items."""
    with new_store(endpoint) as store:
        yield store


@pytest.fixture
def served_store(dynamodb_local_endpoint: str) -> Iterator[Store]:
    """An empty table of DynamoDB Local, which several processes can use."""
    with new_store(dynamodb_local_endpoint) as store:
        yield store


@pytest.fixture
def measure(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Iterator[Measure]:
    """Counts what the test does. Prints it with the seed at the end, also when the test fails."""
    measure = Measure.of(request.node.name)
    yield measure
    for name, value in measure.properties.items():
        record_property(name, value)
    print(f"\n{measure}")  # noqa: T201
