"""A DynamoDB Local for a benchmark, and the environment variables of a process that uses it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from tools.harness.dynamodb import EngineMissingError, dynamodb_local

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "us-east-1",
    "FORKLORE_TABLE": "each benchmark names its own",
}


@contextmanager
def local_dynamodb() -> Iterator[str]:
    """Yield the address of an empty DynamoDB Local.

    Raises SystemExit, with the reason, if there is none.
    """
    with mock.patch.dict(os.environ, ENVIRONMENT):
        for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
            os.environ.pop(name, None)
        try:
            with dynamodb_local() as endpoint:
                yield endpoint
        except EngineMissingError as missing:
            raise SystemExit(f"nothing was measured: {missing}") from None
