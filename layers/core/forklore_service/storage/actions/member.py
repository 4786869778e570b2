"""The actions about memberships and a member's list of trees (items MEM, USER_TREE).

A row of the list holds the level of the member, and whether the member has archived the tree, so
that a list needs no MEM. Whatever changes MEM changes the row in the same transaction.
"""

from forklore_service.domain import access, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Conversation
from forklore_service.domain.tree import Group, Member, TreeRow
from forklore_service.storage import items, schema
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import IS_THERE, Action, ActionKind, Values
from forklore_service.storage.items import text


def check(group_id: str, user_id: str, minimum: AccessLevel) -> Action:
    """Check that a member, who is not the owner, still has the level that the write needs."""
    levels = {f":{level}": text(level) for level in access.levels_from(minimum)}
    return action.check(
        ActionKind.MEMBER,
        keys.member(group_id, user_id),
        f"#level IN ({', '.join(levels)})",
        values=levels,
    )


def add(group: Group, member: Member, *, nonce: str) -> list[Action]:
    """Put a new member of a live tree, and the tree's row in their list, as one used since then."""
    item = items.member_item(group.group_id, member, nonce=nonce)
    row = items.user_tree_item(
        group.group_id,
        member.user_id,
        member.level,
        created_at=group.created_at,
        is_child=group.is_child,
        used_at=member.created_at if member.created_at > group.created_at else None,
    )
    return [
        action.put_new(ActionKind.CHANGED_MEMBER, item, of=member.user_id),
        action.put(ActionKind.USER_TREE, row, of=member.user_id),
    ]


def change_level(group: Group, member: Member, level: AccessLevel) -> list[Action]:
    """Change the level of a member who is as read, and in the tree's row in their list."""
    user_id = member.user_id
    return [
        action.update(
            ActionKind.CHANGED_MEMBER,
            keys.member(group.group_id, user_id),
            "SET #level = :level",
            of=user_id,
            condition=_IS_AS_READ,
            values={":level": text(level), **_as_read(member)},
        ),
        _change_row(group, user_id, "SET #level = :level", {":level": text(level)}),
    ]


def set_level(group: Group, user_id: str, level: AccessLevel, *, shelf: str | None = None) -> list[Action]:
    """Change a member's level, whatever it is, and in the tree's row in their list.

    Another action checks that they are a member. shelf: what the row notes, too, because the tree
    may lie on another one than their own.
    """
    change, values = "SET #level = :level", {":level": text(level)}
    noted = {} if shelf is None else {":shelf": text(shelf)}
    row_change = change if shelf is None else f"{change}, #shelf = :shelf"
    return [
        action.update(
            ActionKind.CHANGED_MEMBER,
            keys.member(group.group_id, user_id),
            change,
            of=user_id,
            values=values,
        ),
        _change_row(group, user_id, row_change, {**values, **noted}),
    ]


def archive(group: Group, user_id: str, *, is_archived: bool) -> list[Action]:
    """Note that a member has archived the tree, or does not have it archived any more.

    Whoever has the row is a member: the row is removed before MEM, or together with it.
    """
    change, values = (
        ("SET #archived = :yes", {":yes": {"BOOL": True}}) if is_archived else ("REMOVE #archived", {})
    )
    return [
        action.update(
            ActionKind.CHANGED_MEMBER,
            keys.member(group.group_id, user_id),
            change,
            of=user_id,
            values=values,
        ),
        _change_row(group, user_id, change, values, condition=IS_THERE),
    ]


def remove(group: Group, member: Member) -> list[Action]:
    """Remove a member who is as they were read, and the tree's row in their list."""
    user_id = member.user_id
    row = keys.user_tree(user_id, group.created_at, group.group_id, is_child=group.is_child)
    return [
        action.delete(
            ActionKind.CHANGED_MEMBER,
            keys.member(group.group_id, user_id),
            of=user_id,
            condition=_IS_AS_READ,
            values=_as_read(member),
        ),
        action.delete(ActionKind.USER_TREE, row, of=user_id),
    ]


_IS_AS_READ = "#level = :was AND #createdAt = :since"
"""The member has the level that was read, and was not removed and added again since then."""


def _as_read(member: Member) -> Values:
    return {":was": text(member.level), ":since": text(member.created_at)}


def _change_row(
    group: Group, user_id: str, change: str, values: Values, *, condition: str | None = None
) -> Action:
    """Change the tree's row in a member's list as MEM is changed."""
    row = keys.user_tree(user_id, group.created_at, group.group_id, is_child=group.is_child)
    return action.update(ActionKind.USER_TREE, row, change, of=user_id, condition=condition, values=values)


def move_row(group: Group, user_id: str, row: TreeRow, *, at: str) -> Action:
    """Move a row, which is as it was read, to the top of a list by use, if it is still there.

    A row that another process has moved as far, or farther, stays as it is.
    """
    moved, place = row.moved(at), f"#{schema.ENTRY_SORT_KEY}"
    return action.update(
        ActionKind.USER_TREE,
        keys.user_tree(user_id, group.created_at, group.group_id, is_child=group.is_child),
        f"SET {place} = :place, #moves = :moves",
        of=user_id,
        condition=f"{IS_THERE} AND (attribute_not_exists({place}) OR {place} < :place)",
        values={
            ":place": text(keys.used_user_tree(moved.used, is_child=group.is_child)),
            ":moves": items.moves(moved),
        },
    )


def copy(root: Conversation, member: Member) -> list[Action]:
    """Put a member of another tree into one that is being made, and the row in their list."""
    copied, is_child = Member(member.user_id, member.level, root.created_at), root.started_by is not None
    row = items.user_tree_item(
        root.group_id, member.user_id, member.level, created_at=root.created_at, is_child=is_child
    )
    item = items.member_item(root.group_id, copied)
    return [
        action.put(ActionKind.CHANGED_MEMBER, item, of=member.user_id),
        action.put(ActionKind.USER_TREE, row, of=member.user_id),
    ]


def drop(root: Conversation, member: Member) -> list[Action]:
    """Remove a member from a tree that is being made, and the tree's row from their list."""
    user_id, is_child = member.user_id, root.started_by is not None
    row = keys.user_tree(user_id, root.created_at, root.group_id, is_child=is_child)
    return [
        action.delete(ActionKind.CHANGED_MEMBER, keys.member(root.group_id, user_id), of=user_id),
        action.delete(ActionKind.USER_TREE, row, of=user_id),
    ]
