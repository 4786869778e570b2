"""The actions about a fork tree as a whole (item GROUP), and the actions that make a tree."""

from collections.abc import Sequence
from typing import Any

from forklore.domain import ancestry, keys
from forklore.domain.access import AccessLevel
from forklore.domain.keys import Key
from forklore.domain.model import Conversation, Head, JobKind, StartedBy
from forklore.domain.tree import Group, Member, MemberChange, State
from forklore.storage import items, schema
from forklore.storage.actions import action, job
from forklore.storage.actions import conversation as conversation_actions
from forklore.storage.actions import member as member_parts
from forklore.storage.actions.action import Action, ActionKind, Names
from forklore.storage.items import key_of, number, text

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
    group = items.group_item(root, owner=head.owner, members=len(members), child_key=child_key)
    return [
        conversation_actions.claim_id(root, nonce=nonce, now_s=now_s),
        action.put_new(ActionKind.GROUP, group),
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
        count_forks(tree, len(forks), promoted=promoted),
        *(one for fork in forks for one in conversation_actions.put(fork, head, path)),
    ]


def begin_tree(
    root: Conversation,
    *,
    owner: str,
    members: int,
    child_key: Key | None,
    nonce: str,
    taken_from: Group | None,
    now_s: int,
) -> list[Action]:
    """Claim the id for a tree that nobody can see yet, and note the job of its creation.

    taken_from: the tree as another request has begun it; None: nobody has begun it.
    """
    group = items.group_item(
        root,
        owner=owner,
        members=members,
        child_key=child_key,
        state=State.CREATING,
        nonce=nonce,
    )
    if taken_from is None:
        claim = [
            conversation_actions.claim_id(root, nonce=nonce, now_s=now_s),
            action.put_new(ActionKind.CREATING_GROUP, group),
        ]
    else:
        claim = [
            action.put(
                ActionKind.CREATING_GROUP,
                group,
                **_while_creating(taken_from.nonce),
            )
        ]
    return [*claim, job.put(JobKind.CREATION, root.group_id, at=root.created_at)]


def check_creating(group_id: str, *, nonce: str) -> Action:
    """Check that a tree is still being made, and by this request."""
    return action.check(
        ActionKind.CREATING_GROUP,
        keys.group(group_id),
        **_while_creating(nonce),
    )


def open_tree(root: Conversation, head: Head, *, members: int, nonce: str) -> list[Action]:
    """Make a tree live that this request is making, with its first conversation."""
    creating = _while_creating(nonce)
    group = action.update(
        ActionKind.CREATING_GROUP,
        keys.group(root.group_id),
        UpdateExpression="SET #state = :live, #owner = :owner, #members = :members",
        ConditionExpression=creating["ConditionExpression"],
        ExpressionAttributeNames=creating["ExpressionAttributeNames"]
        | {"#owner": "owner", "#members": "members"},
        ExpressionAttributeValues=creating["ExpressionAttributeValues"]
        | {":live": text(State.LIVE), ":owner": text(head.owner), ":members": number(members)},
    )
    return [
        group,
        *conversation_actions.put(root, head),
        job.delete(JobKind.CREATION, root.group_id),
    ]


def _while_creating(nonce: str | None) -> dict[str, Any]:
    return {
        "ConditionExpression": "#state = :creating AND #nonce = :nonce",
        "ExpressionAttributeNames": {"#state": "state", "#nonce": "nonce"},
        "ExpressionAttributeValues": {
            ":creating": text(State.CREATING),
            ":nonce": text(nonce or ""),
        },
    }


# Checks


def check_owner(group_id: str, owner: str) -> Action:
    """Check that a tree is live and belongs to the user."""
    return action.check(
        ActionKind.GROUP,
        keys.group(group_id),
        ConditionExpression="#state = :live AND #owner = :owner",
        ExpressionAttributeNames={"#state": "state", "#owner": "owner"},
        ExpressionAttributeValues={":live": text(State.LIVE), ":owner": text(owner)},
    )


def check_absent(group_id: str) -> Action:
    """Check that there is no such tree."""
    return action.check(
        ActionKind.GROUP,
        keys.group(group_id),
        ConditionExpression="attribute_not_exists(PK)",
    )


def check_not_creating(group_id: str) -> Action:
    """Check that there is no such tree, or that it is not being made."""
    n = Names()
    creating = n.value("but", text(State.CREATING))
    return action.check(
        ActionKind.GROUP,
        keys.group(group_id),
        ConditionExpression=f"attribute_not_exists(PK) OR {n.name('state')} <> {creating}",
        **n.attributes(),
    )


def check_deleting(group: Group) -> Action:
    """Check that a tree is still the one that was read, and still being deleted."""
    return _while_deleting("ConditionCheck", group)


# Counts


def rename_changed_member(group_id: str, was: MemberChange, now: MemberChange) -> Action:
    """Note the last change of members with another user id, if it is still the last one."""
    n = Names()
    noted = n.name("memberChange")
    return action.update(
        ActionKind.GROUP,
        keys.group(group_id),
        UpdateExpression=f"SET {noted} = {n.value('now', items.member_change_map(now))}",
        ConditionExpression=f"{noted} = {n.value('was', items.member_change_map(was))}",
        **n.attributes(),
    )


def change_members(group_id: str, change: MemberChange, *, owner: str | None) -> Action:
    """Count members of a live tree, note the change, and move the tree's version.

    The creation of a fork or a child checks that version. owner: if not None, the user who must
    still be the owner. The member is not changed while HEADs may still name them as their owner.
    """
    n = Names()
    by = (change.level is not None) - (change.was is not None)
    rewriting = n.name("rewriting")
    is_other = f"{rewriting} <> {n.value('target', text(change.user_id))}"
    noted = f"{n.name('memberChange')} = {n.value('change', items.member_change_map(change))}"
    conditions = [
        f"{n.name('state')} = {n.value('live', text(State.LIVE))}",
        f"(attribute_not_exists({rewriting}) OR {is_other})",
    ]
    if owner is not None:
        conditions.append(f"{n.name('owner')} = {n.value('owner', text(owner))}")
    if by > 0:
        conditions.append(f"{n.name('members')} < {n.value('most', number(MEMBERS_MAX))}")
    return action.update(
        ActionKind.GROUP,
        keys.group(group_id),
        UpdateExpression=f"SET {noted} ADD {n.name('version')} {n.value('one', number(1))}"
        f", {n.name('members')} {n.value('by', number(by))}",
        ConditionExpression=" AND ".join(conditions),
        **n.attributes(),
    )


def count_forks(tree: Group, forks: int, *, promoted: str | None) -> Action:
    """Count forks in a tree that is live, has the version that was read, and has room.

    promoted: the fork that becomes the current branch.
    """
    n = Names()
    conversations = n.name("conversations")
    most = CONVERSATIONS_MAX - forks
    adds, sets = f"ADD {conversations} {n.value('by', number(forks))}", ""
    if promoted:
        sets = f" SET {n.name('current')} = {n.value('current', text(promoted))}"
        adds += f", {n.name('promotions')} {n.value('one', number(1))}"
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        UpdateExpression=adds + sets,
        ConditionExpression=f"{_live_as_read(n, tree)}"
        f" AND {conversations} <= {n.value('most', number(most))}",
        **n.attributes(),
    )


def change_texts(tree: Group) -> Action:
    """Move the version of a tree whose entries or titles are changed by an erasure.

    No branch may have come or gone since the tree was read. The creation of a fork checks the
    version. So no fork takes a title or a preview from what it read before.
    """
    n = Names()
    same = (
        f"{n.name('version')} = {n.value('version', number(tree.version))}"
        f" AND {n.name('conversations')} = {n.value('conversations', number(tree.conversations))}"
    )
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        UpdateExpression=f"ADD {n.name('version')} {n.value('one', number(1))}",
        ConditionExpression=same,
        **n.attributes(),
    )


def count_child(parent: Group) -> Action:
    """Count a child in the tree that starts it, if that is live and its version is unchanged."""
    n = Names()
    return action.update(
        ActionKind.PARENT_GROUP,
        keys.group(parent.group_id),
        UpdateExpression=f"ADD {n.name('children')} {n.value('one', number(1))}",
        ConditionExpression=_live_as_read(n, parent),
        **n.attributes(),
    )


def _live_as_read(n: Names, tree: Group) -> str:
    """Return the condition that a tree is live and has the version that was read."""
    is_live = f"{n.name('state')} = {n.value('live', text(State.LIVE))}"
    return f"{is_live} AND {n.name('version')} = {n.value('version', number(tree.version))}"


def _current_as_read(n: Names, tree: Group) -> str:
    """Return the condition that a tree has the current branch that was read."""
    if tree.promoted is None:
        return f"attribute_not_exists({n.name('current')})"
    return f"{n.name('current')} = {n.value('current', text(tree.promoted))}"


def remove_branch(tree: Group, *, current: str | None, at: str) -> Action:
    """Count a branch less in a tree that is live and unchanged in what the removal depends on.

    The version must be unchanged, because the caller may no longer be the owner, or even a member.
    The tree must count as many children as when it was read: the branch may have started one since
    then. current: the new current branch, if the removed one was it. at: the time now.
    """
    n = Names()
    conditions = [
        _live_as_read(n, tree),
        _current_as_read(n, tree),
        f"{n.name('children')} = {n.value('children', number(tree.children))}",
    ]
    sets = f" SET {n.name('usedAt')} = {n.value('at', text(at))}"
    if current is not None:
        sets += f", {n.name('current')} = {n.value('next', text(current))}"
    return action.update(
        ActionKind.GROUP,
        keys.group(tree.group_id),
        UpdateExpression=f"ADD {n.name('conversations')} {n.value('less', number(-1))}"
        f", {n.name('version')} {n.value('one', number(1))}{sets}",
        ConditionExpression=" AND ".join(conditions),
        **n.attributes(),
    )


def uncount_child(parent_group_id: str) -> Action:
    """Take a deleted child from its parent's count, if the parent is there."""
    return action.update(
        ActionKind.PARENT_GROUP,
        keys.group(parent_group_id),
        UpdateExpression="ADD #children :less",
        ConditionExpression="attribute_exists(PK)",
        ExpressionAttributeNames={"#children": "children"},
        ExpressionAttributeValues={":less": number(-1)},
    )


# The current branch


def promote(group_id: str, conversation_id: str, *, owner: str | None, at: str) -> Action:
    """Make a conversation the tree's current branch, and count the promotion.

    Another action of the transaction checks that it is live, and so that the tree is there.
    owner: if not None, the user who must still be the owner. at: the time now.
    """
    n = Names()
    key = keys.group(group_id)
    update = f"SET {n.name('current')} = {n.value('current', text(conversation_id))}"
    update += f", {n.name('usedAt')} = {n.value('at', text(at))}"
    update += f" ADD {n.name('promotions')} {n.value('one', number(1))}"
    if owner is None:
        return action.update(ActionKind.GROUP, key, UpdateExpression=update, **n.attributes())
    return action.update(
        ActionKind.GROUP,
        key,
        UpdateExpression=update,
        ConditionExpression=f"{n.name('owner')} = {n.value('owner', text(owner))}",
        **n.attributes(),
    )


# Ownership


def change_owner(group_id: str, *, to_user_id: str, from_user_id: str, nonce: str) -> Action:
    """Give a live tree another owner, and note that HEADs still name the one before.

    What GROUP notes of the last change of a membership need not be true any more.
    """
    n = Names()
    return action.update(
        ActionKind.GROUP,
        keys.group(group_id),
        UpdateExpression=f"SET {n.name('owner')} = {n.value('to', text(to_user_id))}"
        f", {n.name('rewriting')} = {n.value('from', text(from_user_id))}"
        f", {n.name('nonce')} = {n.value('nonce', text(nonce))}"
        f" REMOVE {n.name('memberChange')} ADD {n.name('version')} {n.value('one', number(1))}",
        ConditionExpression=f"{n.name('state')} = {n.value('live', text(State.LIVE))}",
        **n.attributes(),
    )


def check_rewriting(group: Group) -> Action:
    """Check that the rewriting that was read still goes on: no transfer was accepted since."""
    return _while_rewriting("ConditionCheck", group)


def end_rewriting(group: Group) -> Action:
    """Note that no HEAD names the previous owner any more, if that rewriting still goes on."""
    return _while_rewriting("Update", group, UpdateExpression="REMOVE rewriting")


def check_not_rewriting(group_id: str) -> Action:
    """Check that all HEADs of a tree name its owner, or that it is not live."""
    return action.check(
        ActionKind.GROUP,
        keys.group(group_id),
        ConditionExpression="attribute_not_exists(#rewriting) OR #state <> :live",
        ExpressionAttributeNames={"#rewriting": "rewriting", "#state": "state"},
        ExpressionAttributeValues={":live": text(State.LIVE)},
    )


def _while_rewriting(verb: str, group: Group, **request: Any) -> Action:
    """Return an action about GROUP, if its nonce is that of the acceptance that was read."""
    n = Names()
    condition = _same_nonce(n, group)
    key = key_of(keys.group(group.group_id))
    changed = {"Key": key, "ConditionExpression": condition, **request, **n.attributes()}
    return Action(ActionKind.GROUP, verb, changed)


# Deleting


def mark_deleted(
    group_id: str, *, at: str, owner: str | None = None, last_of: Group | None = None, cascaded: bool = False
) -> Action:
    """Set the tombstone of a live tree and take it off the list of all trees.

    owner: if not None, the user who must still be the owner. last_of: if not None, the tree as it
    was read: its current branch must be the same, and its only live conversation. cascaded: whether
    it is deleted only because what started it is.
    """
    n = Names()
    if cascaded:
        n.value("cascaded", {"BOOL": True})
    conditions = [f"{n.name('state')} = {n.value('live', text(State.LIVE))}"]
    if owner is not None:
        conditions.append(f"{n.name('owner')} = {n.value('owner', text(owner))}")
    if last_of is not None:
        conditions.append(f"{n.name('conversations')} = {n.value('one', number(1))}")
        conditions.append(_current_as_read(n, last_of))
    return _tombstone(group_id, n, at=at, conditions=conditions)


def mark_unused(tree: Group, *, at: str) -> Action:
    """Set the tombstone of a live tree that is as it was read.

    No branch or child has come, and none was promoted or removed.
    """
    n = Names()
    used = n.name("usedAt")
    conditions = [
        f"{n.name('state')} = {n.value('live', text(State.LIVE))}",
        f"{n.name('conversations')} = {n.value('seen', number(tree.conversations))}",
        f"{n.name('children')} = {n.value('none', number(0))}",
        f"{used} = {n.value('used', text(tree.used_at))}"
        if tree.used_at
        else f"attribute_not_exists({used})",
    ]
    return _tombstone(tree.group_id, n, at=at, conditions=conditions)


def mark_never_live(group: Group, *, at: str) -> Action:
    """Set the tombstone of a tree that never became live, if no request has gone on with it."""
    n = Names()
    n.value("neverLive", {"BOOL": True})
    conditions = [
        f"{n.name('state')} = {n.value('creating', text(State.CREATING))}",
        _same_nonce(n, group),
    ]
    return _tombstone(group.group_id, n, at=at, conditions=conditions)


def delete(group: Group) -> Action:
    """Delete GROUP itself, if it is still the tree that was read, and still being deleted."""
    return _while_deleting("Delete", group)


def erase(unwanted: Sequence[Key]) -> list[Action]:
    """Delete items of a tree, of any kind, whether they are there or not."""
    return [action.delete(ActionKind.ERASED, key, of=str(at)) for at, key in enumerate(unwanted)]


def _tombstone(group_id: str, n: Names, *, at: str, conditions: Sequence[str]) -> Action:
    sets = [
        f"{n.name('state')} = {n.value('deleting', text(State.DELETING))}",
        f"{n.name('deletedAt')} = {n.value('at', text(at))}",
        *(f"{n.name(mark)} = :{mark}" for mark in ("neverLive", "cascaded") if f":{mark}" in n.values),
    ]
    unlisted = [n.name(schema.TREE_PARTITION_KEY), n.name(schema.TREE_SORT_KEY)]
    return action.update(
        ActionKind.GROUP,
        keys.group(group_id),
        UpdateExpression=f"SET {', '.join(sets)} REMOVE {', '.join(unlisted)}",
        ConditionExpression=" AND ".join(conditions),
        **n.attributes(),
    )


def _while_deleting(verb: str, group: Group) -> Action:
    n = Names()
    is_deleting = f"{n.name('state')} = {n.value('deleting', text(State.DELETING))}"
    condition = f"{is_deleting} AND {_same_nonce(n, group)}"
    key = key_of(keys.group(group.group_id))
    return Action(ActionKind.GROUP, verb, {"Key": key, "ConditionExpression": condition, **n.attributes()})


def _same_nonce(n: Names, group: Group) -> str:
    """Return the condition that a tree has the nonce that was read.

    It is that of the last acceptance of its ownership, or else of the request that makes the tree.
    """
    named = n.name("nonce")
    if group.nonce is None:
        return f"attribute_not_exists({named})"
    return f"{named} = {n.value('made', text(group.nonce))}"
