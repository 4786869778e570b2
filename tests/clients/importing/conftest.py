"""Fixtures: the real service on an embedded table."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.clients.cli.conftest import folder, home, run
from tests.clients.importing.service import Service
from tests.service.aws.direct import Direct
from tools.harness.gateway import table_in_memory

__all__ = ("folder", "home", "run")
_USERS = count()


@pytest.fixture(scope="module")
def new_service() -> Iterator[Callable[..., Service]]:
    """Make a service for a user of its own. agent: the client, if any."""
    with table_in_memory() as template:
        direct = Direct(template)
        yield lambda agent=None: Service(direct, user=f"user{next(_USERS)}", agent=agent)


@pytest.fixture
def service(new_service: Callable[..., Service]) -> Service:
    """The service, for a new user."""
    return new_service()
