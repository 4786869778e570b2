"""The actions about a fork tree as a whole (item GROUP), and the actions that make a tree."""

from collections.abc import Sequence

from forklore_service.domain import ancestry, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Conversation, Head, JobKind, StartedBy
from forklore_service.domain.tree import KEPT, Group, Member, MemberChange, State
from forklore_service.storage import items, schema
from forklore_service.storage.actions import action, job, remnant
from forklore_service.storage.actions import conversation as conversation_actions
from forklore_service.storage.actions import member as member_parts
from forklore_service.storage.actions.action import IS_NEW, IS_THERE, Action, ActionKind, Values
from forklore_service.storage.items import number, text

_KEPT: Values = {f":{state.name.lower()}": text(state) for state in KEPT}
_IS_KEPT = f"#state IN ({', '.join(_KEPT)})"
"""The tree is live, or in the trash, or on its way back."""
MEMBERS_MAX = 500
CONVERSATIONS_MAX = 10_000
"""A tree has at most so many conversations, so that reading all of them ends in time."""


# Making a tree


def put_root(root: Conversation, head: Head, *, nonce: str, now_s: int) -> list[Action]:
    """Put a tree of one conversation with its owner."""
    owner = Member(head.owner, AccessLevel.OWNER, root.created_at)
    return put_tree(root, head, [owner], nonce=nonce, now_s=now_s)


def put_tree(
    root: Conversation,
    head: Head,
    members: Sequence[Member],
    *,
    nonce: str,
    now_s: int,
    child_key: Key | None = None,
) -> list[Action]:
    """Put a tree of one conversation with its members.

    child_key: the place of a started child in its parent's list.
    """
    group = Group(root.group_id, head.owner, root.created_at, members=len(members), child_key=child_key)
    return [
        conversation_actions.claim_id(root, nonce=nonce, now_s=now_s),
        action.put_new(ActionKind.GROUP, items.group_item(group)),
        *conversation_actions.put(root, head),
        *(copied for member in members for copied in member_parts.copy(root, member)),
    ]


def put_child(child_key: Key, started_by: StartedBy) -> Action:
    """Put a started child's row into the list of its parent's."""
    return action.put(ActionKind.CHILD, items.child_item(child_key, started_by))


def put_forks(
    tree: Group,
    forks: Sequence[Conversation],
    head: Head,
    path: ancestry.Path,
    *,
    promoted: str | None,
    nonce: str,
    now_s: int,
) -> list[Action]:
    """Put equal forks into a live tree, with their path but without the entries that they show.

    promoted: the fork that becomes the tree's current branch.
    """
    return [
        *(conversation_actions.claim_id(fork, nonce=nonce, now_s=now_s) for fork in forks),
        count_forks(tree, len(forks), promoted=promoted, at=forks[0].created_at),
        *(one for fork in forks for one in conversation_actions.put(fork, head, path)),
    ]


def begin_tree(
    root: Conversation,
    *,
    owner: str,
    members: int,
    child_key: Key | None,
    conversations: int = 1,
    nonce: str,
    taken_from: Group | None,
    now_s: int,
) -> list[Action]:
    """Claim the id for a tree that nobody can see yet, and note the job of its creation.

    conversations: as far as they are counted; none before the end of a copy of a whole tree.
    taken_from: the tree as another request has begun it; None: nobody has begun it.
    """
    begun = Group(
        root.group_id,
        owner,
        root.created_at,
        State.CREATING,
        conversations=conversations,
        members=members,
        child_key=child_key,
        nonce=nonce,
    )
    group = items.group_item(begun)
    if taken_from is None:
        claim = [
            conversation_actions.claim_id(root, nonce=nonce, now_s=now_s),
            action.put_new(ActionKind.CREATING_GROUP, group),
        ]
    else:
        values = _creating(taken_from.nonce)
        claim = [action.put(ActionKind.CREATING_GROUP, group, condition=_IS_CREATING, values=values)]
    return [*claim, job.put(JobKind.CREATION, root.group_id, at=root.created_at)]


def check_creating(group_id: str, *, nonce: str) -> Action:
    """Check that a tree is still being made, and by this request."""
    return action.check(
        ActionKind.CREATING_GROUP, keys.group(group_id), _IS_CREATING, values=_creating(nonce)
    )


def open_tree(root: Conversation, head: Head, *, members: int, nonce: str) -> list[Action]:
    """Make a tree live that this request is making, with its first conversation."""
    group = action.update(
        ActionKind.CREATING_GROUP,
        keys.group(root.group_id),
        "SET #state = :live, #owner = :owner, #members = :members",
        condition=_IS_CREATING,
        values={
            **_creating(nonce),
            ":live": text(State.LIVE),
            ":owner": text(head.owner),
            ":members": number(members),
        },
    )
    return [
        group,
        *conversation_actions.put(root, head),
        job.delete(JobKind.CREATION, root.group_id),
    ]


def open_copy(
    group_id: str, *, owner: str, conversations: int, promoted: str | None, forked_at: str, nonce: str
) -> list[Action]:
    """Make a tree live that this request is making as a copy of another.

    promoted: its current branch; None: the root, which was never left. forked_at: when its last
    branch was made.
    """
    current = {":current": text(promoted)} if promoted else {}
    return [
        action.update(
            ActionKind.CREATING_GROUP,
            keys.group(group_id),
            "SET #state = :live, #owner = :owner, #conversations = :count, #forkedAt = :forkedAt"
            + (", #current = :current" if promoted else ""),
            condition=_IS_CREATING,
            values={
                **_creating(nonce),
                **current,
                ":live": text(State.LIVE),
                ":owner": text(owner),
                ":count": number(conversations),
                ":forkedAt": text(forked_at),
            },
        ),
        job.delete(JobKind.CREATION, group_id),
    ]


_IS_CREATING = "#state = :creating AND #nonce = :nonce"


def _creating(nonce: str | None) -> Values:
    return {":creating": text(State.CREATING), ":nonce": text(nonce or "")}


# Checks


def check_owner(group_id: str, owner: str) -> Action:
    """Check that a tree is live and belongs to the user."""
    return action.check(
        ActionKind.GROUP,
        keys.group(group_id),
        "#state = :live AND #owner = :owner",
        values={":live": text(State.LIVE), ":owner": text(owner)},
    )


def check_absent(group_id: str) -> Action:
    """Check that there is no such tree."""
    return action.check(ActionKind.GROUP, keys.group(group_id), IS_NEW)


def check_not_creating(group_id: str) -> Action:
    """Check that there is no such tree, or that it is not being made."""
    return action.check(
        ActionKind.GROUP,
        keys.group(group_id),
        f"{IS_NEW} OR #state <> :but",
        values={":but": text(State.CREATING)},
    )


def check_deleting(group: Group) -> Action:
    """Check that a tree is still the one that was read, and still being deleted."""
    condition, values = _still_deleting(group)
    return action.check(ActionKind.GROUP, keys.group(group.group_id), condition, values=values)


# Counts


def rename_changed_member(group_id: str, was: MemberChange, now: MemberChange) -> Action:
    """Note the last change of members with another user id, if it is still the last one."""
    return action.update(
        ActionKind.GROUP,
        keys.group(group_id),
        "SET #memberChange = :now",
        condition="#memberChange = :was",
        values={":now": items.member_change_map(now), ":was": items.member_change_map(was)},
    )


def change_members(
    tree: Group,
    change: MemberChange,
    *,
    owner: str | None = None,
    spreads: bool = False,
    kept: bool = False,
) -> Action:
    """Count members of a live tree, note the change, and move the tree's version.

    The creation of a fork or a child checks that version. owner: if not None, the user who must
    still be the owner. The member is not changed while HEADs may still name them as their owner,
    and nobody is while an earlier change spreads.
    spreads: whether the change is for the children, too. A tree that had none when it was read must
    have none still. kept: whether the tree may also be in the trash.
    """
    by = (change.level is not None) - (change.was is not None)
    changes = "SET #memberChange = :change"
    is_there = _IS_KEPT if kept else "#state = :live"
    condition = f"{is_there} AND attribute_not_exists(#spreading)"
    condition += " AND (attribute_not_exists(#rewriting) OR #rewriting <> :target)"
    values: Values = {
        ":change": items.member_change_map(change),
        ":one": number(1),
        ":by": number(by),
        **(_KEPT if kept else {":live": text(State.LIVE)}),
        ":target": text(change.user_id),
    }
    if owner is not None:
        condition += " AND #owner = :owner"
        values = {**values, ":owner": text(owner)}
    if by > 0:
        condition += " AND #members < :most"
        values = {**values, ":most": number(MEMBERS_MAX)}
    if spreads and tree.children:
        changes += ", #spreading = :nonce"
        values = {**values, ":nonce": text(change.nonce)}
    elif spreads:
        condition += " AND #children = :none"
        values = {**values, ":none": number(0)}
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        f"{changes} ADD #version :one, #members :by",
        condition=condition,
        values=values,
    )


def check_spreading(tree: Group) -> Action:
    """Check that the change of members which was read still spreads to the children."""
    condition, values = _same_spreading(tree)
    return action.check(ActionKind.GROUP, keys.group(tree.group_id), condition, values=values)


def end_spreading(tree: Group) -> Action:
    """Note that no child lacks the change of members which was read any more, if it spreads."""
    condition, values = _same_spreading(tree)
    key = keys.group(tree.group_id)
    return action.update(ActionKind.GROUP, key, "REMOVE #spreading", condition=condition, values=values)


def check_not_spreading(group_id: str) -> Action:
    """Check that no change of members spreads to a tree's children, or that it is not kept."""
    return action.check(
        ActionKind.GROUP,
        keys.group(group_id),
        f"attribute_not_exists(#spreading) OR NOT {_IS_KEPT}",
        values=_KEPT,
    )


def _same_spreading(tree: Group) -> tuple[str, Values]:
    return "#spreading = :nonce", {":nonce": text(tree.spreading or "")}


_NOT_SPREADING = "#state = :live AND attribute_not_exists(#spreading)"
"""The tree is live, and no change of its members spreads to its children."""


def count_forks(tree: Group, forks: int, *, promoted: str | None, at: str) -> Action:
    """Count forks in a tree that is live, has the version that was read, and has room.

    promoted: the fork that becomes the current branch. at: the time now. The last fork may have
    been made by a clock that is ahead.
    """
    count, change = "ADD #conversations :by", "SET #forkedAt = :forkedAt"
    values = {
        **_live_as_read(tree),
        ":forkedAt": text(max(at, tree.forked_at or "")),
        ":by": number(forks),
        ":most": number(CONVERSATIONS_MAX - forks),
    }
    if promoted:
        count += ", #promotions :one"
        change += ", #current = :current, #usedAt = :at REMOVE #promotedBy"
        values |= {":at": text(at), ":one": number(1), ":current": text(promoted)}
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        f"{count} {change}",
        condition=f"{_IS_LIVE_AS_READ} AND #conversations <= :most",
        values=values,
    )


def count_child(parent: Group) -> Action:
    """Count a child in the tree that starts it, if that is live and its version is unchanged."""
    return action.update(
        ActionKind.PARENT_GROUP,
        keys.group(parent.group_id),
        "ADD #children :one",
        condition=_IS_LIVE_AS_READ,
        values={":one": number(1), **_live_as_read(parent)},
    )


def note_link(tree: Group) -> Action:
    """Move the version of a tree that has the one that was read.

    The links were counted after that, so no other one has come.
    """
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        "ADD #version :one",
        condition="#version = :version",
        values={":one": number(1), ":version": number(tree.version)},
    )


_IS_LIVE_AS_READ = "#state = :live AND #version = :version"
"""The tree is live and has the version that was read."""


def _live_as_read(tree: Group) -> Values:
    return {":live": text(State.LIVE), ":version": number(tree.version)}


def _current_as_read(tree: Group) -> tuple[str, Values]:
    """Return the condition that a tree has the current branch that was read, and its values."""
    if tree.promoted is None:
        return "attribute_not_exists(#current)", {}
    return "#current = :current", {":current": text(tree.promoted)}


def remove_branch(tree: Group, *, current: str | None, at: str, trashes: bool = False) -> Action:
    """Count a branch less in a tree that is live and unchanged in what the removal depends on.

    The version must be unchanged, because the caller may no longer be the owner, or even a member.
    The tree must count as many children as when it was read: the branch may have started one since
    then. current: the new current branch, if the removed one was it. at: the time now.
    trashes: whether the branch goes into the trash.
    """
    change = "ADD #conversations :less, #version :one SET #usedAt = :at"
    values = {":less": number(-1), ":one": number(1), ":at": text(at)}
    if trashes:
        change = change.replace(" SET", ", #trashedBranches :one SET")
    return _count_branch(tree, change, values, current)


def restore_branch(tree: Group, *, current: str | None, at: str) -> Action:
    """Count a branch more in a tree that is live and unchanged, as for its removal.

    current: the branch, if it becomes the current one again. at: the time now.
    """
    change = "ADD #conversations :one, #version :one, #trashedBranches :less SET #usedAt = :at"
    values = {":less": number(-1), ":one": number(1), ":at": text(at)}
    return _count_branch(tree, change, values, current)


def _count_branch(tree: Group, change: str, values: Values, current: str | None) -> Action:
    is_current_as_read, values_as_read = _current_as_read(tree)
    if current is not None:
        change += ", #current = :next REMOVE #promotedBy"
        values = {**values, ":next": text(current)}
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        change,
        condition=f"{_IS_LIVE_AS_READ} AND {is_current_as_read} AND #children = :children",
        values={
            **values,
            **_live_as_read(tree),
            **values_as_read,
            ":children": number(tree.children),
        },
    )


def empty_branch(group_id: str) -> Action:
    """Count a branch less in the trash of a tree. The same transaction checks that it is there."""
    change, values = "ADD #trashedBranches :less", {":less": number(-1)}
    return action.update(ActionKind.GROUP, keys.group(group_id), change, values=values)


def uncount_child(parent_group_id: str) -> Action:
    """Take a deleted child from its parent's count, if the parent is there."""
    return action.update(
        ActionKind.PARENT_GROUP,
        keys.group(parent_group_id),
        "ADD #children :less",
        condition=IS_THERE,
        values={":less": number(-1)},
    )


# Vectors of entries


def note_vectors(tree: Group) -> Action:
    """Note that entries of a tree have vectors, if it is live and has the version that was read."""
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        "SET #embedded = :yes",
        condition=_IS_LIVE_AS_READ,
        values={":yes": {"BOOL": True}, **_live_as_read(tree)},
    )


def put_on_shelf(tree: Group, shelf: str) -> Action:
    """Note the shelf of a tree, if it has the version that was read.

    So its owner is the one that was read. Whoever puts it on a shelf meanwhile uses the same one.
    """
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        "SET #shelf = :shelf",
        condition="#version = :version",
        values={":shelf": text(shelf), ":version": number(tree.version)},
    )


def note_erasure(tree: Group) -> Action:
    """Move the version of a tree, because entries of its history are erased in the same
    transaction, whose conditions say that they are there.

    So vectors are not put any more that were made of what was read before. Those that are there
    are deleted in the same transaction. Where there were none when the tree was read, none may have
    come since.
    """
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        "ADD #version :one",
        condition=None if tree.embedded else "attribute_not_exists(#embedded)",
        values={":one": number(1)},
    )


# The current branch


def promote(
    group_id: str, conversation_id: str, *, owner: str | None, at: str, by: EntryId | None = None
) -> Action:
    """Make a conversation the tree's current branch, and count the promotion.

    Another action of the transaction checks that it is live, and so that the tree is there.
    owner: if not None, the user who must still be the owner. An append checks that by HEAD.
    at: the time now. by: the last entry of the append that promotes it.
    """
    appended, rest, named = "", " REMOVE #promotedBy", {}
    if by is not None:
        appended, rest, named = ", #promotedBy = :by", "", {":by": text(by)}
    is_owner, owned = (None, {}) if owner is None else ("#owner = :owner", {":owner": text(owner)})
    return action.update(
        ActionKind.GROUP,
        keys.group(group_id),
        f"SET #current = :current, #usedAt = :at{appended} ADD #promotions :one{rest}",
        condition=is_owner,
        values={":current": text(conversation_id), ":at": text(at), ":one": number(1), **owned, **named},
    )


# Ownership


def change_owner(tree: Group, *, to_user_id: str, from_user_id: str, nonce: str, by_meaning: bool) -> Action:
    """Give a live tree another owner, and note that HEADs still name the one before.

    What GROUP notes of the last change of a membership need not be true any more. It is refused
    while that change spreads to the children, or if the tree has been put on a shelf since it was
    read. by_meaning: whether trees are put on shelves.
    """
    is_on_none = "" if tree.shelf or not by_meaning else " AND attribute_not_exists(#shelf)"
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        "SET #owner = :to, #rewriting = :from, #nonce = :nonce REMOVE #memberChange ADD #version :one",
        condition=_NOT_SPREADING + is_on_none,
        values={
            ":to": text(to_user_id),
            ":from": text(from_user_id),
            ":nonce": text(nonce),
            ":one": number(1),
            ":live": text(State.LIVE),
        },
    )


def check_rewriting(group: Group) -> Action:
    """Check that the rewriting that was read still goes on: no transfer was accepted since."""
    condition, values = _same_nonce(group)
    return action.check(ActionKind.GROUP, keys.group(group.group_id), condition, values=values)


def check_handed_on(group_id: str) -> Action:
    """Check that a transfer of the tree goes on: not all HEADs are known to name its owner."""
    return action.check(ActionKind.GROUP, keys.group(group_id), "attribute_exists(#rewriting)")


def end_rewriting(group: Group) -> Action:
    """Note that no HEAD names the previous owner any more, if that rewriting still goes on."""
    condition, values = _same_nonce(group)
    key = keys.group(group.group_id)
    return action.update(ActionKind.GROUP, key, "REMOVE #rewriting", condition=condition, values=values)


def check_not_rewriting(group_id: str) -> Action:
    """Check that all HEADs of a tree name its owner, or that it is not kept."""
    return action.check(
        ActionKind.GROUP,
        keys.group(group_id),
        f"attribute_not_exists(#rewriting) OR NOT {_IS_KEPT}",
        values=_KEPT,
    )


# Deleting


def mark_deleted(
    group_id: str,
    *,
    at: str,
    owner: str | None = None,
    last_of: Group | None = None,
    cascaded: bool = False,
    kept: bool = False,
) -> Action:
    """Set the tombstone of a live tree and take it off the list of all trees.

    owner: if not None, the user who must still be the owner. last_of: if not None, the tree as it
    was read: its current branch must be the same, and its only live conversation. cascaded: whether
    it is deleted only because what started it is. kept: whether it may also be in the trash.
    """
    condition, values = _to_delete(owner, last_of, kept=kept)
    return _tombstone(group_id, condition, values, at=at, mark="cascaded" if cascaded else None)


def _to_delete(owner: str | None, last_of: Group | None, *, kept: bool = False) -> tuple[str, Values]:
    """Return the condition that a live tree may be deleted, or a kept one, and its values."""
    condition = _IS_KEPT if kept else "#state = :live"
    values: Values = _KEPT if kept else {":live": text(State.LIVE)}
    if owner is not None:
        condition += " AND #owner = :owner"
        values = {**values, ":owner": text(owner)}
    if last_of is not None:
        is_current_as_read, values_as_read = _current_as_read(last_of)
        condition += f" AND #conversations = :one AND {is_current_as_read}"
        values = {**values, **values_as_read, ":one": number(1)}
    return condition, values


def mark_unused(tree: Group, *, at: str) -> Action:
    """Set the tombstone of a live tree that is as it was read.

    No branch or child has come, none was promoted or removed, and it was not restored.
    """
    condition = "#state = :live AND #conversations = :seen AND #children = :none"
    values = {":live": text(State.LIVE), ":seen": number(tree.conversations), ":none": number(0)}
    if tree.used_at:
        condition += " AND #usedAt = :used"
        values[":used"] = text(tree.used_at)
    else:
        condition += " AND attribute_not_exists(#usedAt)"
    if tree.restored_at:
        condition += " AND #restoredAt = :restored"
        values[":restored"] = text(tree.restored_at)
    else:
        condition += " AND attribute_not_exists(#restoredAt)"
    return _tombstone(tree.group_id, condition, values, at=at)


def mark_never_live(group: Group, *, at: str) -> Action:
    """Set the tombstone of a tree that never became live, if no request has gone on with it."""
    has_nonce, nonce = _same_nonce(group)
    condition, values = f"#state = :creating AND {has_nonce}", {**nonce, ":creating": text(State.CREATING)}
    return _tombstone(group.group_id, condition, values, at=at, mark="neverLive")


# The trash


def mark_trashed(
    tree: Group, *, at: str, owner: str | None = None, last_of: Group | None = None, whole: bool = False
) -> Action:
    """Put a live tree into the trash, and from the list of all trees on that of the trash.

    owner, last_of: as of `mark_deleted`. whole: whether it must still have the conversations that
    were read, and no child, because all its HEADs are shut in the same transaction.
    """
    group_id = tree.group_id
    partition, sort = keys.trashed_tree(group_id, at)
    condition, values = _to_delete(owner, last_of)
    if whole:
        condition += " AND #children = :none"
        values = {**values, ":none": number(0)}
    if whole and last_of is None:
        condition += " AND #conversations = :seen"
        values = {**values, ":seen": number(tree.conversations)}
    return action.update(
        ActionKind.GROUP,
        keys.group(group_id),
        f"SET #state = :trashed, #trashedAt = :at, {_LISTED}",
        condition=condition,
        values={
            **values,
            ":trashed": text(State.TRASHED),
            ":at": text(at),
            ":partition": text(partition),
            ":sort": text(sort),
        },
    )


def trash_child(child_key: Key, parent: Group) -> list[Action]:
    """Put a child into the trash with the tree that started it, if that is there as it was read.

    If the branch that started it was removed before, the child is left to that removal.
    """
    started_by, child = keys.in_child(child_key.sort)
    is_not_removed = remnant.check(parent.group_id, started_by, is_there=False)
    return [
        trash_with(child.conversation_id, at=parent.trashed_at or ""),
        _check_trashed(ActionKind.PARENT_GROUP, parent),
        *([is_not_removed] if parent.trashed_branches else []),
    ]


def trash_with(child_id: str, *, at: str) -> Action:
    """Put a child into the trash with what started it, which went there at that time.

    So is a child that went there with an earlier deletion, whose restoring has not come to it.
    """
    return action.update(
        ActionKind.GROUP,
        keys.group(child_id),
        f"SET #state = :trashed, #trashedAt = :at, #cascaded = :yes {_UNLISTED}",
        condition="#state IN (:live, :restoring) OR (#state = :trashed AND #cascaded = :yes)",
        values={
            ":live": text(State.LIVE),
            ":restoring": text(State.RESTORING),
            ":trashed": text(State.TRASHED),
            ":at": text(at),
            ":yes": {"BOOL": True},
        },
    )


def check_trashed(tree: Group) -> Action:
    """Check that a tree is in the trash since the time that was read."""
    return _check_trashed(ActionKind.GROUP, tree)


def check_restoring(tree: Group) -> Action:
    """Check that a tree is on its way back as it was read. Nothing puts it back into the trash."""
    still, values = _since(tree)
    return action.check(ActionKind.GROUP, keys.group(tree.group_id), still, values=values)


def check_live(parent_id: str) -> Action:
    """Check that the tree which started a child is live."""
    values = {":live": text(State.LIVE)}
    return action.check(ActionKind.PARENT_GROUP, keys.group(parent_id), "#state = :live", values=values)


def begin_restoring(tree: Group) -> Action:
    """Begin to restore a tree that is in the trash as it was read."""
    still, values = _since(tree)
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        "SET #state = :restoring",
        condition=still,
        values={**values, ":restoring": text(State.RESTORING)},
    )


def end_restoring(tree: Group, *, at: str) -> Action:
    """Make a tree live that is on its way back as it was read."""
    partition, sort = keys.all_trees(tree.group_id, tree.created_at)
    still, values = _since(tree)
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        f"SET #state = :live, #restoredAt = :at, {_LISTED} REMOVE #trashedAt, #cascaded",
        condition=still,
        values={
            **values,
            ":live": text(State.LIVE),
            ":at": text(at),
            ":partition": text(partition),
            ":sort": text(sort),
        },
    )


def empty_trash(tree: Group, *, at: str) -> Action:
    """Set the tombstone of a tree that is in the trash as it was read."""
    return _tombstone(tree.group_id, *_since(tree), at=at)


def _check_trashed(kind: ActionKind, tree: Group) -> Action:
    still, values = _since(tree)
    is_there, values = f"#state = :trashed AND {still}", {**values, ":trashed": text(State.TRASHED)}
    return action.check(kind, keys.group(tree.group_id), is_there, values=values)


def _since(tree: Group) -> tuple[str, Values]:
    """Return the condition that a tree is still kept from the same deletion, and its values.

    The attribute goes when the tree becomes live or gets its tombstone.
    """
    return "#trashedAt = :since", {":since": text(tree.trashed_at or "")}


_LISTED = f"#{schema.TREE_PARTITION_KEY} = :partition, #{schema.TREE_SORT_KEY} = :sort"
_UNLISTED = f"REMOVE #{schema.TREE_PARTITION_KEY}, #{schema.TREE_SORT_KEY}"


# The end


def delete(group: Group) -> Action:
    """Delete GROUP itself, if it is still the tree that was read, and still being deleted."""
    condition, values = _still_deleting(group)
    return action.delete(ActionKind.GROUP, keys.group(group.group_id), condition=condition, values=values)


def erase(unwanted: Sequence[Key]) -> list[Action]:
    """Delete items of a tree, of any kind, whether they are there or not."""
    return [action.delete(ActionKind.ERASED, key, of=str(at)) for at, key in enumerate(unwanted)]


def _tombstone(group_id: str, condition: str, values: Values, *, at: str, mark: str | None = None) -> Action:
    """Set the tombstone if the condition holds. mark: an attribute that becomes true."""
    sets = "#state = :deleting, #deletedAt = :at"
    values = {**values, ":deleting": text(State.DELETING), ":at": text(at)}
    if mark is not None:
        sets += f", #{mark} = :{mark}"
        values[f":{mark}"] = {"BOOL": True}
    change = f"SET {sets} {_UNLISTED}, #trashedAt"
    return action.update(ActionKind.GROUP, keys.group(group_id), change, condition=condition, values=values)


def _still_deleting(group: Group) -> tuple[str, Values]:
    """Return the condition that a tree is the one that was read, and deleted, and its values."""
    has_nonce, values = _same_nonce(group)
    return f"#state = :deleting AND {has_nonce}", {":deleting": text(State.DELETING), **values}


def _same_nonce(group: Group) -> tuple[str, Values]:
    """Return the condition that a tree has the nonce that was read, and its values.

    It is that of the last acceptance of its ownership, or else of the request that makes the tree.
    """
    if group.nonce is None:
        return "attribute_not_exists(#nonce)", {}
    return "#nonce = :made", {":made": text(group.nonce)}
