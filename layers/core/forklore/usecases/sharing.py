"""Who may use a fork tree: share it, change and remove memberships, list them (contract, section 7)."""

from dataclasses import dataclass

from forklore.domain import keys
from forklore.domain.model import Caller
from forklore.storage import items
from forklore.storage.items import Member
from forklore.storage.table import Table
from forklore.usecases.opening import open_conversation

ATTEMPTS_MAX = 16
"""Times that a change is decided again when members change under it."""


@dataclass(frozen=True, slots=True)
class Membership:
    """A membership as it is shown for one conversation of the tree."""

    conversation_id: str
    member: Member


@dataclass(frozen=True, slots=True)
class MembershipPage:
    """Memberships, oldest first. resume: the place to go on after: (createdAt, user id); None at the end."""

    memberships: list[Membership]
    resume: tuple[str, str] | None


def list_memberships(
    table: Table, *, caller: Caller, conversation_id: str, after: tuple[str, str] | None, limit: int
) -> MembershipPage:
    """Return a page of the members. Raises NotFoundError, ForbiddenError if the caller is not one."""
    opened = open_conversation(table, conversation_id, caller=caller)
    members = sorted(
        ((member.created_at, member.user_id), member)
        for member in map(items.member, table.query(keys.members_range(opened.group.group_id)))
    )
    left = [(place, member) for place, member in members if after is None or place > after]
    page = [Membership(conversation_id, member) for _, member in left[:limit]]
    return MembershipPage(page, left[limit - 1][0] if len(left) > limit else None)
