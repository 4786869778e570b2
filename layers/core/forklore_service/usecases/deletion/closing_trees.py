"""Close fork trees that have a tombstone. Nothing can be written to a closed tree.

A tree is closed when none of its conversations has a HEAD, and when the trees that its
conversations have started have tombstones too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.domain.model import JobKind
from forklore_service.domain.tree import Group, HeadRow
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import READS_AT_ONCE, Table
from forklore_service.usecases.deletion.counted_items import all_child_keys, all_heads

CLOSED_AT_ONCE = 20
"""Conversations closed in one transaction. Each takes two or three writes; DynamoDB allows 100."""
CHILDREN_AT_ONCE = 100

T = TypeVar("T")


def close_tree(
    table: Table,
    queue: Queue,
    group_id: str,
    *,
    last: str,
    delay_s: int,
    has_pointer: bool = False,
    is_new: bool = False,
) -> None:
    """Close a tree that has its tombstone, and its direct children.

    last: the conversation to close last.
    delay_s: the delay of the messages that announce the children's deletions.
    has_pointer: whether the tree's id still points to the tree, even if the root has no HEAD.
    is_new: whether the tombstone was set just now. If so, no conversation of the tree is closed
    yet, and the CHILD items of all its children are still there.
    Raises UnavailableError. One cause: a fork or a child that GROUP counts cannot be read yet.
    """
    looking = table.heads_of([group_id])
    group = _groups(table, [group_id]).get(group_id) if is_new else None
    child_keys = all_child_keys(table, group) if group else list(table.read.all_child_keys(group_id))
    open_heads = _heads(table, looking, {group_id: group} if group else {})
    if has_pointer and all(head.conversation_id != group_id for head in open_heads):
        open_heads.append(_Head(group_id, group_id))
    open_heads.sort(key=lambda head: head.conversation_id == last)
    first, at_last = open_heads[:-CLOSED_AT_ONCE], open_heads[-CLOSED_AT_ONCE:]
    for some in in_batches(child_keys, CHILDREN_AT_ONCE):
        close_children(table, queue, some, delay_s=delay_s)
        table.delete(some)
    _close_conversations(table, first)
    _close_conversations(table, at_last)


def close_children(table: Table, queue: Queue, child_keys: Iterable[Key], *, delay_s: int) -> None:
    """Delete the trees that CHILD items name, whoever owns them, up to the work of the worker.

    The CHILD items stay. delay_s: the delay of the messages that announce these deletions. What may
    have children of its own is announced at once, so that a worker closes these.
    Raises UnavailableError, as `close_tree` does.
    """
    for some in in_batches(child_keys, CHILDREN_AT_ONCE):
        marked = _mark_children_deleted(table, some)
        looking = table.heads_of(list(marked))
        new = _groups(table, (child for child, was_live in marked.items() if was_live))
        _close_conversations(table, _heads(table, looking, new))
        alone = [child for child, group in new.items() if group.children == 0]
        queue.announce(child for child in marked if child not in alone)
        queue.announce(alone, delay_s=delay_s)


def tombstone(
    group_id: str,
    *,
    at: str,
    owner: str | None = None,
    last_of: Group | None = None,
    cascaded: bool = False,
    kept: bool = False,
) -> list[Action]:
    """Return the actions that mark a live tree as deleted and add its deletion job.

    owner: if it is not None, the transaction is refused unless this user owns the tree.
    last_of: if it is not None, the tree as it was read. The transaction is refused unless its
    current branch is the same, and is its only live conversation.
    cascaded: whether the tree is deleted because what had started it is.
    kept: whether the tree may also be in the trash.
    """
    return [
        actions.group.mark_deleted(
            group_id, at=at, owner=owner, last_of=last_of, cascaded=cascaded, kept=kept
        ),
        actions.job.put(JobKind.DELETION, group_id, at=at),
    ]


def in_batches(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` values. The last list may be shorter."""
    left = iter(values)
    while batch := list(islice(left, size)):
        yield batch


def _child_of(child_key: Key) -> str:
    return keys.list_key(child_key.sort).conversation_id


def _mark_children_deleted(table: Table, child_keys: Sequence[Key]) -> dict[str, bool]:
    """Set the tombstones of child trees, whoever owns them now.

    Return for each tree whether its tombstone was set just now. If not, the tree already had one,
    or is gone. The CHILD items stay until the children are closed, so a repetition finds them.
    """
    children = [_child_of(child_key) for child_key in child_keys]

    def mark(child: str) -> bool:
        return table.try_commit(tombstone(child, at=table.now(), cascaded=True, kept=True)) is None

    marked = table.side_by_side(mark, children)
    return dict(zip(children, marked, strict=True))


class _Head(NamedTuple):
    """A conversation of a tree with a tombstone. It can still be appended to."""

    group_id: str
    conversation_id: str
    answer_id: str | None = None


def _groups(table: Table, group_ids: Iterable[str]) -> dict[str, Group]:
    wanted = list(group_ids)
    found = table.get(map(keys.group, wanted))
    groups = ((group_id, found.group(group_id)) for group_id in wanted)
    return {group_id: group for group_id, group in groups if group is not None}


def _heads(
    table: Table, looking: Iterable[tuple[str, list[HeadRow]]], new: Mapping[str, Group]
) -> list[_Head]:
    """Return the conversations of trees that can still be appended to.

    looking: each tree with the conversations whose HEADs were read.
    new: the trees whose tombstones were set just now, read after that. All their conversations can
    still be appended to, so at least as many HEADs must be found as GROUP counts.
    """
    heads: list[_Head] = []
    for group_id, found in looking:
        group = new.get(group_id)
        is_short = group is not None and len(found) < group.conversations
        rows = all_heads(table, group) if group and is_short else found
        heads += [_Head(group_id, row.conversation_id, row.answer_id) for row in rows]
    return heads


def _close_conversations(table: Table, heads: Sequence[_Head]) -> None:
    """Delete HEADs and retire the conversations' ids, in several transactions that overlap.

    The worker deletes the logs of the answers that were being written there. CONV names them.
    """
    for some in in_batches(heads, CLOSED_AT_ONCE * READS_AT_ONCE):
        now_s = table.now_s()
        batches = [*in_batches(some, CLOSED_AT_ONCE)]
        closed = table.commit_each([_closing(batch, now_s) for batch in batches])
        # Refused: a CONV is lost. Its conversation is closed all the same; the log expires.
        left = [batch for batch, is_closed in zip(batches, closed, strict=True) if not is_closed]
        table.commit_each(
            [_closing([head._replace(answer_id=None) for head in batch], now_s) for batch in left]
        )


def _closing(heads: Sequence[_Head], now_s: int) -> list[Action]:
    closing: list[Action] = []
    for head in heads:
        closing += [
            actions.conversation.retire_id(head.conversation_id, now_s=now_s),
            actions.conversation.delete_head(head.group_id, head.conversation_id),
        ]
        if head.answer_id is not None:
            closing.append(actions.answer.keep(head.group_id, head.conversation_id, head.answer_id))
    return closing


def retire_ids(table: Table, conversation_ids: Sequence[str]) -> None:
    """Block the ids of deleted conversations for 30 days from now on."""
    now_s = table.now_s()
    batches = in_batches(conversation_ids, CLOSED_AT_ONCE)
    table.commit_each(
        [[actions.conversation.retire_id(one, now_s=now_s) for one in some] for some in batches]
    )
