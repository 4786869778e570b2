"""Starts a DynamoDB on this machine for tests, in a process of its own, with an empty table store.

DynamoDB Local is Amazon's own emulator. It is the most exact one, but it needs Java and Maven.
dynoxide is an emulator on SQLite. moto needs only Python: `forklore.local.dynamodb`.
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
"""If this variable is set, a test fails when DynamoDB Local is missing. Otherwise it is skipped."""
CHOSEN = "FORKLORE_TEST_ENGINE"
"""If this variable is `dynoxide`, all tests use dynoxide instead of DynamoDB Local."""


@contextmanager
def dynamodb_local() -> Iterator[str]:
    """Yield the address of an empty DynamoDB Local, which ends with the context.

    Clients with any region and any alphanumeric access key see the same tables.
    Raises EngineMissingError if Java is missing, or if it cannot be fetched or started.
    """
    with _engine(amazons.command) as endpoint:
        yield endpoint


@contextmanager
def dynoxide_or_skip() -> Iterator[str]:
    """Yield the address of an empty dynoxide. Skip the test if the machine has none."""
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
