"""Examples for the OpenAPI document: of parameters, bodies and answers."""

from typing import Any

from pydantic import BaseModel

from forklore_service.api import (
    admin_requests,
    answer_log_requests,
    answer_models,
    attachment_requests,
    conversation_requests,
    entry_requests,
    naming,
    requests,
    sharing_requests,
)

REQUEST_ID = "8f14e45f-ceea-4e7f-9c1d-2b7f0e6a3d18"

Json = dict[str, Any]

_ID = "019a5c1e-7b40-7c3d-9e21-4f8d2b6a1c05"
_FORK_ID = "019a5c1f-0d68-7a92-8b14-c06e95d37f2a"
_CHILD_ID = "019a5c20-91e0-7d14-9c55-2b7f0e6a3d18"
_ENTRY_ID = "019a5c1e-aa20-7b16-8c31-5d1e2f3a4b6c"
_LATER_ID = "019a5c1f-51c8-7f03-9a77-1e2d3c4b5a69"
_REMOVED_ID = "019a5c1e-f3b4-7c07-92d5-6a1b0c9d8e7f"
_MEMBER_ID = "bob"
_TRANSFER_ID = "019a5c20-3e10-7b5d-8a44-d1e2f3a4b5c6"
_ERASURE_ID = "019a5c23-1a20-7c4e-9b37-0f1e2d3c4b5a"
_ANSWER_ID = "019a5c1e-ac38-7d45-8f02-7e6d5c4b3a29"
_ATTACHMENT_ID = "019a5c1e-a9f0-7c63-8b25-3d4e5f6a7b8c"
_SECRET = "AZpcHntAfD2eIU-NK2ocBZ2pRk0yVw3nq8H1tJxYb6c"
_AT = "2025-11-07T10:30:00.000Z"
_METRICS = {
    "entries": 1,
    "inputTokens": 12,
    "outputTokens": 0,
    "cachedInputTokens": 0,
    "costUsd": 0.00036,
}
_LINK: Json = {
    "id": "9da9464d-3257-0de7-abc1-f5b49c586fa7",
    "conversationId": _ID,
    "allForks": False,
    "upToEntryId": _ENTRY_ID,
    "userIds": False,
    "keepOnTransfer": False,
    "opens": 3,
    "createdAt": _AT,
    "endsAt": "2025-12-07T10:30:00.000Z",
}
_NOTE: Json = {
    "id": "019a5c25-7f30-7a12-9c44-5b6a7c8d9e0f",
    "conversationId": _ID,
    "entryId": _ENTRY_ID,
    "userId": "alice",
    "text": "The second night is missing.",
    "score": 0.5,
    "createdAt": "2025-11-07T10:33:40.400Z",
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
    "lastUsedAt": "2025-11-07T10:30:12.480Z",
    "lastMessagePreview": "Where should we stay for two nights?",
    "historyEntries": 1,
    "metrics": _METRICS,
}
_ANSWERING: Json = {
    "answerId": _ANSWER_ID,
    "afterEntryId": _ENTRY_ID,
    "userId": "alice",
    "since": "2025-11-07T10:30:12.600Z",
    "state": "open",
}
_ANSWER: Json = {
    "id": _ANSWER_ID,
    "conversationId": _ID,
    "afterEntryId": _ENTRY_ID,
    "userId": "alice",
    "clientId": "travel-planner",
    "agentId": "travel-planner",
    "state": "open",
    "position": 0,
    "createdAt": "2025-11-07T10:30:12.600Z",
}
_ENTRY: Json = {
    "id": _ENTRY_ID,
    "conversationId": _ID,
    "parentId": None,
    "userId": "alice",
    "clientId": "travel-planner",
    "agentId": "travel-planner",
    "channel": "history",
    "key": "msg-17",
    "contentType": "history",
    "content": [{"role": "USER", "text": "Where should we stay for two nights?"}],
    "usage": {"inputTokens": 12, "costUsd": 0.00036},
    "metadata": {"replyTo": "msg-16"},
    "createdAt": "2025-11-07T10:30:12.000Z",
}
_ERASED: Json = {
    "id": "019a5c1e-bb10-7d27-9f42-0c1d2e3f4a5b",
    "conversationId": _ID,
    "parentId": _ENTRY["id"],
    "userId": "erased-5f0c2a9be41d7836b90e1c4fa2d65873",
    "channel": "history",
    "contentType": "history",
    "content": [],
    "erased": True,
    "createdAt": "2025-11-07T10:30:16.656Z",
}
_LINE: Json = {
    "id": "019a5c22-3b40-7e21-8d36-5a4b3c2d1e0f",
    "conversationId": _ID,
    "parentId": _ERASED["id"],
    "userId": "alice",
    "agentId": "travel-planner",
    "channel": "history",
    "contentType": "history",
    "content": [],
    "createdAt": "2025-11-07T10:31:20.000Z",
    "line": {
        "role": "AI",
        "text": "The trams are on strike on Saturday",
        "tool": "look_up",
        "failed": True,
        "holds": ["events", "other"],
        "saidAt": "2025-11-01T08:02:45.000Z",
    },
}
_HIT: Json = {
    "conversationId": _ID,
    "conversationTitle": "Weekend in Lisbon",
    "entryId": _ENTRY["id"],
    "createdAt": _ENTRY["createdAt"],
    "agentId": _ENTRY["agentId"],
    "line": {"role": "USER", "text": "Where should we stay for two nights?"},
    "highlights": ["Where should we stay for two nights?"],
    "score": 2.7182,
    "entry": _ENTRY,
    "around": [_ENTRY],
}
_SUMMARY: Json = {
    "id": "019a5c22-0e18-7d43-8c27-7f8e9d0a1b2c",
    "conversationId": _ID,
    "parentId": _ERASED["id"],
    "userId": "alice",
    "channel": "history",
    "contentType": "history",
    "content": [{"role": "AI", "text": "Porto: two nights near the river, 210 euros."}],
    "mergedFromConversationId": _FORK_ID,
    "mergedUpToEntryId": "019a5c20-c7d8-7a05-8e3f-4b5c6d7e8f90",
    "createdAt": "2025-11-07T10:33:47.416Z",
}
_COPIED: Json = {
    **{name: held for name, held in _ENTRY.items() if name != "usage"},
    "id": "019a5c21-1c40-7f2a-9b16-6e7d8c9a0b1f",
    "copiedFromConversationId": _FORK_ID,
    "copiedFromEntryId": "019a5c20-c7d8-7a05-8e3f-4b5c6d7e8f90",
    "createdAt": "2025-11-07T10:32:45.376Z",
}
_CONTEXT: Json = {
    **_ENTRY,
    "channel": "context",
    "epoch": 2,
    "contentType": "text/plain",
    "content": ["Lisbon, two nights", "no hostels"],
}
_SYNCED: Json = {
    "epoch": 2,
    "noOp": False,
    "epochIncremented": True,
    "entry": _CONTEXT,
    "lastEntryId": _CONTEXT["id"],
}
_FORK: Json = {
    "conversationId": _FORK_ID,
    "title": "Two nights in Porto",
    "agentId": "planner",
    "tags": {"topic": "travel"},
    "metadata": {"score": 0.8},
    "forkedAtConversationId": _ID,
    "forkedAtEntryId": _ENTRY["id"],
    "forkedAtPosition": "after",
    "lastEntryId": _LATER_ID,
    "isCurrent": False,
    "createdAt": "2025-11-07T10:31:00.000Z",
}
_CHILD: Json = {
    **_CONVERSATION,
    "id": _CHILD_ID,
    "title": "Compare hotels",
    "archived": True,
    "pinned": True,
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
_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_FILE: Json = {"id": _ATTACHMENT_ID, "name": "alfama.jpg", "contentType": "image/jpeg", "size": 412_345}
_LINKED: Json = {
    **_FILE,
    "url": f"https://files.example.com/{_ATTACHMENT_ID}?signature=1f0e2d3c",
    "urlExpiresAt": "2025-11-07T10:45:00.000Z",
}
_ATTACHMENT: Json = {**_LINKED, "sha256": _SHA256, "state": "ready", "createdAt": _AT}
_SHOWN: Json = {
    **_ENTRY,
    "id": "019a5c22-6d50-7a14-9c28-4b5a6c7d8e9f",
    "parentId": _LINE["id"],
    "content": [{"role": "USER", "text": "Here?", "attachments": [{"id": _ATTACHMENT_ID}]}],
    "attachments": [_LINKED],
}
_NAME: Json = {
    "name": "weekend trip",
    "conversationId": _ID,
    "revision": 3_141_592_653_589_794,
    "data": {"colour": "blue"},
    "createdAt": _AT,
    "updatedAt": "2025-11-07T10:30:12.480Z",
    "previousConversationId": _FORK_ID,
}

BODIES: dict[type[BaseModel], Json] = {
    conversation_requests.CreateConversation: {
        "id": _ID,
        "title": "Weekend in Lisbon",
        "tags": {"topic": "travel"},
        "agentId": "travel-planner",
        "metadata": {"budgetEur": 450.0, "nights": 2},
    },
    conversation_requests.UpdateConversation: {
        "title": "Two nights in Lisbon",
        "tags": {"topic": "travel", "city": "Lisbon"},
    },
    conversation_requests.SetScores: {"scores": [{"conversationId": _ID, "score": 0.5}]},
    conversation_requests.ForkConversation: {
        "id": _FORK_ID,
        "title": "Two nights in Porto",
        "tags": {"topic": "travel"},
        "resetMetrics": False,
    },
    entry_requests.Append: {
        "channel": "history",
        "contentType": "history",
        "content": [{"role": "USER", "text": "Where should we stay for two nights?"}],
        "agentId": "travel-planner",
        "usage": {"inputTokens": 12, "costUsd": 0.00036},
    },
    entry_requests.SyncContext: {
        "contentType": "text/plain",
        "content": ["Lisbon, two nights", "no hostels"],
        "agentId": "travel-planner",
    },
    entry_requests.MergeConversation: {"fromConversationId": _FORK_ID},
    entry_requests.CopyConversation: {
        "id": "019a5c24-5e20-7f47-b8d0-1c2f3e4d5b6a",
        "title": "Lisbon, for myself",
    },
    entry_requests.CopyTree: {"id": "019a5c24-5e20-7f47-b8d0-1c2f3e4d5b6a"},
    conversation_requests.SearchConversations: {"query": "two nights", "limit": 20},
    sharing_requests.ShareConversation: {"userId": _MEMBER_ID, "accessLevel": "reader"},
    sharing_requests.CreateLink: {"days": 30, "upToEntryId": _ENTRY_ID},
    sharing_requests.AddNote: {"text": _NOTE["text"], "score": 0.5},
    sharing_requests.UpdateMembership: {"accessLevel": "manager"},
    sharing_requests.RequestTransfer: {"conversationId": _ID, "newOwnerUserId": _MEMBER_ID},
    requests.NoFields: {},
    attachment_requests.UploadAttachment: {
        "name": "alfama.jpg",
        "contentType": "image/jpeg",
        "size": 412_345,
        "sha256": _SHA256,
    },
    answer_log_requests.BeginAnswer: {"afterEntryId": _ENTRY_ID, "agentId": "travel-planner"},
    answer_log_requests.AppendToAnswer: {"after": 1, "content": ["if the budget allows it."]},
    naming.SetName: {"name": "weekend trip", "conversationId": _ID, "data": {"colour": "blue"}},
    naming.AppendByName: {
        "name": "weekend trip",
        "channel": "history",
        "contentType": "history",
        "content": [{"role": "USER", "text": "And by train?"}],
    },
    admin_requests.AdminSearchConversations: {"userId": "alice", "query": "two nights", "limit": 20},
    admin_requests.EraseUser: {"userId": "carol"},
}
"""An example of each model of a request's body."""
ANSWERS: dict[type[BaseModel], Json] = {
    answer_models.Health: {
        "status": "ok",
        "searchTypes": ["fulltext", "semantic"],
        "version": "0.1.0",
        "commit": "4f0a4586bbde",
        "startedAt": "2026-03-01T09:15:00.000Z",
    },
    answer_models.Conversation: _CONVERSATION,
    answer_models.Forked: {**_CONVERSATION, "id": _FORK_ID},
    answer_models.ConversationPage: {
        "data": [_CHILD, {**_CONVERSATION, "branches": 2}],
        "afterCursor": None,
    },
    answer_models.TrashPage: {
        "data": [
            {
                "id": _ID,
                "scope": "tree",
                "title": "Weekend in Lisbon",
                "ownerUserId": "alice",
                "createdAt": _AT,
                "deletedAt": "2025-11-07T10:31:12.480Z",
                "keptUntil": "2025-12-07T10:31:12.480Z",
            }
        ],
        "afterCursor": None,
    },
    answer_models.AdminConversation: {**_CONVERSATION, "clientId": "travel-planner"},
    answer_models.AdminConversationPage: {
        "data": [{**_CONVERSATION, "clientId": "travel-planner"}],
        "afterCursor": None,
    },
    answer_models.ForkPage: {
        "data": [
            {
                "conversationId": _ID,
                "title": "Weekend in Lisbon",
                "tags": {"topic": "travel"},
                "metadata": {},
                "lastEntryId": _ENTRY["id"],
                "isCurrent": True,
                "createdAt": _AT,
            },
            _FORK,
        ],
        "afterCursor": None,
    },
    answer_models.Appended: {**_ENTRY, "context": _SYNCED},
    answer_models.Entry: _ENTRY,
    answer_models.EntryPage: {
        "data": [{**_ENTRY, "alternatives": [_FORK_ID]}, _ERASED, _SUMMARY, _LINE, _SHOWN],
        "afterCursor": None,
        "beforeCursor": None,
        "alternativesAtEnd": [],
        "answering": _ANSWERING,
    },
    answer_models.AnswerStatus: _ANSWER,
    answer_models.AppendedPart: {"position": 2},
    answer_models.AnswerLog: {
        **_ANSWER,
        "state": "finished",
        "position": 3,
        "entryConversationId": _ID,
        "entryId": _LATER_ID,
        "parts": [
            {"position": 1, "content": ["In Alfama, "]},
            {"position": 2, "content": ["if the budget allows it."]},
        ],
    },
    answer_models.Comparison: {
        "base": {"entryId": _ENTRY["id"]},
        "branches": [
            {"conversationId": _ID, "data": [], "afterCursor": None},
            {
                "conversationId": _FORK_ID,
                "data": [{**_ENTRY, "id": _LATER_ID, "conversationId": _FORK_ID, "parentId": _ENTRY["id"]}],
                "afterCursor": None,
            },
        ],
    },
    answer_models.Ancestors: {
        "data": [
            {
                "conversationId": _ID,
                "title": "Weekend in Lisbon",
                "inheritedUpToEntryId": _ENTRY["id"],
            },
            {
                "conversationId": _REMOVED_ID,
                "removed": True,
                "inheritedUpToEntryId": _LATER_ID,
            },
            {"conversationId": _FORK_ID, "title": "Two nights in Porto"},
        ]
    },
    answer_models.SearchPage: {"data": [_HIT], "afterCursor": None, "complete": True},
    answer_models.Synced: _SYNCED,
    answer_models.Entries: {"data": [_COPIED]},
    answer_models.CreatedLink: {**_LINK, "opens": 0, "secret": _SECRET},
    answer_models.LinkPage: {"data": [_LINK], "afterCursor": None},
    answer_models.Note: _NOTE,
    answer_models.NotePage: {"data": [_NOTE], "afterCursor": None},
    answer_models.LinkedConversation: {
        "conversationId": _ID,
        "title": "Weekend in Lisbon",
        "allForks": False,
        "endsAt": _LINK["endsAt"],
    },
    answer_models.LinkedEntryPage: {
        "data": [
            {
                name: held
                for name, held in _ENTRY.items()
                if name in ("id", "createdAt", "contentType", "content")
            }
        ],
        "afterCursor": None,
        "beforeCursor": None,
    },
    answer_models.Membership: _MEMBER,
    answer_models.ChangedMembership: {**_MEMBER, "children": 1},
    answer_models.RemovedMembership: {"children": 1},
    answer_models.MembershipPage: {"data": [{**_MEMBER, "userId": "alice", "accessLevel": "owner"}, _MEMBER]}
    | {"afterCursor": None},
    answer_models.Transfer: _TRANSFER,
    answer_models.Name: _NAME,
    answer_models.NamePage: {
        "data": [_NAME, {**_NAME, "name": "winter trip", "conversationId": _FORK_ID, "deleted": True}],
        "afterCursor": None,
    },
    answer_models.AdminName: {**_NAME, "userId": "alice", "clientId": "travel-planner"},
    answer_models.AdminNamePage: {"data": [{**_NAME, "userId": "alice"}], "afterCursor": None},
    answer_models.Attachment: _ATTACHMENT,
    answer_models.UploadedAttachment: {
        **_FILE,
        "sha256": _SHA256,
        "state": "pending",
        "createdAt": _AT,
        "upload": {
            "method": "PUT",
            "url": f"https://files.example.com/{_ATTACHMENT_ID}?signature=5a4b3c2d",
            "headers": {"content-type": "image/jpeg"},
            "expiresAt": "2025-11-07T10:45:00.000Z",
        },
    },
    answer_models.AdminAttachment: {**_ATTACHMENT, "userId": "alice"},
    answer_models.AdminAttachmentPage: {
        "data": [{**_FILE, "sha256": _SHA256, "state": "ready", "createdAt": _AT, "userId": "alice"}],
        "afterCursor": None,
    },
    answer_models.TransferPage: {"data": [_TRANSFER], "afterCursor": None},
    answer_models.Erasure: {
        "id": _ERASURE_ID,
        "state": "done",
        "pseudonym": "erased-5f0c2a9be41d7836b90e1c4fa2d65873",
        "trees": 3,
        "memberships": 2,
        "entries": 41,
        "passes": 2,
        "createdAt": _AT,
        "finishedAt": "2025-11-07T10:31:12.480Z",
    },
}
"""An example of each answer model."""
IN_PATHS = {
    "conversationId": _ID,
    "entryId": _ENTRY_ID,
    "with": _FORK_ID,
    "key": "question 1",
    "name": "trip",
    "userId": _MEMBER_ID,
    "answerId": _ANSWER_ID,
    "transferId": _TRANSFER_ID,
    "linkId": _LINK["id"],
    "noteId": _NOTE["id"],
    "secret": _SECRET,
    "erasureId": _ERASURE_ID,
    "attachmentId": _ATTACHMENT_ID,
}
"""A value for each parameter of a path, and for each that a query must have.

Only these parameters and the bodies have examples. An example of an optional parameter would narrow
a list or make a good request fail.
"""


def error(status: str, code: str, message: str) -> Json:
    """Return an error. status: its phrase."""
    return {"code": code, "error": status, "requestId": REQUEST_ID, "details": {"message": message}}
