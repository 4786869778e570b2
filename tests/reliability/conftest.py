"""Fixtures: a table of DynamoDB Local or of an engine, and the work and the seed of a run."""

import os
from collections.abc import Callable, Iterator

import pytest

from tests.reliability.figures import Measure
from tests.reliability.service import new_store
from tests.support.dynamodb_local import CHOSEN
from tests.support.tables import Store

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "us-east-1",
    "FORKLORE_TABLE": "each test names its own",
    "FORKLORE_DELETE_WAIT_SECONDS": "0",
}


@pytest.fixture(scope="session")
def environment() -> Iterator[None]:
    """Credentials for a DynamoDB Local, and no other setting."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in ENVIRONMENT.items():
            patched.setenv(name, value)
        for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "FORKLORE_QUEUE"):
            patched.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def endpoint(environment: None, dynamodb_local_endpoint: str) -> str:
    """The address of a DynamoDB Local."""
    return dynamodb_local_endpoint


@pytest.fixture(scope="session")
def anywhere(environment: None, request: pytest.FixtureRequest) -> str | None:
    """None in CI, for an engine in this process. The gate also uses a DynamoDB Local."""
    if Measure.of("").size == "ci" or os.environ.get(CHOSEN) == "embedded":
        return None
    address: str = request.getfixturevalue("dynamodb_local_endpoint")
    return address


@pytest.fixture
def store(endpoint: str) -> Iterator[Store]:
    """An empty table, with direct access to its items."""
    with new_store(endpoint) as store:
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
