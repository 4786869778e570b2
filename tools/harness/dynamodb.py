"""A DynamoDB on this machine, in a process of its own. Each starts empty and keeps nothing.

DynamoDB Local is Amazon's own and the better stand-in, but it needs Java and Maven. dynoxide is a
DynamoDB on SQLite. moto needs only Python.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from forklore.local import dynamodb_local as amazons
from forklore.local import engines
from forklore.local.engine import EngineMissingError, served
from forklore.local.listening import ServerDidNotStartError, on_free_port


@contextmanager
def dynamodb_local() -> Iterator[str]:
    """Yield the address of an empty DynamoDB Local, which ends with the context.

    Clients with any region and any (alphanumeric) access key see the same tables.
    Raises EngineMissingError if there is no Java, or it cannot be fetched or started.
    """
    with _engine(amazons.command) as endpoint:
        yield endpoint


@contextmanager
def dynoxide() -> Iterator[str]:
    """Yield the address of an empty dynoxide. Raises EngineMissingError if there is none."""
    with _engine(engines.dynoxide) as endpoint:
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
