"""The functions on an embedded table, and what they answer to the sample events."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.edge.gateway import PROJECT, Answer, Gateway, table_on_moto

EVENTS = PROJECT / "events"

STORY = {
    "checkHealth": 200,
    "createConversation": 201,
    "appendEntry": 201,
    "listEntries": 200,
    "updateConversation": 200,
    "forkConversation": 201,
    "listForks": 200,
    "getConversation": 200,
    "listConversations": 200,
    "syncContext": 200,
}
"""The sample events in the order in which they make sense, each with the status it gets."""


def read_event(name: str) -> dict[str, Any]:
    """Return the sample event of an operation."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return event


@pytest.fixture(scope="package")
def gateway() -> Iterator[Gateway]:
    """What sends events to the functions; their table begins empty."""
    with table_on_moto() as template:
        yield Gateway(template)


@pytest.fixture(scope="package")
def told(gateway: Gateway) -> dict[str, Answer]:
    """What is answered to the sample events when they are sent in the order of the story, by operation."""
    return {name: gateway.deliver(read_event(name)) for name in STORY}
