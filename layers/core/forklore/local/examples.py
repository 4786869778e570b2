"""Examples for the OpenAPI document: requests from the sample events, answers written here."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel

from forklore.api import results
from forklore.api.operation import Operation

REQUEST_ID = "8f14e45f-ceea-4e7f-9c1d-2b7f0e6a3d18"

Json = dict[str, Any]

_ID = "019a5c1e-7b40-7c3d-9e21-4f8d2b6a1c05"
_FORK_ID = "019a5c1f-0d68-7a92-8b14-c06e95d37f2a"
_CHILD_ID = "019a5c20-91e0-7d14-9c55-2b7f0e6a3d18"
_MEMBER_ID = "bob"
_TRANSFER_ID = "019a5c20-3e10-7b5d-8a44-d1e2f3a4b5c6"
_AT = "2025-11-07T10:30:00.000Z"
_METRICS = {
    "entries": 1,
    "inputTokens": 12,
    "outputTokens": 0,
    "cachedInputTokens": 0,
    "costUsd": 0.00036,
}
_CONVERSATION: Json = {
    "id": _ID,
    "title": "Weekend in Lisbon",
    "ownerUserId": "alice",
    "accessLevel": "owner",
    "isCurrent": True,
    "tags": {"topic": "travel"},
    "metadata": {"budgetEur": 450.0, "nights": 2},
    "createdAt": _AT,
    "updatedAt": "2025-11-07T10:30:12.480Z",
    "lastMessagePreview": "Where should we stay for two nights?",
    "metrics": _METRICS,
}
_ENTRY: Json = {
    "id": "019a5c1e-aa20-7b16-8c31-5d1e2f3a4b6c",
    "conversationId": _ID,
    "userId": "alice",
    "clientId": "travel-planner",
    "agentId": "travel-planner",
    "channel": "history",
    "contentType": "history",
    "content": [{"role": "USER", "text": "Where should we stay for two nights?"}],
    "usage": {"inputTokens": 12, "costUsd": 0.00036},
    "createdAt": "2025-11-07T10:30:12.000Z",
}
_HIT: Json = {
    "conversationId": _ID,
    "conversationTitle": "Weekend in Lisbon",
    "entryId": _ENTRY["id"],
    "createdAt": _ENTRY["createdAt"],
    "highlights": ["Where should we stay for two nights?"],
    "entry": _ENTRY,
}
_CONTEXT: Json = {
    **_ENTRY,
    "channel": "context",
    "epoch": 2,
    "contentType": "text/plain",
    "content": ["Lisbon, two nights", "no hostels"],
}
_SYNCED: Json = {"epoch": 2, "noOp": False, "epochIncremented": True, "entry": _CONTEXT}
_FORK: Json = {
    "conversationId": _FORK_ID,
    "title": "Two nights in Porto",
    "forkedAtConversationId": _ID,
    "forkedAtEntryId": _ENTRY["id"],
    "forkedAtPosition": "after",
    "isCurrent": False,
    "createdAt": "2025-11-07T10:31:00.000Z",
}
_CHILD: Json = {
    **_CONVERSATION,
    "id": _CHILD_ID,
    "title": "Compare hotels",
    "startedByConversationId": _ID,
    "startedByEntryId": _ENTRY["id"],
}
_MEMBER: Json = {"conversationId": _ID, "userId": _MEMBER_ID, "accessLevel": "reader", "createdAt": _AT}
_TRANSFER: Json = {
    "id": _TRANSFER_ID,
    "conversationId": _ID,
    "fromUserId": "alice",
    "toUserId": _MEMBER_ID,
    "createdAt": _AT,
}

ANSWERS: dict[type[BaseModel], Json] = {
    results.Health: {"status": "ok"},
    results.Conversation: _CONVERSATION,
    results.Forked: {**_CONVERSATION, "id": _FORK_ID},
    results.ConversationPage: {"data": [_CHILD, _CONVERSATION], "afterCursor": None},
    results.AdminConversation: {**_CONVERSATION, "clientId": "travel-planner"},
    results.AdminConversationPage: {
        "data": [{**_CONVERSATION, "clientId": "travel-planner"}],
        "afterCursor": None,
    },
    results.ForkPage: {
        "data": [
            {"conversationId": _ID, "title": "Weekend in Lisbon", "isCurrent": True, "createdAt": _AT},
            _FORK,
        ],
        "afterCursor": None,
    },
    results.Appended: {**_ENTRY, "context": _SYNCED},
    results.EntryPage: {"data": [_ENTRY], "afterCursor": _ENTRY["id"], "beforeCursor": None},
    results.SearchPage: {"data": [_HIT], "afterCursor": None},
    results.Synced: _SYNCED,
    results.Membership: _MEMBER,
    results.MembershipPage: {"data": [{**_MEMBER, "userId": "alice", "accessLevel": "owner"}, _MEMBER]}
    | {"afterCursor": None},
    results.Transfer: _TRANSFER,
    results.TransferPage: {"data": [_TRANSFER], "afterCursor": None},
}
"""An example of each answer model."""
IN_PATHS = {"conversationId": _ID, "userId": _MEMBER_ID, "transferId": _TRANSFER_ID}
"""A value for each parameter of a path.

Only these parameters and the bodies have examples. An example of an optional parameter would narrow
a list or make a good request fail.
"""


@cache
def event_of(name: str) -> Json:
    """Return the sample event of an operation."""
    text = (files("forklore.local") / "events" / f"{name}.json").read_text(encoding="utf-8")
    event: Json = json.loads(text)
    return event


def body_of(operation: Operation) -> Any:
    """Return a body that the operation takes."""
    return json.loads(event_of(operation.name).get("body", "{}"))


def error(status: str, code: str, message: str) -> Json:
    """Return an error. status: its phrase."""
    return {"code": code, "error": status, "requestId": REQUEST_ID, "details": {"message": message}}
