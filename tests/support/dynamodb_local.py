"""Starts a DynamoDB on this machine for tests, in a process of its own; each is empty and keeps nothing.

DynamoDB Local is Amazon's own and the better stand-in, but it needs Java and Maven. dynoxide is a DynamoDB on
SQLite. moto needs only Python: `forklore.local.dynamodb`.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from forklore.local import dynamodb_local as amazons
from forklore.local import engines
from forklore.local.engine import EngineMissingError, served
from forklore.local.listening import ServerDidNotStartError, on_free_port

REQUIRED = "FORKLORE_REQUIRE_DYNAMODB_LOCAL"
"""The variable that lets tests fail, rather than be skipped or use moto, where there is no DynamoDB Local."""
CHOSEN = "FORKLORE_TEST_ENGINE"
"""The variable that, as `dynoxide`, lets all tests use that in the place of DynamoDB Local."""


@contextmanager
def dynamodb_local() -> Iterator[str]:
    """Yield the address of an empty DynamoDB Local, which ends with the context.

    Clients with any region and any (alphanumeric) access key see the same tables.
    Raises EngineMissingError if there is no Java, or it cannot be fetched or started.
    """
    with _engine(amazons.command) as endpoint:
        yield endpoint


@contextmanager
def dynoxide_or_skip() -> Iterator[str]:
    """Yield the address of an empty dynoxide; on a machine that has none, skip the test."""
    with ExitStack() as stack:
        try:
            endpoint = stack.enter_context(_engine(engines.dynoxide))
        except EngineMissingError as missing:
            pytest.skip(f"NOT TESTED on dynoxide: {missing}")
        yield endpoint


@contextmanager
def _engine(command: Callable[[Path | None], list[str]]) -> Iterator[str]:
    with ExitStack() as stack:
        try:
            endpoint = stack.enter_context(on_free_port(partial(served, command(None))))
        except ServerDidNotStartError as error:
            raise EngineMissingError(f"it did not start: {error}") from error
        yield endpoint


@contextmanager
def moto_server() -> Iterator[str]:
    """Yield the address of an empty moto, as the local server runs it.

    Raises ServerDidNotStartError.
    """
    command = [sys.executable, "-m", "forklore.local.dynamodb", "--port"]
    with on_free_port(partial(served, command)) as endpoint:
        yield endpoint


@contextmanager
def dynamodb_local_or_skip() -> Iterator[str]:
    """Yield the address of a DynamoDB Local; on a machine that has none, skip the test or fail it.

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
    """Yield the address of a DynamoDB Local; on a machine that has none, of a moto, or fail the test.

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
