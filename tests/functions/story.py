"""The sample events. Sent in the order of STORY, they work together."""

import json
from collections.abc import Callable
from typing import Any

from forklore_local.server.examples import requests
from tools.harness.gateway import Answer
from tools.harness.sample_events import sample_event

STORY = tuple(requests())
"""The operations in the order in which their sample events can be sent."""
JOBS = ("deleteGroup", "sweep", "publish")
"""The sample events that are no requests: batches of the queue and the stream, and the schedule."""
DIRECT = ("agentAppendEntry", "agentEventBridge")
"""The sample events of direct invocation. The second one is inside EventBridge's envelope."""
AUTHORIZER = "authorizer"
"""The sample event of the authorizer."""
SAMPLE = "019a5c1e-7b40-7c3d-9e21-4f8d2b6a1c05"
"""The conversation of the sample events."""
SAMPLE_OTHER = "019a5c22-4d10-7e36-a7c9-0b1f2e3d4c5a"
"""The conversation that adminDeleteConversation deletes in the sample events."""
SAMPLE_FORK = "019a5c1f-0d68-7a92-8b14-c06e95d37f2a"
"""The fork that forkConversation makes in the sample events."""
SAMPLE_TRANSFER = "019a5c20-3e10-7b5d-8a44-d1e2f3a4b5c6"
"""The id of the transfer in the sample events. The story replaces it with the real one."""
SAMPLE_ERASURE = "019a5c23-1a20-7c4e-9b37-0f1e2d3c4b5a"
"""The id of the erasure in the sample events. The story replaces it with the real one."""
SAMPLE_ENTRY = "019a5c1e-aa20-7b16-8c31-5d1e2f3a4b6c"
"""The id of the entry in the sample events. The story replaces it with the real one."""


def tell(deliver: Callable[[dict[str, Any]], Answer], invoke: Callable[[Any], Any]) -> dict[str, Answer]:
    """Send the sample events in the order of STORY; return the answers by operation.

    deliver: sends an event to the function of its route. invoke: invokes the function `agent`.
    """
    answers: dict[str, Answer] = {}
    transfer, entry, erasure = SAMPLE_TRANSFER, SAMPLE_ENTRY, SAMPLE_ERASURE
    for name in STORY:
        if name in ("requestTransfer", "acceptTransfer"):  # deleteTransfer has cancelled the first transfer
            answers["requestTransfer"] = deliver(sample_event("requestTransfer"))
            transfer = answers["requestTransfer"].json["id"]
        if name == "mergeConversation":  # the fork has no entry of its own yet
            to_fork = sample_event("agentAppendEntry") | {"caller": {"userId": "alice"}}
            to_fork["input"] |= {"conversationId": SAMPLE_FORK, "idempotencyKey": "to the fork"}
            assert invoke(to_fork)["status"] == 201
        if name == "adminDeleteConversation":  # delete another conversation: the story still needs this one
            to_another = sample_event("agentAppendEntry")
            to_another["input"] |= {"conversationId": SAMPLE_OTHER, "idempotencyKey": "another"}
            assert invoke(to_another)["status"] == 201
        if name == "lookUpEntry":
            keyed = sample_event("agentAppendEntry") | {"caller": {"userId": "alice"}}
            keyed["input"] |= {"conversationId": SAMPLE, "key": "msg-17", "idempotencyKey": "keyed"}
            assert invoke(keyed)["status"] == 201
        if name == "adminDeleteName":  # deleteName has already deleted this name
            deliver(sample_event("setName"))
        if name == "removeMembershipByPath":  # removeMembership has already removed this member
            again = {"conversationId": SAMPLE, "userId": "alice", "accessLevel": "reader"}
            share = {"operation": "shareConversation", "caller": {"userId": "bob"}, "input": again}
            assert invoke(share)["status"] == 201
        if name != "requestTransfer":
            told = json.dumps(sample_event(name)).replace(SAMPLE_TRANSFER, transfer)
            told = told.replace(SAMPLE_ERASURE, erasure)
            answers[name] = deliver(json.loads(told.replace(SAMPLE_ENTRY, entry)))
        if name == "appendEntry":
            entry = answers[name].json["id"]
        if name == "adminEraseUser":
            erasure = answers[name].json["id"]
    return answers
