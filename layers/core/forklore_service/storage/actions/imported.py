"""The actions by which an import makes a tree, step by step, while nobody can see it.

The nonce is the import's, and every process that imports the same file has the same. So all that
they put is equal, and each may go on with what another one has begun. GROUP alone has the nonce of
the attempt: it is new when the tree was given up and is begun again.
"""

from collections.abc import Sequence

from forklore_service.domain import keys
from forklore_service.domain.ancestry import Path
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Conversation, Entry, Head, JobKind, StartedBy, Transfer
from forklore_service.domain.names import Name
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import ClientContext, Group, Member, State
from forklore_service.storage import items
from forklore_service.storage.actions import action, group
from forklore_service.storage.actions import conversation as conversation_actions
from forklore_service.storage.actions.action import IS_NEW, Action, ActionKind
from forklore_service.storage.items import number, text


def begin(
    tree: Conversation,
    *,
    owner: str,
    child_key: Key | None,
    nonce: str,
    attempt: str,
    now_s: int,
    at: str,
    until: str,
) -> list[Action]:
    """Claim the id of a tree, and note that an import makes it.

    tree: the root, or a conversation like it if the root was removed. child_key: its place in its
    parent's list. attempt: GROUP's nonce, which each later step checks. at: the time now. until:
    when the sweep may give it up.
    """
    group = Group(
        tree.group_id,
        owner,
        tree.created_at,
        State.CREATING,
        child_key=child_key,
        nonce=attempt,
        is_import=True,
    )
    return [
        conversation_actions.claim_id(tree, nonce=nonce, now_s=now_s),
        action.put_new(ActionKind.CREATING_GROUP, items.group_item(group)),
        hold(tree.group_id, at=at, until=until),
    ]


def hold(group_id: str, *, at: str, until: str) -> Action:
    """Let the sweep leave the tree alone until then. at: the time now.

    Another action of the transaction checks that the tree is still being made.
    """
    item = items.job_item(JobKind.CREATION, group_id, created_at=at, leased_until=until)
    return action.put(ActionKind.JOB, item)


def put_member(tree: Group, member: Member) -> list[Action]:
    """Put a membership and the tree's row in the user's list."""
    row = items.user_tree_item(
        tree.group_id,
        member.user_id,
        member.level,
        created_at=tree.created_at,
        is_child=tree.is_child,
        is_archived=member.is_archived,
    )
    return [
        action.put(ActionKind.CHANGED_MEMBER, items.member_item(tree.group_id, member), of=member.user_id),
        action.put(ActionKind.USER_TREE, row, of=member.user_id),
    ]


def put_entry(group_id: str, entry: Entry, *, nonce: str, escaped_bytes: int) -> list[Action]:
    """Put an entry, the chunks of its body, and its key."""
    item, chunks = items.entry_items(group_id, entry, nonce=nonce, escaped_bytes=escaped_bytes)
    puts = [action.put(ActionKind.ENTRY, item, of=entry.entry_id)]
    puts += [
        action.put(ActionKind.CHUNK, chunk, of=f"{entry.entry_id} {at}") for at, chunk in enumerate(chunks)
    ]
    if entry.key is not None:
        key = items.entry_key_item(group_id, entry.conversation_id, entry.key, entry.entry_id)
        puts.append(action.put(ActionKind.ENTRY_KEY, key, of=f"{entry.conversation_id} {entry.key}"))
    return puts


def put_branch(conversation: Conversation, head: Head, path: Path, *, nonce: str, now_s: int) -> list[Action]:
    """Put a branch, and claim its id unless it is the root. This import may have claimed it."""
    claims = [] if conversation.is_root else [_claim(conversation, nonce=nonce, now_s=now_s)]
    return [*claims, *map(_marked, conversation_actions.put(conversation, head, path))]


def _claim(conversation: Conversation, *, nonce: str, now_s: int) -> Action:
    return action.put(
        ActionKind.POINTER,
        items.pointer_item(conversation, nonce),
        of=conversation.conversation_id,
        condition=f"{IS_NEW} OR #ttl < :now OR #nonce = :own",
        values={":now": number(now_s), ":own": text(nonce)},
    )


def put_removed(remnant: Remnant, path: Path) -> list[Action]:
    """Put what stays of a removed branch, and block its id, unless another tree uses that."""
    group_id, conversation_id = remnant.group_id, remnant.conversation_id
    puts = [_marked(action.put(ActionKind.REMNANT, items.remnant_item(remnant), of=conversation_id))]
    if path:
        named = Conversation(conversation_id, group_id, remnant.removed_at)
        puts.append(action.put(ActionKind.PATH, items.path_item(named, path), of=conversation_id))
    if not remnant.is_root:
        puts.append(_rest(conversation_id, group_id))
    return puts


def _rest(conversation_id: str, group_id: str) -> Action:
    return action.put(
        ActionKind.POINTER,
        items.resting_item(conversation_id, group_id),
        of=conversation_id,
        condition=f"{IS_NEW} OR #group = :group",
        values={":group": text(group_id)},
    )


def put_context(group_id: str, conversation_id: str, client_id: str, held: ClientContext) -> Action:
    """Put what a client holds of the context."""
    item = items.context_item(group_id, conversation_id, client_id, held)
    return action.put(ActionKind.CONTEXT, item, of=f"{conversation_id} {client_id}")


def block_id(conversation_id: str, *, now_s: int) -> Action:
    """Block the id of a conversation that was removed, unless it is in use or blocked."""
    ttl_s = now_s + conversation_actions.RETIRED_SECONDS
    item = items.retired_item(conversation_id, ttl_s=ttl_s)
    return action.put_unless_current(ActionKind.POINTER, item, now_s=now_s, of=conversation_id)


def put_name(name: Name) -> Action:
    """Put a name with the import's nonce, unless its owner has given that name."""
    return action.put(
        ActionKind.NAME,
        items.name_item(name),
        of=str(keys.name(name.ref)),
        condition=f"{IS_NEW} OR #nonce = :own",
        values={":own": text(name.nonce)},
    )


def open_tree(
    tree: Group,
    *,
    nonce: str,
    attempt: str,
    transfer: Transfer | None,
    removed_root: Remnant | None,
    has_root: bool,
) -> list[Action]:
    """Make the tree live, with its counts. Its other items are there, but for what is given here.

    removed_root: what stays of a root that was removed. has_root: False if it was.
    """
    group_id = tree.group_id
    opened = [_open_group(tree, attempt), action.delete(ActionKind.JOB, keys.job(JobKind.CREATION, group_id))]
    if not has_root:
        opened.append(conversation_actions.rest_id(group_id, group_id))
    if removed_root is not None:
        opened.append(_marked(action.put(ActionKind.REMNANT, items.remnant_item(removed_root), of=group_id)))
    if transfer is not None:
        opened += [
            action.put(ActionKind.TRANSFER, item, of=str(at))
            for at, item in enumerate(items.transfer_items(transfer, nonce=nonce))
        ]
    return opened


def link(parent: Group, child_key: Key, started_by: StartedBy) -> Sequence[Action]:
    """Note a child in its parent's tree, if that is live and was not changed since it was read."""
    return group.count_child(parent), group.put_child(child_key, started_by)


def _marked(put: Action) -> Action:
    """Return the action with a mark in its item, if the item would otherwise make an event."""
    if put.kind not in (ActionKind.CONVERSATION, ActionKind.HEAD, ActionKind.REMNANT):
        return put
    return put._replace(target=items.as_imported(put.target))


def _open_group(tree: Group, attempt: str) -> Action:
    sets = {
        "state": text(State.LIVE),
        "members": number(tree.members),
        "conversations": number(tree.conversations),
        "version": number(tree.version),
    }
    if tree.promotions:
        sets["promotions"] = number(tree.promotions)
    if tree.used_at is not None:
        sets["usedAt"] = text(tree.used_at)
    if tree.promoted is not None:
        sets["current"] = text(tree.promoted)
    assigned = ", ".join(f"#{name} = :new_{name}" for name in sets)
    return action.update(
        ActionKind.CREATING_GROUP,
        keys.group(tree.group_id),
        f"SET {assigned} REMOVE #importing",
        condition="#state = :creating AND #nonce = :own",
        values={
            **{f":new_{name}": value for name, value in sets.items()},
            ":creating": text(State.CREATING),
            ":own": text(attempt),
        },
    )
