"""A plugin of pytest for Strands' own tests: our repository in the place of theirs in memory."""

import importlib
import os
import uuid

import pytest

from forklore import Forklore
from forklore.adapters.strands import ForkloreSessionRepository

SERVICE = "FORKLORE_TESTED"
"""The URL of the service; without one it runs in this process."""


class Repository(ForkloreSessionRepository):
    """Each repository has names of its own."""

    client: Forklore
    made = 0

    def __init__(self) -> None:
        super().__init__(type(self).client, prefix=f"{uuid.uuid4()}/")
        Repository.made += 1


def pytest_configure(config: pytest.Config) -> None:
    mocks = importlib.import_module("tests.fixtures.mock_session_repository")  # theirs

    url = os.environ.get(SERVICE)
    Repository.client = (
        Forklore(url, token="ann", client_key="planner-key")
        if url
        else Forklore.local(user="ann", client="planner")
    )
    mocks.__dict__["MockedSessionRepository"] = Repository


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"forklore repositories: {Repository.made}")
    Repository.client.close()
