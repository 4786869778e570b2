"""The services that the handlers use: moto in this process, or a DynamoDB at an endpoint.

FORKLORE_DYNAMODB_ENDPOINT names the endpoint. AWS is never used: the developer's own settings of
accounts and profiles are overwritten first.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import moto
import moto.dynamodb.urls
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from moto.core.models import MockAWS

from forklore.embedded.moto_speed import lock_moto, speed_up_moto
from forklore.embedded.store import Store
from forklore.local.payload import API_ID
from forklore.storage import schema

ENDPOINT = "FORKLORE_DYNAMODB_ENDPOINT"
TABLE = "FORKLORE_TABLE"
API = "FORKLORE_API"
REACHABLE_WITHIN_SECONDS = 5.0


class DatabaseError(Exception):
    """The endpoint does not answer as a DynamoDB does. The text is a line for people."""


def open_database(table: Mapping[str, Any] = schema.TABLE, *, faster: bool = True) -> MockAWS | None:
    """Set the handlers' environment, start the database, and make the table if it is missing.

    table: the arguments of create_table, less the name. faster: False leaves moto unchanged.
    Returns the moto that was started, or None with an endpoint.
    Raises DatabaseError, after REACHABLE_WITHIN_SECONDS if nothing answers.
    """
    _set_environment()
    started = None if ENDPOINT in os.environ else start_moto(faster=faster)
    deadline = time.monotonic() + REACHABLE_WITHIN_SECONDS
    while True:
        try:
            _create_table(os.environ[TABLE], table)
            return started
        except (BotoCoreError, ClientError, ValueError) as error:
            if time.monotonic() > deadline or not isinstance(error, BotoCoreError):
                raise DatabaseError(f"no usable DynamoDB at {os.environ.get(ENDPOINT)}: {error}") from error
        time.sleep(0.2)


@contextlib.contextmanager
def open_kept(store: Store) -> Iterator[None]:
    """Set the handlers' environment, and let moto answer each DynamoDB client from `store`."""
    _set_environment()
    paths: dict[str, Any] = moto.dynamodb.urls.url_paths
    [(path, usual)] = paths.items()
    started = start_moto()
    paths[path] = store.dispatch
    try:
        yield
    finally:
        paths[path] = usual
        started.stop()


def start_moto(*, faster: bool = True) -> MockAWS:
    """Return moto, started in this process with one DynamoDB call at a time; `.stop()` ends it."""
    lock_moto()
    if faster:
        speed_up_moto()
    mock = moto.mock_aws()
    mock.start()
    return mock


def _set_environment() -> None:
    """Set what boto3 and the handlers read: the table, the API, a region, made-up credentials."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN"):
        os.environ.pop(name, None)
    if not os.environ.get(ENDPOINT):
        os.environ.pop(ENDPOINT, None)
    os.environ["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true"
    os.environ.update(AWS_ACCESS_KEY_ID="local", AWS_SECRET_ACCESS_KEY="local")  # nosec B106 # none
    os.environ.setdefault(TABLE, "forklore")
    os.environ[API] = API_ID
    os.environ["AWS_REGION"] = os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")


def _create_table(name: str, table: Mapping[str, Any]) -> None:
    config = Config(connect_timeout=1, read_timeout=5, retries={"total_max_attempts": 1})
    client = boto3.client("dynamodb", endpoint_url=os.environ.get(ENDPOINT), config=config)
    with contextlib.suppress(client.exceptions.ResourceInUseException):  # it is there already
        client.create_table(TableName=name, **table)
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 10})
