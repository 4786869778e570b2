"""The actions that hand a tree over to another owner (item XFER, and those it changes)."""

from collections.abc import Sequence

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import JobKind, Transfer
from forklore_service.domain.tree import Group
from forklore_service.storage import items
from forklore_service.storage.actions import action, conversation, group, job, member
from forklore_service.storage.actions.action import IS_NEW, Action, ActionKind
from forklore_service.storage.items import text


def put(transfer: Transfer, *, nonce: str) -> list[Action]:
    """Put a pending transfer, unless the tree has one."""
    only, *others = items.transfer_items(transfer, nonce=nonce)
    return [
        action.put_new(ActionKind.TRANSFER, only),
        *(action.put(ActionKind.TRANSFER, item, of=str(at)) for at, item in enumerate(others)),
    ]


def delete(transfer: Transfer) -> list[Action]:
    """Delete a pending transfer, if it is still the tree's."""
    only, *others = keys.transfer_keys(transfer)
    return [
        action.delete(
            ActionKind.TRANSFER, only, condition="#id = :id", values={":id": text(transfer.transfer_id)}
        ),
        *(action.delete(ActionKind.TRANSFER, key, of=str(at)) for at, key in enumerate(others)),
    ]


def check_none_to(group_id: str, user_id: str) -> Action:
    """Check that no pending transfer offers the tree to the user."""
    return action.check(
        ActionKind.TRANSFER,
        keys.transfer_of_group(group_id),
        f"{IS_NEW} OR #to <> :user",
        values={":user": text(user_id)},
    )


def end_offer_to(user_id: str, group_id: str, pending: Transfer | None) -> list[Action]:
    """End the tree's pending transfer if it is to the user, or check that there is none to them."""
    if pending is not None and pending.to_user_id == user_id:
        return delete(pending)
    return [check_none_to(group_id, user_id)]


def accept(transfer: Transfer, of: Group, *, nonce: str, at: str, by_meaning: bool) -> list[Action]:
    """Make the recipient the owner and the sender a manager. HEADs are rewritten afterwards.

    The actions check the transfer, the shelf and that the tree is live, and no more. While a
    transfer is pending, the sender is the owner and both are members. No rewriting went on when the
    caller read GROUP, after the transfer, and only this acceptance can begin one. of: the tree;
    what of it never changes names the rows of the members' lists. It is on no shelf still, if it
    was on none. at: the time now. by_meaning: whether trees are put on shelves.
    """
    group_id = transfer.group_id
    from_user_id, to_user_id = transfer.from_user_id, transfer.to_user_id
    return [
        *delete(transfer),
        group.change_owner(
            of, to_user_id=to_user_id, from_user_id=from_user_id, nonce=nonce, by_meaning=by_meaning
        ),
        *member.set_level(of, from_user_id, AccessLevel.MANAGER),
        *member.set_level(of, to_user_id, AccessLevel.OWNER, shelf=of.shelf),
        job.put(JobKind.TRANSFER, group_id, at=at),
    ]


def rewrite_heads(of: Group, conversation_ids: Sequence[str]) -> list[Action]:
    """Give HEADs the tree's owner, if they name the previous one and this rewriting still goes on.

    Without the second condition, a worker that was held up could write into a later transfer
    between the same two users.
    """
    return [
        group.check_rewriting(of),
        *conversation.change_owner(of.group_id, conversation_ids, was=of.rewriting or "", owner=of.owner),
    ]


def end_rewriting(of: Group) -> list[Action]:
    """Note that no HEAD names the owner before any more, and delete the job."""
    return [group.end_rewriting(of), job.delete(JobKind.TRANSFER, of.group_id)]


def forget_rewriting(group_id: str) -> list[Action]:
    """Delete the job of a tree whose HEADs all name its owner, or that is gone."""
    return [group.check_not_rewriting(group_id), job.delete(JobKind.TRANSFER, group_id)]
