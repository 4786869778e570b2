"""Which DynamoDB tests use, and what a test does where the machine has none."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from forklore.local.engine import EngineMissingError
from tools.harness.dynamodb import dynamodb_local, dynoxide, moto_server

REQUIRED = "FORKLORE_REQUIRE_DYNAMODB_LOCAL"
"""If this variable is set, a test fails when DynamoDB Local is missing. Otherwise it is skipped."""
CHOSEN = "FORKLORE_TEST_ENGINE"
"""If this variable is `dynoxide`, all tests use dynoxide instead of DynamoDB Local."""


@contextmanager
def dynoxide_or_skip() -> Iterator[str]:
    """Yield the address of an empty dynoxide. Skip the test if the machine has none."""
    with ExitStack() as stack:
        try:
            endpoint = stack.enter_context(dynoxide())
        except EngineMissingError as missing:
            pytest.skip(f"NOT TESTED on dynoxide: {missing}")
        yield endpoint


@contextmanager
def dynamodb_local_or_skip() -> Iterator[str]:
    """Yield the address of a DynamoDB Local. If there is none, skip the test or fail it (REQUIRED).

    With CHOSEN it is a dynoxide.
    """
    with ExitStack() as stack:
        if os.environ.get(CHOSEN) == "dynoxide":
            yield stack.enter_context(dynoxide_or_skip())
            return
        try:
            endpoint = stack.enter_context(dynamodb_local())
        except EngineMissingError as missing:
            _fail_if_required(missing)
            pytest.skip(f"NOT TESTED on DynamoDB Local: {missing}")
        yield endpoint


@contextmanager
def any_dynamodb() -> Iterator[str]:
    """Yield the address of a DynamoDB Local. If there is none, use moto, or fail (REQUIRED).

    With CHOSEN it is a dynoxide.
    """
    with ExitStack() as stack:
        if os.environ.get(CHOSEN) == "dynoxide":
            yield stack.enter_context(dynoxide_or_skip())
            return
        try:
            endpoint = stack.enter_context(dynamodb_local())
        except EngineMissingError as missing:
            _fail_if_required(missing)
            endpoint = stack.enter_context(moto_server())
        yield endpoint


def _fail_if_required(missing: EngineMissingError) -> None:
    if os.environ.get(REQUIRED):
        pytest.fail(f"{missing}; install Java 17 and Maven, or unset {REQUIRED}", pytrace=False)
