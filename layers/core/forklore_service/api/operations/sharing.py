"""What members do with a fork tree as a whole: share, archive and pin it, hand it over."""

import json
import re
import secrets
from typing import TypeVar

from forklore_service.api import answers, cursors, requests, sharing_requests
from forklore_service.api.operation import Answer, CheckedRequest, Operation
from forklore_service.domain import ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.links import SALT_BYTES, random_of, secret_of
from forklore_service.domain.users import is_user_id
from forklore_service.errors import (
    BadRequestError,
    MemberLimitError,
    NotFoundError,
    PinLimitError,
    TransferPendingError,
    ValidationError,
    brief,
)
from forklore_service.usecases.people import archiving, links, pinning, sharing, transfers
from forklore_service.usecases.people.spreading import Spread, announce_spreading
from forklore_service.usecases.shared.cursors import valid
from forklore_service.usecases.shared.idempotency import IdempotentReplay

_Fields = TypeVar("_Fields", answers.ChangedMembership, answers.RemovedMembership)
_IN_PATH = re.compile(r"[A-Za-z0-9_.@:+-]+")
"""User ids that a path can carry. API Gateway may decode a path twice, and cuts it at a `?`."""


def list_memberships(request: CheckedRequest) -> answers.MembershipPage:
    """List who may use the conversation's fork tree, oldest first.

    For every member.
    """
    query: sharing_requests.ListMembers = request.query
    resource = f"memberships/{request.conversation_id}"
    page = sharing.list_memberships(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        after=cursors.to_member(resource, query.after_cursor),
        limit=query.limit,
    )
    return {
        "data": [answers.membership(membership) for membership in page.rows],
        "afterCursor": cursors.of_member(resource, page.resume),
    }


def share_conversation(request: CheckedRequest) -> answers.Membership:
    """Make a user a member of the conversation's fork tree.

    Owners let managers, writers and readers in, managers writers and readers. It holds for
    every fork. With `children=include` also for what was started from here, where you may do so.
    """
    body: sharing_requests.ShareConversation = request.body
    membership, spread = sharing.share_conversation(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        user_id=body.user_id,
        level=AccessLevel(body.access_level),
        includes_children=body.children == "include",
        idempotency_key=request.idempotency_key(answers.membership),
    )
    announce_spreading(request.service.queue, spread.left)
    return answers.membership(membership)


def update_membership(request: CheckedRequest) -> Answer[answers.ChangedMembership]:
    """Change a member's access level.

    By the rules of sharing, for the level that the member has now and the new one. A lower level
    is also for what was started from here, unless `children=keep`. 202 says that this goes on in
    the background.
    """
    body: sharing_requests.UpdateMembership = request.body
    user_id = _user_id(request)
    membership, spread = sharing.update_membership(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        user_id=_possible(user_id),
        level=AccessLevel(body.access_level),
        keep_children=request.query.children == "keep",
    )
    return _spread(request, spread, {**answers.membership(membership), "children": spread.children})


def remove_membership(request: CheckedRequest) -> Answer[answers.RemovedMembership]:
    """End a membership: that of a member you have a say in, or your own.

    By the rules of sharing; everybody but the owner may leave. A transfer to the member goes,
    too. So do memberships of what was started from here, unless `children=keep`. 202 says that
    this goes on in the background.
    """
    user_id = _user_id(request)
    spread = sharing.remove_membership(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        user_id=_possible(user_id),
        keep_children=request.query.children == "keep",
    )
    return _spread(request, spread, {"children": spread.children})


def _spread(request: CheckedRequest, spread: Spread, fields: _Fields) -> Answer[_Fields]:
    """Return the answer to a change, and ask the worker for what is left of it."""
    announce_spreading(request.service.queue, spread.left)
    return Answer(202 if spread.left else 200, fields)


def create_link(request: CheckedRequest) -> answers.CreatedLink:
    """Make a link by which people without an account read the conversation.

    For managers. It shows the history up to now, or up to `upToEntryId`, and nothing that is said
    later; with `allForks` the whole fork tree, and what is said later, too. It ends
    after `days`, with the conversation, and with a transfer unless `keepOnTransfer`. The `secret`
    is told only in this answer, and again to who repeats the request with its `Idempotency-Key`.
    """
    body: sharing_requests.CreateLink = request.body
    told: answers.Link
    said = json.dumps(request.key) if request.key else ""
    salt = secrets.token_bytes(SALT_BYTES)
    try:
        link = links.create_link(
            request.table,
            caller=request.caller,
            request=links.LinkRequest(
                request.conversation_id,
                body.days,
                cursors.to_position(body.up_to_entry_id),
                body.all_forks,
                body.user_ids,
                body.keep_on_transfer,
            ),
            random=random_of(salt, said),
            idempotency_key=request.idempotency_key(
                lambda made: {"link": answers.link(made), "salt": salt.hex()}
            ),
        )
    except IdempotentReplay as replay:
        kept = json.loads(replay.record.body)
        told, salt = kept["link"], bytes.fromhex(kept["salt"])
    else:
        told = answers.link(link)
    secret, _ = secret_of(request.conversation_id, random_of(salt, said))
    return {**told, "secret": secret}


def list_links(request: CheckedRequest) -> answers.LinkPage:
    """List the links to the conversation's fork tree that have not ended, oldest first.

    For managers. Nobody can see their secrets.
    """
    query: sharing_requests.ListMembers = request.query
    resource = f"links/{request.conversation_id}"
    page = links.list_links(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        after=cursors.to_list_key(resource, query.after_cursor),
        limit=query.limit,
    )
    return {
        "data": [answers.link(link) for link in page.rows],
        "afterCursor": cursors.of_list_key(resource, page.resume),
    }


def delete_link(request: CheckedRequest) -> None:
    """End a link at once.

    For managers. Its `id` comes from createLink or listLinks.
    """
    link_id = request.path["linkId"]
    if not ids.is_uuid(link_id):
        raise NotFoundError(f"no link {brief(link_id)}")
    links.delete_link(
        request.table, caller=request.caller, conversation_id=request.conversation_id, link_id=link_id
    )


def request_transfer(request: CheckedRequest) -> answers.Transfer:
    """Offer the ownership of a conversation's fork tree to a member.

    For the owner. The member has to accept it; one can be pending at a time.
    """
    body: sharing_requests.RequestTransfer = request.body
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


def list_transfers(request: CheckedRequest) -> answers.TransferPage:
    """List the pending transfers that you have sent or that wait for you, oldest first.

    `role` chooses those that you have sent or that wait for you.
    """
    query: sharing_requests.ListTransfers = request.query
    resource = f"transfers/{query.role}/{request.caller.user_id}"
    page = transfers.list_transfers(
        request.table,
        caller=request.caller,
        role=query.role,
        after=valid(cursors.to_list_key(resource, query.after_cursor)),  # no access check before it
        limit=query.limit,
    )
    return {
        "data": [answers.transfer(transfer) for transfer in page.rows],
        "afterCursor": cursors.of_list_key(resource, page.resume),
    }


def get_transfer(request: CheckedRequest) -> answers.Transfer:
    """Show a pending transfer to its sender or recipient.

    Its `id` comes from requestTransfer or listTransfers. To everybody else it is 404.
    """
    return answers.transfer(
        transfers.get_transfer(request.table, caller=request.caller, transfer_id=_transfer_id(request))
    )


def delete_transfer(request: CheckedRequest) -> None:
    """Cancel a transfer as its sender, or decline it as its recipient.

    Its `id` comes from requestTransfer or listTransfers. Nobody's level changes.
    """
    transfers.delete_transfer(request.table, caller=request.caller, transfer_id=_transfer_id(request))


def accept_transfer(request: CheckedRequest) -> None:
    """Become the owner; the sender becomes a manager.

    For the recipient. Its `id` comes from listTransfers.
    """
    half_done = transfers.accept_transfer(
        request.table,
        caller=request.caller,
        transfer_id=_transfer_id(request),
        idempotency_key=request.idempotency_key(),
    )
    if half_done is not None:
        transfers.announce_rewriting(request.service.queue, half_done)


def _user_id(request: CheckedRequest) -> str:
    """Return the user id in the path or in the query.

    Raises ValidationError for a user id that a path cannot carry.
    """
    if "userId" not in request.path:
        query: sharing_requests.OneMember = request.query
        return query.user_id
    user_id = request.path["userId"]
    if not _IN_PATH.fullmatch(user_id):
        message = "a path names members of the characters A-Za-z0-9_.@:+- only; name others by ?userId="
        raise ValidationError(message, field="userId")
    return user_id


def _possible(user_id: str) -> str:
    """Return the user id. Raises NotFoundError for a text that cannot be one."""
    if not is_user_id(user_id):
        raise NotFoundError("no such member")
    return user_id


def _transfer_id(request: CheckedRequest) -> str:
    """Return the transfer in the path. Raises NotFoundError for a text that cannot be an id."""
    transfer_id = request.path["transferId"]
    if not ids.is_uuid(transfer_id):
        raise NotFoundError(f"no transfer {brief(transfer_id)}")
    return transfer_id


def archive_conversation(request: CheckedRequest) -> None:
    """Archive the conversation's fork tree, for you alone.

    For every member. Your lists of conversations leave it out, unless they ask for it with
    `archived`. Nothing else changes, and nothing for other members.
    """
    archiving.archive_conversation(
        request.table, caller=request.caller, conversation_id=request.conversation_id, is_archived=True
    )


def unarchive_conversation(request: CheckedRequest) -> None:
    """Take the conversation's fork tree out of your archive.

    For every member.
    """
    archiving.archive_conversation(
        request.table, caller=request.caller, conversation_id=request.conversation_id, is_archived=False
    )


def pin_conversation(request: CheckedRequest) -> None:
    """Pin the conversation's fork tree, for you alone, or move the pin among yours.

    For every member. It comes first, or after the pinned tree of `afterConversationId`. Lists of
    conversations show `pinned`, and with `pinned=true` only your pins, in this order.
    """
    query: sharing_requests.PinConversation = request.query
    pinning.pin_conversation(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        after_id=query.after_conversation_id,
    )


def unpin_conversation(request: CheckedRequest) -> None:
    """Unpin the conversation's fork tree.

    For every member.
    """
    pinning.unpin_conversation(request.table, caller=request.caller, conversation_id=request.conversation_id)


_PIN = "/v1/conversations/{conversationId}/pin"
_ARCHIVE = "/v1/conversations/{conversationId}/archive"
_LINKS = "/v1/conversations/{conversationId}/links"
_MEMBERSHIPS = "/v1/conversations/{conversationId}/memberships"
_TRANSFERS = "/v1/ownership-transfers"
_TRANSFER = f"{_TRANSFERS}/{{transferId}}"

OPERATIONS = (
    Operation(
        "listMemberships",
        "GET",
        _MEMBERSHIPS,
        list_memberships,
        query=sharing_requests.ListMembers,
        errors=(403, 404),
    ),
    Operation(
        "shareConversation",
        "POST",
        _MEMBERSHIPS,
        share_conversation,
        status=201,
        body=sharing_requests.ShareConversation,
        errors=(403, 404, 409),
        own_errors=(MemberLimitError,),
    ),
    Operation(
        "updateMembership",
        "PATCH",
        _MEMBERSHIPS,
        update_membership,
        query=sharing_requests.OneMember,
        body=sharing_requests.UpdateMembership,
        also=(202,),
        errors=(403, 404),
    ),
    Operation(
        "removeMembership",
        "DELETE",
        _MEMBERSHIPS,
        remove_membership,
        also=(202,),
        query=sharing_requests.OneMember,
        errors=(403, 404),
    ),
    Operation(
        "archiveConversation",
        "PUT",
        _ARCHIVE,
        archive_conversation,
        status=204,
        errors=(403, 404),
    ),
    Operation(
        "unarchiveConversation",
        "DELETE",
        _ARCHIVE,
        unarchive_conversation,
        status=204,
        errors=(403, 404),
    ),
    Operation(
        "createLink",
        "POST",
        _LINKS,
        create_link,
        status=201,
        body=sharing_requests.CreateLink,
        errors=(403, 404, 409),
    ),
    Operation(
        "listLinks",
        "GET",
        _LINKS,
        list_links,
        query=sharing_requests.ListMembers,
        errors=(403, 404),
    ),
    Operation(
        "deleteLink",
        "DELETE",
        f"{_LINKS}/{{linkId}}",
        delete_link,
        status=204,
        errors=(403, 404),
    ),
    Operation(
        "pinConversation",
        "PUT",
        _PIN,
        pin_conversation,
        status=204,
        query=sharing_requests.PinConversation,
        errors=(403, 404, 409),
        own_errors=(PinLimitError,),
    ),
    Operation("unpinConversation", "DELETE", _PIN, unpin_conversation, status=204, errors=(403, 404)),
    Operation(
        "requestTransfer",
        "POST",
        _TRANSFERS,
        request_transfer,
        status=201,
        body=sharing_requests.RequestTransfer,
        errors=(403, 404, 409),
        own_errors=(BadRequestError, TransferPendingError),
    ),
    Operation(
        "listTransfers",
        "GET",
        _TRANSFERS,
        list_transfers,
        query=sharing_requests.ListTransfers,
    ),
    Operation("getTransfer", "GET", _TRANSFER, get_transfer, errors=(404,)),
    Operation("deleteTransfer", "DELETE", _TRANSFER, delete_transfer, status=204, errors=(403, 404)),
    Operation(
        "acceptTransfer",
        "POST",
        f"{_TRANSFER}/accept",
        accept_transfer,
        status=204,
        body=requests.NoFields,
        errors=(403, 404),
    ),
)

BY_PATH = tuple(
    operation._replace(
        name=f"{operation.name}ByPath",
        path=f"{operation.path}/{{userId}}",
        query=sharing_requests.MemberInPath,
        description="As with `userId` in the query, for user ids that a path can name.",
    )
    for operation in OPERATIONS
    if operation.query is sharing_requests.OneMember
)
"""Second routes of operations on one member. The member is in the path instead of the query."""
