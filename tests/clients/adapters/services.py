"""The services that every adapter is tested on, and clients of them."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from forklore import AsyncForklore, Forklore
from tests.support.dynamodb_local import dynamodb_local_or_skip
from tools.harness.local_server import local_server

PROCESS, EMBEDDED, DYNAMODB = "in process", "HTTP embedded", "HTTP DynamoDB Local"
KINDS = (PROCESS, EMBEDDED, DYNAMODB)
CHOSEN = "FORKLORE_TEST_SERVICES"
"""If this variable is set, it names the services to test on, with commas between them."""
AGENTS = {"planner": "planner-key", "hotels": "hotels-key"}
"""The clients and their API keys."""


def chosen(environment: Mapping[str, str]) -> list[str]:
    """Return the services that the tests run on: all of KINDS, or those that CHOSEN names."""
    named = [kind.strip() for kind in environment.get(CHOSEN, "").split(",") if kind.strip()]
    if unknown := sorted(set(named) - set(KINDS)):
        raise ValueError(f"{CHOSEN} names {unknown}; there are {', '.join(KINDS)}")
    return [kind for kind in KINDS if not named or kind in named]


@dataclass(frozen=True)
class Service:
    """A running service. Each client that is made here is closed by its user.

    url: of the server; None: the service runs in this process, on `folder`.
    """

    kind: str
    url: str | None
    folder: Path

    def client(self, user: str, agent: str | None = "planner") -> Forklore:
        """Return a new client of a user."""
        if self.url is None:
            return Forklore.local(user=user, client=agent, data=self.folder)
        return Forklore(self.url, token=user, client_key=AGENTS[agent] if agent else None)

    def async_client(self, user: str, agent: str | None = "planner") -> AsyncForklore:
        """Return a new client of a user, for asyncio and trio."""
        if self.url is None:
            return AsyncForklore.local(user=user, client=agent, data=self.folder)
        return AsyncForklore(self.url, token=user, client_key=AGENTS[agent] if agent else None)


@contextmanager
def running(kind: str, folder: Path) -> Iterator[Service]:
    """Yield a service of one of KINDS. It stops at the end."""
    with ExitStack() as stack:
        if kind == PROCESS:
            # It stays open, so that each further client finds it open.
            stack.enter_context(Forklore.local(user="nobody", data=folder))
            yield Service(kind, None, folder)
            return
        variables = {"FORKLORE_API_KEYS": ",".join(f"{agent}={key}" for agent, key in AGENTS.items())}
        if kind == DYNAMODB:
            endpoint = stack.enter_context(dynamodb_local_or_skip())
            variables |= {
                "FORKLORE_DYNAMODB_ENDPOINT": endpoint,
                "FORKLORE_TABLE": f"adapters-{uuid.uuid4()}",
            }
        yield Service(kind, stack.enter_context(local_server(**variables)), folder)
