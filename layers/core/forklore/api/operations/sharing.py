"""Share a fork tree with others, and hand it over."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from forklore.api import answers, cursors, requests, results
from forklore.api.operation import CheckedRequest, Operation
from forklore.domain import ids
from forklore.domain.access import AccessLevel
from forklore.domain.users import is_user_id
from forklore.errors import NotFoundError, ValidationError, brief
from forklore.usecases import sharing, transfers

_IN_PATH = re.compile(r"[A-Za-z0-9_.@:+-]+")
"""The user ids that a path can name. API Gateway decodes a path, perhaps twice, and cuts it at a `?`."""


def list_memberships(request: CheckedRequest) -> Mapping[str, Any]:
    """List who may use the conversation's fork tree, oldest first."""
    query: requests.ListMembers = request.query
    resource = f"memberships/{request.conversation_id}"
    page = sharing.list_memberships(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        after=lambda: cursors.to_member(resource, query.after_cursor),
        limit=query.limit,
    )
    return {
        "data": [answers.membership(membership) for membership in page.memberships],
        "afterCursor": cursors.of_member(resource, page.resume),
    }


def share_conversation(request: CheckedRequest) -> Mapping[str, Any]:
    """Make a user a member of the conversation's fork tree."""
    body: requests.ShareConversation = request.body
    membership = sharing.share_conversation(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        user_id=body.user_id,
        level=AccessLevel(body.access_level),
        idempotency_key=request.idempotency_key(answers.membership),
    )
    return answers.membership(membership)


def update_membership(request: CheckedRequest) -> Mapping[str, Any]:
    """Change a member's access level."""
    body: requests.UpdateMembership = request.body
    membership = sharing.update_membership(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        user_id=_user_id(request),
        level=AccessLevel(body.access_level),
    )
    return answers.membership(membership)


def remove_membership(request: CheckedRequest) -> None:
    """End a membership: that of a member you have a say in, or your own."""
    sharing.remove_membership(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        user_id=_user_id(request),
    )


def request_transfer(request: CheckedRequest) -> Mapping[str, Any]:
    """Offer the ownership of a conversation's fork tree to a member."""
    body: requests.RequestTransfer = request.body
    request.require_own(body.user_id)
    if not ids.is_uuid(body.conversation_id):
        raise NotFoundError(f"no conversation {brief(body.conversation_id)}")
    transfer = transfers.request_transfer(
        request.table,
        caller=request.caller,
        conversation_id=body.conversation_id,
        new_owner=body.new_owner_user_id,
        idempotency_key=request.idempotency_key(answers.transfer),
    )
    return answers.transfer(transfer)


def list_transfers(request: CheckedRequest) -> Mapping[str, Any]:
    """List the pending transfers that you have sent or that wait for you, oldest first."""
    query: requests.ListTransfers = request.query
    resource = f"transfers/{query.role}/{request.caller.user_id}"
    page = transfers.list_transfers(
        request.table,
        caller=request.caller,
        role=query.role,
        after=cursors.to_listed(resource, query.after_cursor),
        limit=query.limit,
    )
    return {
        "data": [answers.transfer(transfer) for transfer in page.transfers],
        "afterCursor": cursors.of_listed(resource, page.resume),
    }


def get_transfer(request: CheckedRequest) -> Mapping[str, Any]:
    """Show a pending transfer to its sender or recipient."""
    return answers.transfer(
        transfers.get_transfer(request.table, caller=request.caller, transfer_id=_transfer_id(request))
    )


def delete_transfer(request: CheckedRequest) -> None:
    """Cancel a transfer as its sender, or decline it as its recipient."""
    transfers.delete_transfer(request.table, caller=request.caller, transfer_id=_transfer_id(request))


def accept_transfer(request: CheckedRequest) -> None:
    """Become the owner; the sender becomes a manager."""
    half_done = transfers.accept_transfer(
        request.table,
        caller=request.caller,
        transfer_id=_transfer_id(request),
        idempotency_key=request.idempotency_key(lambda _answer: None),
    )
    if half_done is not None:
        transfers.announce_rewriting(request.service.queue, half_done)


def _user_id(request: CheckedRequest) -> str:
    """Return the member that the query names. Raises NotFoundError for what can be no user."""
    query: requests.OneMember = request.query
    if not is_user_id(query.user_id):
        raise NotFoundError("no such member")
    return query.user_id


def _by_path(operation: Operation) -> Operation:
    """Return the operation with the member in the path instead of the query: an older form of its route."""

    def run(request: CheckedRequest) -> Any:
        user_id = request.path["userId"]
        if not _IN_PATH.fullmatch(user_id):
            message = "a path names members of the characters A-Za-z0-9_.@:+- only; name others by ?userId="
            raise ValidationError(message, field="userId")
        return operation.run(replace(request, query=requests.OneMember.model_validate({"userId": user_id})))

    run.__doc__ = operation.run.__doc__
    run.__module__ = operation.run.__module__
    return replace(
        operation,
        name=f"{operation.name}ByPath",
        path=f"{operation.path}/{{userId}}",
        query=requests.MemberInPath,
        run=run,
    )


def _transfer_id(request: CheckedRequest) -> str:
    """Return the transfer that the path names. Raises NotFoundError for what can be no id."""
    transfer_id = request.path["transferId"]
    if not ids.is_uuid(transfer_id):
        raise NotFoundError(f"no transfer {brief(transfer_id)}")
    return transfer_id


_MEMBERSHIPS = "/v1/conversations/{conversationId}/memberships"
_TRANSFERS = "/v1/ownership-transfers"
_TRANSFER = f"{_TRANSFERS}/{{transferId}}"

OPERATIONS = (
    Operation(
        "listMemberships",
        "GET",
        _MEMBERSHIPS,
        list_memberships,
        results.MembershipPage,
        query=requests.ListMembers,
        errors=(403, 404),
    ),
    Operation(
        "shareConversation",
        "POST",
        _MEMBERSHIPS,
        share_conversation,
        results.Membership,
        status=201,
        body=requests.ShareConversation,
        errors=(403, 404, 409),
    ),
    Operation(
        "updateMembership",
        "PATCH",
        _MEMBERSHIPS,
        update_membership,
        results.Membership,
        query=requests.OneMember,
        body=requests.UpdateMembership,
        errors=(403, 404),
    ),
    Operation(
        "removeMembership",
        "DELETE",
        _MEMBERSHIPS,
        remove_membership,
        None,
        status=204,
        query=requests.OneMember,
        errors=(403, 404),
    ),
    Operation(
        "requestTransfer",
        "POST",
        _TRANSFERS,
        request_transfer,
        results.Transfer,
        status=201,
        body=requests.RequestTransfer,
        errors=(403, 404, 409),
    ),
    Operation(
        "listTransfers",
        "GET",
        _TRANSFERS,
        list_transfers,
        results.TransferPage,
        query=requests.ListTransfers,
    ),
    Operation("getTransfer", "GET", _TRANSFER, get_transfer, results.Transfer, errors=(404,)),
    Operation("deleteTransfer", "DELETE", _TRANSFER, delete_transfer, None, status=204, errors=(403, 404)),
    Operation(
        "acceptTransfer",
        "POST",
        f"{_TRANSFER}/accept",
        accept_transfer,
        None,
        status=204,
        body=requests.NoFields,
        errors=(403, 404),
    ),
)

BY_PATH = tuple(_by_path(operation) for operation in OPERATIONS if operation.query is requests.OneMember)
"""Routes of the HTTP API for operations that have another one already."""
