"""Administration: what auditors may read of everybody's conversations, and what admins may delete.

Each operation is a user's operation with a role, but for those about erasures. The caller sees
every conversation. Whatever a user may read, an auditor may read of everybody.
"""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from forklore_service.api import admin_requests, answers, cursors
from forklore_service.api.operation import CheckedRequest, Operation
from forklore_service.api.operations import (
    answer_logs,
    attachments,
    conversations,
    entries,
    erasures,
    names,
    notes,
    search,
    sharing,
)
from forklore_service.api.requests import NoParameters
from forklore_service.domain.users import ADMIN, AUDITOR


def list_conversations(request: CheckedRequest) -> answers.AdminConversationPage:
    """List everybody's conversations, or those of one user, tree by tree, the newest root first."""
    query: admin_requests.AdminListConversations = request.query
    resource = json.dumps(["admin/conversations", query.user_id, *query.filters])
    page = conversations.page_of_list(request, resource, of_user=query.user_id)
    return {
        "data": [answers.admin_conversation(details) for details in page.rows],
        "afterCursor": cursors.of_place(resource, page.resume),
    }


def list_trash(request: CheckedRequest) -> answers.TrashPage:
    """List the fork trees that a user has deleted and can restore, the newest tree first."""
    query: admin_requests.AdminListTrash = request.query
    return conversations.page_of_trash(request, query.user_id, "admin/trash")


_OF_USERS = {
    operation.name: operation
    for operation in (
        *conversations.OPERATIONS,
        *entries.OPERATIONS,
        *answer_logs.OPERATIONS,
        *search.OPERATIONS,
        *sharing.OPERATIONS,
        *notes.OPERATIONS,
        *names.OPERATIONS,
        *attachments.OPERATIONS,
    )
}


_NOT_FOR_AUDITORS = {"checkHealth", "listTransfers", "getTransfer", "listEntriesByName"}
"""What a user may read and an auditor may not. tests/service/api/test_parameters.py says why."""
_FOR_ADMINS = ("deleteConversation", "restoreConversation", "deleteName", "deleteLink", "deleteNote")
"""What only a user's admin may do to what is theirs."""
_CHANGES: Mapping[str, Mapping[str, Any]] = {
    "listConversations": {"query": admin_requests.AdminListConversations, "run": list_conversations},
    "listTrash": {"query": admin_requests.AdminListTrash, "run": list_trash},
    "restoreConversation": {
        "answer": answers.AdminConversation,
        "summary": "Restore the deleted fork tree of any conversation.",
    },
    "searchConversations": {
        "body": admin_requests.AdminSearchConversations,
        "run": search.search_everybodys,
    },
    "getConversation": {
        "answer": answers.AdminConversation,
        "summary": "Show any conversation, with the client that its context is bound to.",
    },
    "getAttachment": {
        "query": admin_requests.Justified,
        "answer": answers.AdminAttachment,
        "summary": "Show any attachment, with who has uploaded it.",
    },
    "listEntries": {
        "query": admin_requests.AdminListEntries,
        "summary": "List what any conversation shows, oldest first, with the context of all clients and"
        " epochs.",
    },
    "lookUpEntry": {"summary": "Show the entry that any conversation shows under a key."},
    "getEntry": {"summary": "Show one entry that any conversation shows, of any client."},
    "listChildren": {
        "answer": answers.AdminConversationPage,
        "summary": "List the conversations that any conversation has started, oldest first.",
    },
    "listLinks": {"summary": "List the links to the fork tree of any conversation, oldest first."},
    "deleteLink": {"summary": "End a link to any conversation at once."},
    "listNotes": {"summary": "List the notes on what any conversation shows, in the order of its entries."},
    "deleteNote": {"summary": "Delete a note on an entry of any conversation."},
    "listNames": {"query": admin_requests.AdminListNames, "run": names.list_all_names},
    "lookUpName": {
        "query": admin_requests.AdminOneName,
        "answer": answers.AdminName,
        "summary": "Show a name of any user and where it points.",
    },
    "deleteName": {
        "query": admin_requests.AdminDeleteName,
        "summary": "Delete a name of any user; its conversation stays as it is.",
    },
}
"""What is different for an auditor or admin, beside the role and the justification."""


def _for_role(role: str, of_user: Operation) -> Operation:
    """Return a user's operation for a role."""
    plain = of_user._replace(
        name=f"admin{of_user.name[0].upper()}{of_user.name[1:]}",
        path=of_user.path.replace("/v1/", "/v1/admin/", 1),
        query=_justified(of_user.query),
        role=role,
        errors=tuple(sorted({403, *of_user.errors})),
    )
    return plain._replace(**_CHANGES.get(of_user.name, {}))


def _justified(query: type[BaseModel]) -> type[BaseModel]:
    """Return the model of the same query with a justification."""
    if query is NoParameters:
        return admin_requests.Justified
    return type(f"Admin{query.__name__}", (query, admin_requests.Justified), {"__doc__": query.__doc__})


OPERATIONS = (
    *(
        _for_role(AUDITOR, one)
        for one in _OF_USERS.values()
        if one.is_read and one.name not in _NOT_FOR_AUDITORS
    ),
    *(_for_role(ADMIN, _OF_USERS[name]) for name in _FOR_ADMINS),
    Operation(
        "adminListAttachments",
        "GET",
        "/v1/admin/attachments",
        attachments.list_attachments,
        query=admin_requests.ListAttachments,
        errors=(403,),
        role=AUDITOR,
    ),
    Operation(
        "adminRemoveAttachment",
        "DELETE",
        "/v1/admin/attachments/{attachmentId}",
        attachments.remove_attachment,
        status=204,
        query=admin_requests.Justified,
        errors=(403, 404, 409),
        role=ADMIN,
    ),
    *erasures.OPERATIONS,
)
