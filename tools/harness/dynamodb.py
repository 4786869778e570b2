"""A DynamoDB on this machine, in a process of its own. Each starts empty and keeps nothing.

DynamoDB Local is Amazon's own and the better stand-in, but it needs Java and Maven. The engine of
forklore needs only Python.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from tools.harness.amazons_local import command
from tools.harness.ports import ServerDidNotStartError, on_free_port
from tools.harness.processes import EngineMissingError, served


@contextmanager
def dynamodb_local() -> Iterator[str]:
    """Yield the address of an empty DynamoDB Local, which ends with the context.

    Clients with any region and any (alphanumeric) access key see the same tables.
    Raises EngineMissingError if there is no Java, or it cannot be fetched or started.
    """
    with _served(command()) as endpoint:
        yield endpoint


@contextmanager
def engine_server() -> Iterator[str]:
    """Yield the address of an empty engine. Raises EngineMissingError if it cannot be started."""
    with _served([sys.executable, "-m", "tools.harness.engine_server"]) as endpoint:
        yield endpoint


@contextmanager
def _served(begin: Sequence[str]) -> Iterator[str]:
    with ExitStack() as stack:
        try:
            endpoint = stack.enter_context(on_free_port(partial(served, begin)))
        except ServerDidNotStartError as error:
            raise EngineMissingError(f"it did not start: {error}") from error
        yield endpoint
