"""Which DynamoDB tests use, and what a test does where the machine has none."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tools.harness.dynamodb import EngineMissingError, dynamodb_local, engine_server

REQUIRED = "FORKLORE_REQUIRE_DYNAMODB_LOCAL"
"""If this variable is set, a test fails when DynamoDB Local is missing. Otherwise it is skipped."""


CHOSEN = "FORKLORE_TEST_ENGINE"
"""If this variable is `embedded`, all tests use forklore's own engine instead of DynamoDB Local."""


@contextmanager
def dynamodb_local_or_skip() -> Iterator[str]:
    """Yield the address of a DynamoDB Local. Without one, skip the test or fail it (REQUIRED)."""
    with _dynamodb(or_engine=False) as endpoint:
        yield endpoint


@contextmanager
def any_dynamodb() -> Iterator[str]:
    """Yield the address of a DynamoDB Local. Without one, use the engine, or fail (REQUIRED)."""
    with _dynamodb(or_engine=True) as endpoint:
        yield endpoint


@contextmanager
def _dynamodb(*, or_engine: bool) -> Iterator[str]:
    with ExitStack() as stack:
        if os.environ.get(CHOSEN) == "embedded":
            yield stack.enter_context(engine_server())
            return
        try:
            endpoint = stack.enter_context(dynamodb_local())
        except EngineMissingError as missing:
            _fail_if_required(missing)
            if not or_engine:
                pytest.skip(f"NOT TESTED on DynamoDB Local: {missing}")
            endpoint = stack.enter_context(engine_server())
        yield endpoint


def _fail_if_required(missing: EngineMissingError) -> None:
    if os.environ.get(REQUIRED):
        pytest.fail(f"{missing}; install Java 17 and Maven, or unset {REQUIRED}", pytrace=False)
