"""Administration: what auditors may read of everybody's conversations, and what admins may delete.

Each operation is a user's operation with a role, but for those about erasures. The caller sees
every conversation.
"""

import json
from typing import Any

from forklore.api import admin_requests, answers, cursors
from forklore.api.operation import CheckedRequest, Operation
from forklore.api.operations import conversations, entries, erasures, names, search, sharing
from forklore.domain.users import ADMIN, AUDITOR


def list_conversations(request: CheckedRequest) -> answers.AdminConversationPage:
    """List everybody's conversations, or those of one user, tree by tree, the newest root first."""
    query: admin_requests.AdminListConversations = request.query
    resource = json.dumps(["admin/conversations", query.user_id, *query.filters])
    page = conversations.page_of_list(request, resource, of_user=query.user_id)
    return {
        "data": [answers.admin_conversation(details) for details in page.conversations],
        "afterCursor": cursors.of_place(resource, page.resume),
    }


_OF_USERS = {
    operation.name: operation
    for operation in (
        *conversations.OPERATIONS,
        *entries.OPERATIONS,
        *search.OPERATIONS,
        *sharing.OPERATIONS,
        *names.OPERATIONS,
    )
}


def _for_role(
    role: str, name: str, *, query: type[admin_requests.Justified] = admin_requests.Justified, **changes: Any
) -> Operation:
    """Return the user's operation `name` for a role. changes: to other fields of the entry."""
    of_user = _OF_USERS[name]
    changed = of_user._replace(
        name=f"admin{name[0].upper()}{name[1:]}",
        path=of_user.path.replace("/v1/", "/v1/admin/", 1),
        query=query,
        role=role,
        errors=tuple(sorted({403, *of_user.errors})),
    )
    return changed._replace(**changes)


OPERATIONS = (
    _for_role(
        AUDITOR,
        "listConversations",
        query=admin_requests.AdminListConversations,
        run=list_conversations,
    ),
    _for_role(
        AUDITOR,
        "searchConversations",
        body=admin_requests.AdminSearchConversations,
        run=search.search_everybodys,
    ),
    _for_role(
        AUDITOR,
        "getConversation",
        answer=answers.AdminConversation,
        summary="Show any conversation, with the client that its context is bound to.",
    ),
    _for_role(
        AUDITOR,
        "listEntries",
        query=admin_requests.AdminListEntries,
        summary="List what any conversation shows, oldest first, with the context of all clients and epochs.",
    ),
    _for_role(
        AUDITOR,
        "lookUpEntry",
        query=admin_requests.AdminEntryOfKey,
        summary="Show the entry that any conversation shows under a key.",
    ),
    _for_role(
        AUDITOR,
        "getEntry",
        summary="Show one entry that any conversation shows, of any client.",
    ),
    _for_role(AUDITOR, "compareConversations", query=admin_requests.AdminCompare),
    _for_role(AUDITOR, "listAncestors"),
    _for_role(AUDITOR, "listMemberships", query=admin_requests.AdminListMembers),
    _for_role(AUDITOR, "listForks", query=admin_requests.AdminListPage),
    _for_role(
        AUDITOR,
        "listChildren",
        query=admin_requests.AdminListChildren,
        answer=answers.AdminConversationPage,
        summary="List the conversations that any conversation has started, oldest first.",
    ),
    _for_role(
        AUDITOR,
        "listNames",
        query=admin_requests.AdminListNames,
        run=names.list_all_names,
    ),
    _for_role(
        AUDITOR,
        "lookUpName",
        query=admin_requests.AdminOneName,
        answer=answers.AdminName,
        summary="Show a name of any user and where it points.",
    ),
    _for_role(ADMIN, "deleteConversation", query=admin_requests.AdminDeleteConversation),
    _for_role(
        ADMIN,
        "deleteName",
        query=admin_requests.AdminDeleteName,
        summary="Delete a name of any user; its conversation stays as it is.",
    ),
    *erasures.OPERATIONS,
)
