"""The DynamoDB at an endpoint, and the environment of the handlers. AWS is never used."""

import contextlib
import os
import time
from typing import Any

from forklore_local.server.payload import API_ID
from forklore_service.storage import schema

ENDPOINT = "FORKLORE_DYNAMODB_ENDPOINT"
TABLE = "FORKLORE_TABLE"
API = "FORKLORE_API"
NAME = "forklore"
REACHABLE_WITHIN_SECONDS = 5.0


class DatabaseError(Exception):
    """The endpoint does not answer as a DynamoDB does. The text is a line for people."""


def open_table_at(endpoint: str) -> None:
    """Make the table at an endpoint if it is missing. Call `set_environment` first.

    Raises DatabaseError, after REACHABLE_WITHIN_SECONDS if nothing answers.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # only an endpoint needs botocore

    deadline = time.monotonic() + REACHABLE_WITHIN_SECONDS
    while True:
        try:
            _make_table(endpoint, os.environ[TABLE])
            return
        except (BotoCoreError, ClientError, ValueError) as error:
            if time.monotonic() > deadline or not isinstance(error, BotoCoreError):
                raise DatabaseError(f"no usable DynamoDB at {endpoint}: {error}") from error
        time.sleep(0.2)


def set_environment() -> None:
    """Set what botocore and the handlers read: the table, the API, a region, no credentials."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN"):
        os.environ.pop(name, None)
    if not os.environ.get(ENDPOINT):
        os.environ.pop(ENDPOINT, None)
    os.environ["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true"
    os.environ.update(AWS_ACCESS_KEY_ID="local", AWS_SECRET_ACCESS_KEY="local")  # nosec B106 # none
    os.environ.setdefault(TABLE, NAME)
    os.environ[API] = API_ID
    os.environ["AWS_REGION"] = os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")


def _make_table(endpoint: str, name: str) -> None:
    from forklore_service.storage.clients import make_client

    client: Any = make_client(endpoint)
    with contextlib.suppress(client.exceptions.ResourceInUseException):  # it is there already
        client.create_table(TableName=name, **schema.TABLE)
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 10})
