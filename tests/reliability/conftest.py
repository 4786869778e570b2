"""Fixtures: a table of DynamoDB Local, and the amount of work and the seed of a run."""

from collections.abc import Callable, Iterator

import pytest

from tests.reliability.figures import Measure
from tests.reliability.service import new_store
from tests.support.tables import Store

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "us-east-1",
    "FORKLORE_TABLE": "each test names its own",
    "FORKLORE_DELETE_WAIT_SECONDS": "0",
}


@pytest.fixture(scope="session")
def endpoint(dynamodb_local_endpoint: str) -> Iterator[str]:
    """The address of a DynamoDB Local. The environment has credentials for it."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in ENVIRONMENT.items():
            environment.setenv(name, value)
        for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "FORKLORE_QUEUE"):
            environment.delenv(name, raising=False)
        yield dynamodb_local_endpoint


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
