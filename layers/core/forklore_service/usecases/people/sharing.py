"""Who may use a fork tree: share it, change and remove memberships, list them."""

from collections.abc import Iterator
from typing import NamedTuple

from forklore_service.domain import access, ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller, Transfer
from forklore_service.domain.tree import Group, Member, MemberChange
from forklore_service.errors import (
    ConflictError,
    MemberLimitError,
    NotFoundError,
    UnavailableError,
    ValidationError,
)
from forklore_service.storage import actions
from forklore_service.storage.actions import Action, ActionKind
from forklore_service.storage.actions.group import MEMBERS_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.people.spreading import (
    Spread,
    change_in_tree,
    finish_spreading,
    note_spreading,
    spread,
)
from forklore_service.usecases.people.transfers import finish_rewriting
from forklore_service.usecases.shared import cursors
from forklore_service.usecases.shared.cursors import InvalidCursor, PageOf
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import (
    LoadedConversation,
    TreeExtras,
    load_conversation,
    look_up,
)
from forklore_service.usecases.shared.optimistic import CHANGE, attempts

_BUSY = "the members keep changing; try again"


class Membership(NamedTuple):
    """A membership as it is shown for one conversation of the tree."""

    conversation_id: str
    member: Member


def list_memberships(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    after: tuple[str, str] | InvalidCursor | None,
    limit: int,
) -> PageOf[Membership, tuple[str, str]]:
    """Return a page of the members, oldest first.

    after: the `resume` of the page before: (createdAt, user id).
    Raises NotFoundError, ForbiddenError if the caller is not a member, and then InvalidCursorError
    for an invalid `after`.
    """
    loaded = load_conversation(table, conversation_id, caller=caller)
    place = cursors.valid(after)
    members = sorted(
        ((member.created_at, member.user_id), member) for member in table.read.members(loaded.group.group_id)
    )
    left = [(at, member) for at, member in members if place is None or at > place]
    page = [Membership(conversation_id, member) for _, member in left[:limit]]
    return PageOf(page, left[limit - 1][0] if len(left) > limit else None)


def share_conversation(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    user_id: str,
    level: AccessLevel,
    includes_children: bool = False,
    idempotency_key: IdempotencyKey | None = None,
) -> tuple[Membership, Spread]:
    """Make a user a member of the conversation's tree.

    includes_children: let the user into what was started from it, too, where the caller may. The
    user may be a member of that level already.
    Return how far it has spread, too. Raises NotFoundError, ForbiddenError unless the caller may
    give that level, ConflictError for a member, MemberLimitError, IdempotentReplay for a replay.
    """
    nonce, once = table.nonce(), Once(table, caller, idempotency_key)
    for tree in _attempts(once, conversation_id, user_id, level):
        group = tree.loaded.group
        access.require_grant(tree.level, level)
        is_member = tree.target is not None and tree.target.level is level and includes_children
        if tree.target is not None and not is_member:
            raise ConflictError("already a member; PATCH changes the level", reason="already_member")
        if tree.target is None and group.members >= MEMBERS_MAX:
            raise MemberLimitError(f"a fork tree has at most {MEMBERS_MAX} members")
        member = tree.target or Member(user_id, level, _time_of_sharing(table, group))
        was, by = level if tree.target else None, caller.user_id if includes_children else None
        change = MemberChange(user_id, was, level, nonce, by)
        made = Membership(conversation_id, member)
        refused = table.try_commit(
            [
                *once.record(group.group_id, conversation_id, made),
                *_allowed(tree, caller, change, spreads=includes_children),
                *(change_in_tree(group, member, None, level) if tree.target else []),
                *([] if tree.target else actions.member.add(group, member, nonce=nonce)),
                *(note_spreading(table, group) if includes_children else []),
            ]
        )
        if refused is None or refused.has_nonce(ActionKind.CHANGED_MEMBER, nonce):
            spreads = includes_children and group.children
            return made, spread(table, group.group_id) if spreads else Spread()
        once.raise_if_recorded(refused)
    raise UnavailableError(_BUSY)


def update_membership(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    user_id: str,
    level: AccessLevel,
    keep_children: bool = False,
) -> tuple[Membership, Spread]:
    """Change a member's level. A lower one is for the children, too, unless `keep_children`.

    Return how far it has spread, too. Raises NotFoundError if there is no such member,
    ForbiddenError unless the caller may take the old level and give the new one, ValidationError
    for the owner's own membership.
    """
    for tree in _attempts(Once(table, caller, None), conversation_id, user_id, level):
        access.require(tree.level, AccessLevel.MANAGER)
        member = tree.require_target()
        access.require_grant(tree.level, member.level, level)
        is_repeated = tree.earlier is not None and member.level is level
        done = (
            tree.earlier
            if is_repeated
            else _change(table, tree, caller, member, level, keep_children=keep_children)
        )
        if done is not None:
            return Membership(conversation_id, Member(user_id, level, member.created_at)), done
    raise UnavailableError(_BUSY)


def remove_membership(
    table: Table, *, caller: Caller, conversation_id: str, user_id: str, keep_children: bool = False
) -> Spread:
    """End a membership, and a pending transfer to that member. Every member may end their own.

    Both is for the children, too, unless `keep_children`. Return how far it has spread. If an
    earlier removal has not reached all children yet, this one goes on.
    Raises NotFoundError if there is no such member, ForbiddenError unless the caller may take the
    member's level, ValidationError for the owner's own membership.
    """
    is_own = caller.user_id == user_id
    for tree in _attempts(Once(table, caller, None), conversation_id, user_id, None):
        if not is_own:
            access.require(tree.level, AccessLevel.MANAGER)
        if tree.target is None and tree.earlier is not None:
            return tree.earlier
        member = tree.require_target()
        if not is_own:
            access.require_grant(tree.level, member.level)
        done = _change(table, tree, caller, member, None, keep_children=keep_children)
        if done is not None:
            return done
    raise UnavailableError(_BUSY)


def _change(
    table: Table,
    tree: "_Tree",
    caller: Caller,
    member: Member,
    level: AccessLevel | None,
    *,
    keep_children: bool,
) -> Spread | None:
    """Change or remove a member, and return how far that has spread. None: decide again."""
    group, change = tree.loaded.group, MemberChange(member.user_id, member.level, level, table.nonce())
    spreads = change.takes_away and not keep_children
    refused = table.try_commit(
        [
            *_allowed(tree, caller, change, spreads=spreads),
            *change_in_tree(group, member, tree.transfer, level),
            *(note_spreading(table, group) if spreads else []),
        ]
    )
    if refused is not None:
        return None
    return spread(table, group.group_id) if spreads and group.children else Spread()


def _time_of_sharing(table: Table, group: Group) -> str:
    """Return the time now. It is not that of a child's creation, which its copied members have."""
    at = table.now_ms()
    return ids.timestamp(at + (group.is_child and ids.timestamp(at) == group.created_at))


class _Tree(NamedTuple):
    """What a change of members is decided on.

    target: the member it is about. transfer: the tree's pending one. earlier: how far this request
    has carried an earlier one for the same, whose answer may be lost; None: there was none.
    """

    loaded: LoadedConversation
    level: AccessLevel
    target: Member | None
    transfer: Transfer | None
    earlier: Spread | None = None

    def require_target(self) -> Member:
        """Return the member who is changed. Raises NotFoundError, ValidationError for the owner."""
        if self.target is None:
            raise NotFoundError("no such member")
        if self.target.level is AccessLevel.OWNER:
            raise ValidationError("the owner's membership changes by a transfer only", field="userId")
        return self.target


def _attempts(once: Once, conversation_id: str, user_id: str, level: AccessLevel | None) -> Iterator[_Tree]:
    """Yield what a change of the member to that level is decided on, read anew for each attempt.

    level: None for a removal.
    """
    table, earlier = once.table, None
    for _ in attempts(table, CHANGE):
        tree = _read_tree(once, conversation_id, user_id)
        group = tree.loaded.group
        if group.rewriting == user_id:
            # The user was the previous owner, and some HEADs still name that user, who may append
            # by them. Rewrite them first, so that this right ends with the change.
            finish_rewriting(table, group.group_id)
            continue
        if (pending := group.member_change) is not None and group.spreading is not None:
            if (pending.user_id, pending.level) != (user_id, level):
                finish_spreading(table, group.group_id)
                continue
            earlier = spread(table, group.group_id)
            if not earlier.left:
                continue
        yield tree._replace(earlier=earlier)


def _read_tree(once: Once, conversation_id: str, user_id: str) -> _Tree:
    extras = TreeExtras(member=user_id, transfer=True)
    looked_up = look_up(once.table, conversation_id, caller=once.caller, extra_keys=once.keys, extras=extras)
    once.raise_if_answered(looked_up.found)
    loaded = looked_up.require(conversation_id, AccessLevel.READER)
    assert loaded.level is not None, "a member"
    group_id = loaded.group.group_id
    target = looked_up.found.member(group_id, user_id)
    return _Tree(loaded, loaded.level, target, looked_up.found.transfer_of_group(group_id))


def _allowed(tree: _Tree, caller: Caller, change: MemberChange, *, spreads: bool = False) -> list[Action]:
    """Return the actions that check the caller's level, count the members and note the change."""
    group_id, user_id = tree.loaded.group.group_id, caller.user_id
    is_owner = tree.level is AccessLevel.OWNER
    # The action that changes GROUP checks the owner. That on the membership checks its level.
    checks_itself = is_owner or user_id == change.user_id
    return [
        actions.group.change_members(
            tree.loaded.group, change, owner=user_id if is_owner else None, spreads=spreads
        ),
        *([] if checks_itself else [actions.member.check(group_id, user_id, AccessLevel.MANAGER)]),
    ]
