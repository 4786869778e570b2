"""Fixtures: forklore at FORKLORE_TEST_URL, or at a local server that the tests start.

FORKLORE_TEST_KEYS holds `client=key,…` for the clients planner and coder. FORKLORE_TEST_TOKENS
holds `user=token,…` for two users or more. Without them, the service at that address must accept
what the local server accepts here. `python -m forklore_local.server.token ann bob` prints such
tokens; their issuer is only for development.
"""

import os
import uuid
from collections.abc import Iterator

import pytest

from forklore_service.storage import schema
from forklore_service.storage.table import Table
from tests.service.http.client import Service
from tests.support.machine_clock import MachineClock
from tests.support.processes import API_KEYS, local_servers
from tests.support.writing import open_table
from tools.harness.tables import outside

URL = "FORKLORE_TEST_URL"


@pytest.fixture(scope="session")
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    """forklore, with correct clocks."""
    if url := os.environ.get(URL):
        keys, tokens = _pairs("FORKLORE_TEST_KEYS"), _pairs("FORKLORE_TEST_TOKENS")
        with Service(url, keys=keys or API_KEYS, tokens=tokens) as service:
            yield service
        return
    endpoint = request.getfixturevalue("dynamodb_endpoint")
    servers = local_servers([MachineClock()], endpoint=endpoint, table=a_new_table())
    with servers as [url], Service(url, keys=API_KEYS) as service:
        yield service


@pytest.fixture(scope="session")
def own_endpoint(request: pytest.FixtureRequest) -> str:
    """A DynamoDB for processes that a test starts. Skips the test if FORKLORE_TEST_URL is set."""
    if url := os.environ.get(URL):
        pytest.skip(f"NOT TESTED at {url}: this test starts its own processes; unset {URL}")
    endpoint: str = request.getfixturevalue("dynamodb_endpoint")
    return endpoint


@pytest.fixture
def new_table() -> str:
    """The name of a table that does not exist."""
    return a_new_table()


@pytest.fixture
def table(own_endpoint: str, new_table: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    """An empty table, opened in this process."""
    environment = {
        "FORKLORE_DYNAMODB_ENDPOINT": own_endpoint,
        "FORKLORE_TABLE": new_table,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    client = outside(own_endpoint)
    client.create_table(TableName=new_table, **schema.TABLE)
    yield open_table()
    client.delete_table(TableName=new_table)


def a_new_table() -> str:
    """Return the name of a table that does not exist."""
    return f"forklore-{uuid.uuid4()}"


def _pairs(name: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in os.environ.get(name, "").split(",") if pair)
    return {left: right for left, _, right in pairs}
