"""Trees from nodes that name their parents, in any order and in any state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from forklore.importing.checks import Stored, storable
from forklore.importing.foreign_trees import ForeignMessage, ImportReport, Reason

BEHIND_MAX = 8
"""So many of the nodes that are left out before a message are told with it: the nearest ones."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a file.

    parent: the id of its parent; None for a root. content: the element to store; None: the node is
    left out, and what hangs on it hangs on the nearest kept node above it. is_child: it begins a
    conversation that its parent has started. message_id: that of the message, if not the node's.
    is_summary, earlier_keys, entry_id: as for `Message`. kept: the ids of nodes.
    """

    node_id: str
    parent: str | None
    content: dict[str, Any] | None
    is_child: bool = False
    message_id: str = ""
    is_summary: bool = False
    kept: tuple[str, ...] = ()
    earlier_keys: tuple[str, ...] = ()
    entry_id: str = ""


@dataclass(frozen=True, slots=True)
class Grown:
    """messages: in preorder. index_of: of every node, the nearest kept message at or above it."""

    messages: tuple[ForeignMessage, ...]
    index_of: Mapping[str, int | None]


def grow(nodes: Sequence[Node], report: ImportReport) -> Grown:
    """Return the tree of the nodes. Replies, and roots, stand in the order of `nodes`.

    A node whose parent is not there is a root. In a cycle one node becomes a root. What the service
    would refuse of a message is left out; the message, if nothing is left of it. A text that is too
    large is put into several messages. All this is reported.
    """
    below = _below(nodes, report)
    index_of: dict[str, int | None] = {}
    messages: list[_Placed] = []
    waiting: list[tuple[Node, int | None, tuple[str, ...]]] = [
        (node, None, ()) for node in reversed(below[None])
    ]
    while waiting:
        node, parent, behind = waiting.pop()
        index, message_id = parent, node.message_id or node.node_id
        stored, changes = ([], []) if node.content is None else storable(node.content)
        for change in changes:
            report.add(change, message_id)
        for number, one in enumerate(stored):
            messages.append(_Placed(node, number, one, index, behind))
            index, behind = len(messages) - 1, ()
        if not stored:
            behind = (*behind, message_id, *node.earlier_keys)[-BEHIND_MAX:]
        index_of[node.node_id] = index
        waiting.extend((reply, index, behind) for reply in reversed(below.get(node.node_id, ())))
    return Grown(_with_replies(messages, index_of), index_of)


class _Placed(NamedTuple):
    """A message without its replies: a node, or with a number the next piece of its text."""

    node: Node
    number: int
    stored: Stored
    parent: int | None
    behind: tuple[str, ...]


def _with_replies(
    messages: Sequence[_Placed], index_of: Mapping[str, int | None]
) -> tuple[ForeignMessage, ...]:
    """Return the messages, which stand in preorder, with replies."""
    replies: list[list[int]] = [[] for _ in messages]
    children = [one.node.is_child and one.number == 0 and one.parent is not None for one in messages]
    for index, one in enumerate(messages):
        if one.parent is not None and not children[index]:
            replies[one.parent].append(index)
    return tuple(
        ForeignMessage(
            one.node.message_id or one.node.node_id,
            one.stored.element,
            one.parent,
            tuple(below),
            is_child,
            one.node.is_summary and one.number == 0,
            tuple(at for name in one.node.kept if (at := index_of.get(name, name)) is not None),
            one.node.earlier_keys if one.number == 0 else (),
            one.node.entry_id if one.number == 0 else "",
            one.behind,
            one.stored.written,
        )
        for one, below, is_child in zip(messages, replies, children, strict=True)
    )


def _below(nodes: Sequence[Node], report: ImportReport) -> dict[str | None, list[Node]]:
    """Return the nodes below each node, and the roots under None. Every node is reached."""
    by_id = {node.node_id: node for node in nodes}
    parents: dict[str, str | None] = {}
    for node in by_id.values():
        if node.parent is not None and node.parent not in by_id:
            report.add(Reason.LOST_PARENT, node.node_id)
        parents[node.node_id] = node.parent if node.parent in by_id else None
    done: set[str] = set()
    for start in parents:
        way: dict[str, None] = {}
        at: str | None = start
        while at is not None and at not in done and at not in way:
            way[at] = None
            at = parents[at]
        if at is not None and at in way:
            report.add(Reason.CYCLE, at)
            parents[at] = None
        done.update(way)
    below: dict[str | None, list[Node]] = {None: []}
    for node_id, parent in parents.items():
        below.setdefault(parent, []).append(by_id[node_id])
    return below
