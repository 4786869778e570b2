"""Items that refer to others: children, transfers, links, notes, records of requests."""

from collections.abc import Iterator
from itertools import chain

from forklore_local.fsck.conversations import is_shown
from forklore_local.fsck.facts import Recorded, Tree
from forklore_local.fsck.finding import Finding
from forklore_local.fsck.shapes import Kind, kind_of
from forklore_local.fsck.survey import Survey
from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.model import JobKind
from forklore_service.domain.tree import State


def check(survey: Survey) -> Iterator[Finding]:
    """Yield the references that are wrong."""
    for tree in survey.trees.values():
        if tree.group is not None and tree.keeps_rest:
            yield from _origin(tree, survey)
            yield from _transfer(tree)
            yield from _reader_links(tree)
            yield from _notes(tree)
            yield from _trash(tree, survey)
    yield from _children(survey)
    for record in survey.records:
        yield from _record(record, survey.trees.get(record.group_id))


def _origin(tree: Tree, survey: Survey) -> Iterator[Finding]:
    """Yield what is wrong with a child's reference to the conversation that started it."""
    group, root = tree.group, tree.conversations.get(tree.group_id)
    assert group is not None
    if root is None:
        return

    def wrong(detail: str) -> Finding:
        key = keys.conversation(tree.group_id, tree.group_id)
        return Finding(key, "wrong_started_by", detail, 10, tree.group_id)

    started_by = root.started_by
    if (started_by is None) != (group.child_key is None):
        yield wrong("GROUP and CONV do not agree on whether it is a child")
    elif started_by is not None and group.child_key is not None:
        place = ListKey(group.created_at, tree.group_id)
        if keys.child(group.child_key.partition, started_by.conversation_id, place) != group.child_key:
            yield wrong("GROUP and CONV name different parents")
            return
        parent = survey.trees.get(group.child_key.partition)
        if parent is None or not parent.keeps_entries:
            return
        if started_by.conversation_id not in parent.conversations:
            is_moving = keys.job(JobKind.PRUNE, parent.group_id, started_by.conversation_id) in survey.outside
            is_with_it = parent.is_in_trash(started_by.conversation_id) and not tree.is_live
            if not (tree.is_deleting or is_moving or is_with_it):
                yield wrong("its parent's tree has no such conversation")
        elif started_by.entry_id and not is_shown(parent, started_by.conversation_id, started_by.entry_id):
            yield wrong("its parent does not show the entry")


def _children(survey: Survey) -> Iterator[Finding]:
    """Yield the live trees whose count of children is wrong.

    A child counts from its first entry until its GROUP is deleted. Its CHILD item is deleted just
    before that, so children are also found by their GROUP.
    """
    child_keys: dict[str, set[Key]] = {}
    listed = (key for key in survey.outside if kind_of(key) is Kind.CHILD)
    named = (tree.group.child_key for tree in survey.trees.values() if tree.group and not tree.was_never_live)
    for child_key in filter(None, chain(listed, named)):
        child_keys.setdefault(child_key.partition, set()).add(child_key)
    for tree in survey.trees.values():
        if tree.group is not None and tree.is_live and tree.group.children is not None:
            there = len(child_keys.get(tree.group_id, ()))
            if tree.group.children != there:
                detail = f"{tree.group.children}, but there are {there}"
                yield Finding(keys.group(tree.group_id), "wrong_children", detail, 10, tree.group_id)


def _transfer(tree: Tree) -> Iterator[Finding]:
    transfer, group = tree.transfer, tree.group
    if transfer is None or group is None or not tree.keeps_members:
        return
    recipient = tree.members.get(transfer.to_user_id)
    is_so = (
        transfer.group_id == tree.group_id
        and transfer.from_user_id == group.owner
        and recipient is not None
        and recipient.level is not AccessLevel.OWNER
        and (transfer.conversation_id in tree.conversations or tree.was_removed(transfer.conversation_id))
    )
    if not is_so:
        key = keys.transfer_of_group(tree.group_id)
        yield Finding(
            key, "wrong_xfer", "it is not an offer from the owner to another member", 9, tree.group_id
        )


def _reader_links(tree: Tree) -> Iterator[Finding]:
    """Yield the links for readers that lead nowhere."""
    for link in tree.links.values():
        of, key = link.conversation_id, keys.link(tree.group_id, link.link_id)
        if of not in tree.conversations:
            if of not in tree.to_prune and not tree.is_in_trash(of):
                yield Finding(key, "wrong_link", "the tree has no such conversation", 24, tree.group_id)
        elif link.up_to and tree.keeps_entries and not is_shown(tree, of, link.up_to):
            yield Finding(key, "wrong_link", "the conversation does not show the entry", 24, tree.group_id)


def _notes(tree: Tree) -> Iterator[Finding]:
    """Yield the notes on what is no history entry of the conversation that they name."""
    for ref in tree.notes if tree.keeps_entries else ():
        if not tree.own_of(ref.conversation_id).has_history(ref.entry_id):
            yield Finding(keys.note(tree.group_id, ref), "orphan_note", "no such entry", 25, tree.group_id)


def _trash(tree: Tree, survey: Survey) -> Iterator[Finding]:
    """Yield the HEADs that are shut or open and must not be.

    Yield a tree, too, that went into the trash with its parent, and whose parent is live.
    """
    group = tree.group
    assert group is not None
    if tree.is_live:
        for conversation_id in tree.shut:
            key = keys.head(tree.group_id, conversation_id)
            yield Finding(key, "shut_head", "the tree is not in the trash", 23, tree.group_id)
    if group.state is not State.TRASHED:
        return
    top, is_known = tree, True
    while top.group is not None and top.group.cascaded and top.group.child_key is not None and is_known:
        above = survey.trees.get(top.group.child_key.partition)
        is_known = above is not None and above.group is not None
        if above is not None and above.is_live:
            started_by, _ = keys.in_child(top.group.child_key.sort)
            job = keys.job(JobKind.PRUNE, above.group_id, started_by)
            if above.is_in_trash(started_by) or job in survey.outside:
                break
            key = keys.group(tree.group_id)
            yield Finding(key, "wrong_cascaded", "what started it is live", 23, tree.group_id)
            return
        top = above or top
    is_shut = top.group is not None and top.group.state is State.TRASHED and is_known
    if is_shut and keys.job(JobKind.DELETION, top.group_id) not in survey.outside:
        for conversation_id in tree.heads.keys() - tree.shut:
            key = keys.head(tree.group_id, conversation_id)
            yield Finding(key, "open_head", "the tree is in the trash, and no JOB is", 23, tree.group_id)


def _record(record: Recorded, tree: Tree | None) -> Iterator[Finding]:
    """Yield what a record gets wrong about a live tree."""
    if tree is None or not tree.is_live:
        if tree is None and record.entry_ids and not ids.is_uuid(record.group_id):
            yield Finding(record.key, "wrong_idem", "it names entries, but no tree", 11)
        return
    if tree.was_removed(record.conversation_id):
        return
    own = tree.own_of(record.conversation_id)
    if record.conversation_id not in tree.conversations or not all(map(own.holds, record.entry_ids)):
        detail = "it names a conversation or an entry that its tree does not have"
        yield Finding(record.key, "wrong_idem", detail, 11, tree.group_id)
