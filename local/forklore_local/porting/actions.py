"""The actions by which an import makes a tree, step by step, while nobody can see it.

The nonce is the import's, and every process that imports the same file has the same. So all that
they put is equal, and each may go on with what another one has begun. GROUP alone has the nonce of
the attempt: it is new when the tree was given up and is begun again.
"""

from collections.abc import Sequence

from forklore_local.fsck.shapes import Kind, kind_of
from forklore_service.domain import keys
from forklore_service.domain.attachments import File
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Conversation, JobKind, StartedBy, StoredEntry, Transfer
from forklore_service.domain.tree import Group, Member, State
from forklore_service.storage import items
from forklore_service.storage.actions import Action, ActionKind, action, attachment, conversation, group
from forklore_service.storage.actions.action import IS_NEW
from forklore_service.storage.connection import Item
from forklore_service.storage.items import number, text

_KINDS = {
    Kind.CONV: ActionKind.CONVERSATION,
    Kind.CTX: ActionKind.CONTEXT,
    Kind.GONE: ActionKind.REMNANT,
    Kind.HEAD: ActionKind.HEAD,
    Kind.PATH: ActionKind.PATH,
    Kind.TREE: ActionKind.TREE,
}
"""The items of a tree that are put as they are."""
_TOLD = (Kind.CONV, Kind.GONE, Kind.HEAD)
"""Those that would make an event, if they did not say that an import has put them."""


def begin(group_item: Item, *, nonce: str, attempt: str, now_s: int, at: str, until: str) -> list[Action]:
    """Claim the id of a tree, and note that an import makes it.

    group_item: GROUP as it will be. attempt: its nonce until then, which each later step checks.
    at: the time now. until: when the sweep may give it up.
    """
    tree = items.group(group_item)
    like_root = Conversation(tree.group_id, tree.group_id, tree.created_at)
    marks = items.present({"state": State.CREATING, "nonce": attempt, "importing": True})
    return [
        conversation.claim_id(like_root, nonce=nonce, now_s=now_s),
        action.put_new(ActionKind.CREATING_GROUP, group_item | marks),
        hold(tree.group_id, at=at, until=until),
    ]


def hold(group_id: str, *, at: str, until: str) -> Action:
    """Let the sweep leave the tree alone until then. at: the time now.

    Another action of the transaction checks that the tree is still being made.
    """
    item = items.job_item(JobKind.CREATION, group_id, created_at=at, leased_until=until)
    return action.put(ActionKind.JOB, item)


def put_member(tree: Group, member: Member, *, used_at: str) -> list[Action]:
    """Put a membership and the tree's row in the user's list. used_at: when it was used last."""
    row = items.user_tree_item(
        tree.group_id,
        member.user_id,
        member.level,
        created_at=tree.created_at,
        is_child=tree.is_child,
        is_archived=member.is_archived,
        used_at=used_at if used_at > tree.created_at else None,
    )
    return [
        action.put(ActionKind.CHANGED_MEMBER, items.member_item(tree.group_id, member), of=member.user_id),
        action.put(ActionKind.USER_TREE, row, of=member.user_id),
    ]


def put_entry(group_id: str, stored: StoredEntry) -> list[Action]:
    """Put an entry with its content, the chunks of its body, its key, and what it names."""
    entry, of = stored.entry, stored.entry_id
    item, chunks = items.entry_items(group_id, entry, nonce=stored.nonce, escaped_bytes=stored.escaped_bytes)
    puts = [action.put(ActionKind.ENTRY, item, of=of)]
    puts += [action.put(ActionKind.CHUNK, chunk, of=f"{of} {at}") for at, chunk in enumerate(chunks)]
    if entry.key is not None:
        key = items.entry_key_item(group_id, entry.conversation_id, entry.key, of)
        puts.append(action.put(ActionKind.ENTRY_KEY, key, of=f"{entry.conversation_id} {entry.key}"))
    return [*puts, *attachment.name(group_id, [entry])]


def put_file(file: File) -> list[Action]:
    """Put an attachment that is not there, with its job, and if it can be named, in a list."""
    due = file.due or file.created_at
    job = items.job_item(JobKind.UPLOAD, file.attachment_id, created_at=due, due=due)
    puts = [action.put_new(ActionKind.FILE, items.file_item(file)), action.put(ActionKind.JOB, job)]
    if file.owner is not None and file.can_be_named:
        puts.append(action.put_new(ActionKind.USER_FILE, items.user_file_item(file.owner, file)))
    return puts


def put_item(item: Item, *, nonce: str, now_s: int) -> list[Action]:
    """Put an item of a branch, or of a removed one, as it is. Claim a branch's id, block the other.

    This import may have done so before. `begin` has claimed the id of the root.
    """
    key = items.key(item)
    kind, of = kind_of(key), key.sort.partition("#")[2]
    assert kind is not None, key
    marked = items.as_imported(item) if kind in _TOLD else item
    puts = [action.put(_KINDS[kind], marked, of=key.sort)]
    if kind is Kind.CONV and of != key.partition:
        claimed = items.pointer_item(items.conversation(item), nonce)
        values = {":now": number(now_s), ":own": text(nonce)}
        condition = f"{IS_NEW} OR #ttl < :now OR #nonce = :own"
        puts.append(action.put(ActionKind.POINTER, claimed, of=of, condition=condition, values=values))
    if kind is Kind.GONE and of != key.partition:
        blocked = items.resting_item(of, key.partition)
        values = {":group": text(key.partition)}
        condition = f"{IS_NEW} OR #group = :group"
        puts.append(action.put(ActionKind.POINTER, blocked, of=of, condition=condition, values=values))
    return puts


def block_id(conversation_id: str, *, now_s: int) -> Action:
    """Block the id of a conversation that was removed, unless it is in use or blocked."""
    ttl_s = now_s + conversation.RETIRED_SECONDS
    item = items.retired_item(conversation_id, ttl_s=ttl_s)
    return action.put_unless_current(ActionKind.POINTER, item, now_s=now_s, of=conversation_id)


def put_name(item: Item) -> Action:
    """Put a name, unless its owner has given that name to something else."""
    return action.put(
        ActionKind.NAME,
        item,
        of=str(items.key(item)),
        condition=f"{IS_NEW} OR #nonce = :own",
        values={":own": text(items.nonce(item) or "")},
    )


def open_tree(
    group_id: str, *, nonce: str, attempt: str, transfer: Transfer | None, has_root: bool
) -> list[Action]:
    """Make the tree live. Its other items are there, but for what is given here.

    has_root: False if the root was removed.
    """
    opened = [
        action.update(
            ActionKind.CREATING_GROUP,
            keys.group(group_id),
            "SET #state = :live REMOVE #importing",
            condition="#state = :creating AND #nonce = :own",
            values={
                ":live": text(State.LIVE),
                ":creating": text(State.CREATING),
                ":own": text(attempt),
            },
        ),
        action.delete(ActionKind.JOB, keys.job(JobKind.CREATION, group_id)),
    ]
    if not has_root:
        opened.append(conversation.rest_id(group_id, group_id))
    if transfer is not None:
        opened += [
            action.put(ActionKind.TRANSFER, item, of=str(at))
            for at, item in enumerate(items.transfer_items(transfer, nonce=nonce))
        ]
    return opened


def link(parent: Group, child_key: Key, started_by: StartedBy) -> Sequence[Action]:
    """Note a child in its parent's tree, if that is live and was not changed since it was read."""
    return group.count_child(parent), group.put_child(child_key, started_by)
