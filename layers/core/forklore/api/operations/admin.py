"""Administration: what auditors and admins may see, and admins delete, of everybody's conversations.

Each operation is a user's own, run for a caller who sees all.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from forklore.api import answers, cursors, requests, results
from forklore.api.operation import Answer, CheckedRequest, Operation
from forklore.api.operations import conversations, entries, sharing
from forklore.errors import ForbiddenError, ValidationError
from forklore.usecases import conversations as usecases
from forklore.usecases import lists

ADMIN, AUDITOR = "admin", "auditor"

Run = Callable[[CheckedRequest], Mapping[str, Any] | Answer | None]


def get_conversation(request: CheckedRequest) -> Mapping[str, Any]:
    """Show any conversation, with the client that its context is bound to."""
    shown = usecases.get_conversation(
        request.table, caller=request.caller, conversation_id=request.conversation_id
    )
    return answers.administered(shown)


def list_conversations(request: CheckedRequest) -> Mapping[str, Any]:
    """List everybody's conversations, or those of one user, tree by tree, the newest root first."""
    query: requests.AdminListConversations = request.query
    resource = json.dumps(["admin/conversations", query.user_id, query.mode, query.ancestry])
    page = lists.list_conversations(
        request.table,
        caller=request.caller,
        request=lists.ListRequest(
            mode=query.mode,
            ancestry=query.ancestry,
            after=cursors.to_place(resource, query.after_cursor),
            limit=query.limit,
            of_user=query.user_id,
        ),
    )
    return {
        "data": [answers.administered(shown) for shown in page.conversations],
        "afterCursor": cursors.of_place(resource, page.resume),
    }


def list_children(request: CheckedRequest) -> Mapping[str, Any]:
    """List the conversations that any conversation has started, oldest first."""
    return conversations.list_children(request, show=answers.administered)


def list_entries(request: CheckedRequest) -> Mapping[str, Any]:
    """List what any conversation shows, oldest first, with the context of all clients and epochs."""
    return entries.list_entries(request)


def _for(role: str, run: Run) -> Run:
    """Return `run` for callers with the role alone, as who sees all."""

    def run_seeing_all(request: CheckedRequest) -> Mapping[str, Any] | Answer | None:
        justification: str | None = request.query.justification
        if request.service.justification_required and not (justification or "").strip():
            raise ValidationError("this deployment asks for a justification", field="justification")
        if not {role, ADMIN} & request.caller.roles:
            raise ForbiddenError(f"this needs the role '{role}'")
        return run(replace(request, caller=replace(request.caller, bypasses_membership=True)))

    run_seeing_all.__doc__ = run.__doc__
    return run_seeing_all


def _administered(
    name: str,
    *,
    query: type[requests.Justified] = requests.Justified,
    role: str = AUDITOR,
    **instead: Any,
) -> Operation:
    """Return the user's operation of that name for a role. query: also its own. instead: of its members."""
    own = BY_NAME[name]
    return replace(
        own,
        name=f"admin{name[0].upper()}{name[1:]}",
        path=own.path.replace("/v1/", "/v1/admin/", 1),
        query=query,
        role=role,
        errors=tuple(sorted({403, *own.errors})),
        **{**instead, "run": _for(role, instead.get("run", own.run))},
    )


BY_NAME = {
    operation.name: operation
    for operation in (*conversations.OPERATIONS, *entries.OPERATIONS, *sharing.OPERATIONS)
}

OPERATIONS = (
    _administered(
        "listConversations",
        query=requests.AdminListConversations,
        run=list_conversations,
        result=results.AdminConversationPage,
    ),
    _administered("getConversation", run=get_conversation, result=results.AdminConversation),
    _administered("listEntries", query=requests.AdminListEntries, run=list_entries),
    _administered("listMemberships", query=requests.AdminListMembers),
    _administered("listForks", query=requests.AdminListPage),
    _administered(
        "listChildren",
        query=requests.AdminListPage,
        run=list_children,
        result=results.AdminConversationPage,
    ),
    _administered("deleteConversation", role=ADMIN),
)
