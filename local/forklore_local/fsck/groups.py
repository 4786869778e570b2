"""A tree's own item: its state, owner, members, counts, and its place in the list of all trees."""

from collections.abc import Iterator

from forklore_local.fsck.facts import Tree, is_time
from forklore_local.fsck.finding import Finding
from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.tree import Group, State


def check(tree: Tree) -> Iterator[Finding]:
    """Yield where GROUP does not agree with the rest of the tree."""
    group = tree.group
    assert group is not None

    def wrong(kind: str, detail: str, invariant: int | None = None) -> Finding:
        return Finding(keys.group(tree.group_id), kind, detail, invariant, tree.group_id)

    if not _is_state(group):
        yield wrong("wrong_state", f"{group.state}, with attributes of another state")
    if tree.listing != _listing(tree, group):
        yield wrong("wrong_g1", "its place in the list of all trees, or of the trash, is wrong")
    if tree.keeps_members:
        owners = [member.user_id for member in tree.members.values() if member.level is AccessLevel.OWNER]
        if owners != [group.owner]:
            yield wrong("wrong_owner", f"{len(owners)} members are owners, or GROUP names another user", 9)
        if len(tree.members) != group.members:
            yield wrong("wrong_members", f"{group.members}, but there are {len(tree.members)}", 9)
        if group.rewriting is not None and group.rewriting not in tree.members:
            yield wrong("wrong_rewriting", "the former owner is not a member", 9)
        if group.spreading not in (None, group.member_change and group.member_change.nonce):
            yield wrong("wrong_spreading", "it is not the last change of members that spreads", 9)
    if tree.keeps_rest:
        root = tree.conversations.get(tree.group_id)
        has_root = root is not None or tree.was_removed(tree.group_id)
        if not has_root:
            key = keys.conversation(tree.group_id, tree.group_id)
            yield Finding(key, "missing_conv", "the tree has no root", 1, tree.group_id)
        elif root is not None and root.created_at != group.created_at:
            yield wrong("wrong_created_at", "the root was created at another time")
        if has_root and group.current not in tree.conversations:
            yield wrong("wrong_current", f"{group.current} is not live", 17)
        head = tree.heads.get(group.current)
        if head is not None and head.last < (group.promoted_by or head.last):
            yield wrong("wrong_current", "its HEAD lacks the append that promoted it", 17)
        if has_root and group.conversations != len(tree.conversations):
            yield wrong(
                "wrong_conversations", f"{group.conversations}, but there are {len(tree.conversations)}", 18
            )
        trashed = sum(map(tree.is_in_trash, tree.remnants))
        if tree.is_kept and group.trashed_branches != trashed:
            detail = f"{group.trashed_branches}, but there are {trashed}"
            yield wrong("wrong_trashed_branches", detail, 23)


def _listing(tree: Tree, group: Group) -> tuple[str | None, str | None]:
    if group.state in (State.TRASHED, State.RESTORING) and not group.cascaded:
        return keys.trashed_tree(tree.group_id, group.trashed_at or "")
    if group.state in (State.LIVE, State.CREATING):
        return keys.all_trees(tree.group_id, group.created_at)
    return None, None


def _is_state(group: Group) -> bool:
    if group.restored_at is not None and not is_time(group.restored_at):
        return False
    match group.state:
        case State.DELETING:
            return group.deleted_at is not None and is_time(group.deleted_at)
        case State.TRASHED | State.RESTORING:
            is_there = group.trashed_at is not None and is_time(group.trashed_at)
            return is_there and group.deleted_at is None and not group.never_live
        case State.CREATING:
            is_made = group.nonce is not None and group.rewriting is None
            return is_made and group.deleted_at is None and not group.never_live
        case _:
            is_there = group.trashed_at is None and not group.cascaded
            return is_there and group.deleted_at is None and not group.never_live
