"""The functions on an embedded table, and what they answer to the sample events."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local_server.template import read_template
from tests.edge.direct import Direct
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
    "listChildren": 200,
    "shareConversation": 201,
    "updateMembership": 200,
    "listMemberships": 200,
    "adminListConversations": 200,
    "adminGetConversation": 200,
    "adminListEntries": 200,
    "adminListMemberships": 200,
    "adminListForks": 200,
    "adminListChildren": 200,
    "adminDeleteConversation": 204,
    "requestTransfer": 201,
    "listTransfers": 200,
    "getTransfer": 200,
    "deleteTransfer": 204,
    "acceptTransfer": 204,
    "removeMembership": 204,
    "deleteConversation": 204,
}
"""The sample events in the order in which they make sense, each with the status it gets."""


JOBS = ("deleteGroup", "sweep")
"""The sample events that are no requests: a batch of the queue, and the schedule."""
DIRECT = ("agentAppendEntry", "agentEventBridge")
"""The sample events of the function for direct invocation; one with EventBridge's envelope."""
AUTHORIZER = "authorizer"
"""The sample event of the authorizer."""
SAMPLE_OTHER = "019a5c22-4d10-7e36-a7c9-0b1f2e3d4c5a"
"""The conversation that the sample event of an admin deletes."""
SAMPLE_TRANSFER = "019a5c20-3e10-7b5d-8a44-d1e2f3a4b5c6"
"""What the sample events call the transfer, whose id is made by the service."""


def read_event(name: str) -> dict[str, Any]:
    """Return the sample event of an operation."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return event


@pytest.fixture(scope="package")
def gateway() -> Iterator[Gateway]:
    """What sends events to the functions; their table begins empty."""
    with table_on_moto() as template:
        yield Gateway(template, FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude")


@pytest.fixture(scope="package")
def told(gateway: Gateway) -> dict[str, Answer]:
    """What is answered to the sample events when they are sent in the order of the story, by operation."""
    answers: dict[str, Answer] = {}
    transfer = SAMPLE_TRANSFER
    for name in STORY:
        if name in ("requestTransfer", "acceptTransfer"):  # the first one is cancelled
            answers["requestTransfer"] = gateway.deliver(read_event("requestTransfer"))
            transfer = answers["requestTransfer"].json["id"]
        if name == "adminDeleteConversation":  # another one: the story goes on
            to_another = read_event("agentAppendEntry")
            to_another["input"] |= {"conversationId": SAMPLE_OTHER, "idempotencyKey": "another"}
            assert Direct(read_template(PROJECT / "template.yaml")).send(to_another)["status"] == 201
        if name != "requestTransfer":
            event = json.loads(json.dumps(read_event(name)).replace(SAMPLE_TRANSFER, transfer))
            answers[name] = gateway.deliver(event)
    return answers
