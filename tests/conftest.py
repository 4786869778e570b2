"""Fixtures of the whole suite: a DynamoDB in a process of its own, for what moto cannot show; the log."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.dynamodb_local import DynamoDBLocalMissing, any_dynamodb, dynamodb_local
from tests.support.lines import Lines, reading_lines


@pytest.fixture(scope="session")
def dynamodb_endpoint() -> Iterator[str]:
    """The address of a DynamoDB Local, or of a moto where there is none."""
    with any_dynamodb() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def dynamodb_local_endpoint() -> Iterator[str]:
    """The address of a DynamoDB Local; tests that need it are skipped where there is none."""
    with ExitStack() as stack:
        try:
            endpoint = stack.enter_context(dynamodb_local())
        except DynamoDBLocalMissing as missing:
            pytest.skip(f"NOT TESTED on DynamoDB Local: {missing}")
        yield endpoint


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged from here on, as Lambda writes it."""
    with reading_lines() as read:
        yield read
