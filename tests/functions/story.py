"""The sample events. Sent in the order of STORY, they work together."""

import json
from collections.abc import Callable
from typing import Any

from tools.harness.gateway import PROJECT, Answer

EVENTS = PROJECT / "events"

STORY = {
    "checkHealth": 200,
    "createConversation": 201,
    "appendEntry": 201,
    "listEntries": 200,
    "updateConversation": 200,
    "forkConversation": 201,
    "getEntry": 200,
    "compareConversations": 200,
    "listAncestors": 200,
    "listForks": 200,
    "getConversation": 200,
    "listConversations": 200,
    "promoteConversation": 204,
    "syncContext": 200,
    "listChildren": 200,
    "shareConversation": 201,
    "updateMembership": 200,
    "updateMembershipByPath": 200,
    "listMemberships": 200,
    "adminListConversations": 200,
    "adminGetConversation": 200,
    "adminListEntries": 200,
    "adminGetEntry": 200,
    "adminCompareConversations": 200,
    "adminListAncestors": 200,
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
    "removeMembershipByPath": 204,
    "deleteConversation": 204,
}
"""The sample events in the order in which they can be sent, each with its expected status."""


JOBS = ("deleteGroup", "sweep")
"""The sample events that are not requests: a batch of the queue, and the schedule."""
DIRECT = ("agentAppendEntry", "agentEventBridge")
"""The sample events of direct invocation. The second one is inside EventBridge's envelope."""
AUTHORIZER = "authorizer"
"""The sample event of the authorizer."""
SAMPLE = "019a5c1e-7b40-7c3d-9e21-4f8d2b6a1c05"
"""The conversation of the sample events."""
SAMPLE_OTHER = "019a5c22-4d10-7e36-a7c9-0b1f2e3d4c5a"
"""The conversation that adminDeleteConversation deletes in the sample events."""
SAMPLE_TRANSFER = "019a5c20-3e10-7b5d-8a44-d1e2f3a4b5c6"
"""The id of the transfer in the sample events. The story replaces it with the real one."""
SAMPLE_ENTRY = "019a5c1e-aa20-7b16-8c31-5d1e2f3a4b6c"
"""The id of the entry in the sample events. The story replaces it with the real one."""


def read_event(name: str) -> dict[str, Any]:
    """Return the sample event of an operation."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return event


def tell(deliver: Callable[[dict[str, Any]], Answer], invoke: Callable[[Any], Any]) -> dict[str, Answer]:
    """Send the sample events in the order of STORY; return the answers by operation.

    deliver: sends an event to the function of its route. invoke: invokes the function `agent`.
    """
    answers: dict[str, Answer] = {}
    transfer, entry = SAMPLE_TRANSFER, SAMPLE_ENTRY
    for name in STORY:
        if name in ("requestTransfer", "acceptTransfer"):  # deleteTransfer has cancelled the first transfer
            answers["requestTransfer"] = deliver(read_event("requestTransfer"))
            transfer = answers["requestTransfer"].json["id"]
        if name == "adminDeleteConversation":  # delete another conversation: the story still needs this one
            to_another = read_event("agentAppendEntry")
            to_another["input"] |= {"conversationId": SAMPLE_OTHER, "idempotencyKey": "another"}
            assert invoke(to_another)["status"] == 201
        if name == "removeMembershipByPath":  # removeMembership has already removed this member
            again = {"conversationId": SAMPLE, "userId": "alice", "accessLevel": "reader"}
            share = {"operation": "shareConversation", "caller": {"userId": "bob"}, "input": again}
            assert invoke(share)["status"] == 201
        if name != "requestTransfer":
            told = json.dumps(read_event(name)).replace(SAMPLE_TRANSFER, transfer)
            answers[name] = deliver(json.loads(told.replace(SAMPLE_ENTRY, entry)))
        if name == "appendEntry":
            entry = answers[name].json["id"]
    return answers
