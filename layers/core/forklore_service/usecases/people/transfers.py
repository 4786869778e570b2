"""Hand a fork tree over: offer its ownership, cancel, decline, accept.

The tree has one owner at every instant: the one that GROUP names. One transaction changes GROUP and
both memberships. The HEADs name the owner for appends, and are rewritten afterwards. Until then the
previous owner may append by them, as the manager that this user now is. A request that takes that
level away rewrites the HEADs first.
"""

import contextlib
from enum import StrEnum
from itertools import islice

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import Caller, JobKind, Transfer
from forklore_service.domain.tree import Group
from forklore_service.errors import (
    BadRequestError,
    ForbiddenError,
    NotFoundError,
    TransferPendingError,
    UnavailableError,
    brief,
)
from forklore_service.storage import actions
from forklore_service.storage.actions import ActionKind, ConditionFailed
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.closing_trees import in_batches
from forklore_service.usecases.deletion.counted_items import all_heads
from forklore_service.usecases.people.spreading import finish_spreading
from forklore_service.usecases.shared.cursors import PageOf
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import TreeExtras, load_conversation, look_up
from forklore_service.usecases.shared.optimistic import CHANGE, attempts

ROWS_MAX = 1_000
"""Transfers read for one page. At the bound the page is short, and has a cursor."""
LINKS_AT_ONCE = 90
"""Links removed in one transaction. DynamoDB allows 100 actions."""
HEADS_AT_ONCE = 25
"""HEADs rewritten in one transaction. An append to one of them delays only these."""


class Role(StrEnum):
    """Which side of a transfer the caller is on."""

    SENDER = "sender"
    RECIPIENT = "recipient"
    ALL = "all"

    def includes(self, transfer: Transfer, user_id: str) -> bool:
        parties = {Role.SENDER: transfer.from_user_id, Role.RECIPIENT: transfer.to_user_id}
        return self is Role.ALL or parties[self] == user_id


def request_transfer(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    new_owner: str,
    idempotency_key: IdempotencyKey | None = None,
) -> Transfer:
    """Offer the ownership of the conversation's tree to a member.

    Raises NotFoundError, ForbiddenError unless the caller is the owner, BadRequestError to oneself
    or to a non-member, TransferPendingError, IdempotentReplay for a replay.
    """
    nonce, once = table.nonce(), Once(table, caller, idempotency_key)
    for _ in attempts(table, CHANGE):
        looked_up = look_up(
            table,
            conversation_id,
            caller=caller,
            extra_keys=once.keys,
            extras=TreeExtras(member=new_owner, transfer=True),
        )
        once.raise_if_answered(looked_up.found)
        group_id = looked_up.require(conversation_id, AccessLevel.OWNER).group.group_id
        if new_owner == caller.user_id:
            raise BadRequestError("you are the owner", field="newOwnerUserId")
        if looked_up.found.member(group_id, new_owner) is None:
            # The read may be torn: the membership goes with the tree, and then this is 404.
            load_conversation(table, conversation_id, caller=caller, minimum=AccessLevel.OWNER)
            raise BadRequestError("the new owner must be a member", field="newOwnerUserId")
        pending = looked_up.found.transfer_of_group(group_id)
        if pending is not None:
            raise TransferPendingError(
                "a transfer is pending already", existingTransferId=pending.transfer_id
            )
        transfer_id = EntryId(table.mint_conversation())
        transfer = Transfer(
            transfer_id, group_id, conversation_id, caller.user_id, new_owner, ids.created_at(transfer_id)
        )
        writes = [
            *once.record(group_id, conversation_id, transfer),
            *actions.transfer.put(transfer, nonce=nonce),
            actions.group.check_owner(group_id, caller.user_id),
            actions.member.check(group_id, new_owner, AccessLevel.READER),
        ]
        refused = table.try_commit(writes)
        if refused is None:
            return transfer
        mine = refused.transfer()
        if mine is not None and refused.has_nonce(ActionKind.TRANSFER, nonce):
            return mine
        once.raise_if_recorded(refused)
    raise UnavailableError("the conversation is busy; try again")


def list_transfers(
    table: Table, *, caller: Caller, role: Role, after: ListKey | None, limit: int
) -> PageOf[Transfer, ListKey]:
    """Return a page of the pending transfers in which the caller has the role, oldest first."""
    page: list[Transfer] = []
    looked = 0
    rows = table.read.transfers(caller.user_id, after=after, page=limit + 1)
    while transfers := list(islice(rows, limit + 1)):
        wanted = [transfer for transfer in transfers if role.includes(transfer, caller.user_id)]
        groups = table.get(keys.group(transfer.group_id) for transfer in wanted)
        for transfer in wanted:
            group = groups.group(transfer.group_id)
            if group is None or not group.is_live:
                continue
            if len(page) == limit:
                return PageOf(page, _place(page[-1]))
            page.append(transfer)
        looked += len(transfers)
        if looked >= ROWS_MAX:
            return PageOf(page, _place(transfers[-1]))
    return PageOf(page, None)


def _place(transfer: Transfer) -> ListKey:
    return ListKey(transfer.created_at, transfer.transfer_id)


def get_transfer(table: Table, *, caller: Caller, transfer_id: str) -> Transfer:
    """Return a pending transfer. Raises NotFoundError unless the caller is a party to it."""
    transfer, _ = _open(table, transfer_id)
    if caller.user_id not in (transfer.from_user_id, transfer.to_user_id):
        raise NotFoundError(f"no transfer {brief(transfer_id)}")
    return transfer


def _open(table: Table, transfer_id: str) -> tuple[Transfer, Group]:
    """Return a pending transfer and its live tree, which is read second."""
    transfer = table.get([keys.transfer_by_id(transfer_id)]).transfer(transfer_id)
    if transfer is not None:
        group = _group(table, transfer.group_id)
        if group is not None and group.is_live:
            return transfer, group
    raise NotFoundError(f"no transfer {brief(transfer_id)}")


def _group(table: Table, group_id: str) -> Group | None:
    return table.get([keys.group(group_id)]).group(group_id)


def delete_transfer(table: Table, *, caller: Caller, transfer_id: str) -> None:
    """Cancel a transfer as its sender, or decline it as its recipient.

    Raises NotFoundError, ForbiddenError for others.
    """
    transfer, _ = _open(table, transfer_id)
    if caller.user_id not in (transfer.from_user_id, transfer.to_user_id):
        raise ForbiddenError("only the sender and the recipient may end a transfer")
    try:
        table.commit(actions.transfer.delete(transfer))
    except ConditionFailed as refused:
        # It is gone: this request's earlier attempt or the other party ended it, or it was
        # accepted.
        group = _group(table, transfer.group_id)
        if group is None or group.owner != transfer.from_user_id:
            raise NotFoundError(f"no transfer {brief(transfer_id)}") from refused


def accept_transfer(
    table: Table, *, caller: Caller, transfer_id: str, idempotency_key: IdempotencyKey | None = None
) -> str | None:
    """Become the owner of the tree; the sender becomes a manager.

    Return the tree's id if some HEADs do not name the new owner yet, so that the worker must go on;
    else None.
    Raises NotFoundError, ForbiddenError unless the caller is the recipient, IdempotentReplay for a
    replay.
    """
    nonce, once = table.nonce(), Once(table, caller, idempotency_key)
    for _ in attempts(table, CHANGE):
        try:
            transfer, group = _open(table, transfer_id)
        except NotFoundError:
            # The acceptance and its record are one transaction. An earlier attempt of this request
            # may have written it.
            once.raise_if_answered(table.get(once.keys))
            raise
        if caller.user_id != transfer.to_user_id:
            raise ForbiddenError("only the recipient may accept a transfer")
        if group.rewriting is not None:
            finish_rewriting(table, group.group_id)
            continue
        if group.spreading is not None:
            finish_spreading(table, group.group_id)
            continue
        record = once.record(transfer.group_id, transfer.conversation_id, transfer)
        at = ids.timestamp(table.now_s() * 1000)
        accepted = actions.transfer.accept(transfer, group, nonce=nonce, at=at, by_meaning=table.by_meaning)
        refused = table.try_commit([*record, *accepted])
        if refused is not None:
            now = _group(table, transfer.group_id)
            if now is None or now.nonce != nonce:  # no earlier attempt of this request has accepted it
                once.raise_if_recorded(refused)
                continue
        try:
            finish_rewriting(table, transfer.group_id)
        except UnavailableError:
            return transfer.group_id
        return None
    raise UnavailableError("the conversation is busy; try again")


def finish_rewriting(table: Table, group_id: str) -> None:
    """Give every HEAD of the tree the owner that GROUP names. A no-op if no rewrite is pending.

    Raises UnavailableError when time runs out. What was rewritten stays so.
    """
    group = _group(table, group_id)
    if group is None or not group.is_kept or group.rewriting is None:
        # If a transfer was accepted just now, its job stays.
        with contextlib.suppress(ConditionFailed):
            table.commit(actions.transfer.forget_rewriting(group_id))
        return
    _end_links(table, group)
    behind = (head.conversation_id for head in all_heads(table, group) if head.owner == group.rewriting)
    with contextlib.suppress(ConditionFailed):  # another request has finished first
        while conversation_ids := list(islice(behind, HEADS_AT_ONCE)):
            _rewrite(table, group, conversation_ids)
        table.commit(actions.transfer.end_rewriting(group))


def _end_links(table: Table, group: Group) -> None:
    """Remove the links for readers that end with a transfer, as long as one goes on.

    Without the condition, a worker that was held up could remove one that was made after it.
    """
    links = table.read.links(group.group_id, now_s=table.now_s())
    for some in in_batches((link.link_id for link in links if not link.stays), LINKS_AT_ONCE):
        ended = [actions.link.delete(group.group_id, link_id) for link_id in some]
        table.try_commit([actions.group.check_handed_on(group.group_id), *ended])


def announce_rewriting(queue: Queue, group_id: str) -> None:
    queue.announce([group_id], kind=JobKind.TRANSFER)


def _rewrite(table: Table, group: Group, conversation_ids: list[str]) -> None:
    """Give the conversations' HEADs the tree's owner.

    Raises ConditionFailed when this rewriting is over.
    """
    left = conversation_ids
    while left:
        try:
            table.commit(actions.transfer.rewrite_heads(group, left))
        except ConditionFailed as refused:
            if refused.has(ActionKind.GROUP):
                raise
            # The HEADs that refused name the owner already, or are gone.
            left = [one for one in left if not refused.has(ActionKind.HEAD, one)]
        else:
            return
