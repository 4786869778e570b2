"""Which conversations and forks a message tree becomes. There are no ids here and no HTTP.

The first reply at a message continues the conversation; every further reply is a fork of that
conversation, at the first reply. So a conversation is one line of messages, and what it shows is
one path from the prompt to a leaf.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from forklore.cli.importing.values import Tree


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """conversation: the number of the forked one.

    before: its first message that is not inherited.
    """

    conversation: int
    before: int


@dataclass(frozen=True, slots=True)
class PlannedConversation:
    """messages: its own, in order, never empty. fork_point: None for the root."""

    messages: tuple[int, ...]
    fork_point: ForkPoint | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The conversations of a tree.

    conversations: the root first, each after the one that it forks.
    conversation_of: for each message of the tree, the number of the conversation in which it is
    written. The messages can be appended in the tree's order, because an anchor is before every
    fork at it.
    """

    tree: Tree
    conversations: tuple[PlannedConversation, ...]
    conversation_of: tuple[int, ...]


def plan_tree(tree: Tree) -> Plan:
    """Return the plan of a tree: as many conversations as it has leaves."""
    lines: list[list[int]] = []
    fork_points: list[ForkPoint | None] = []
    conversation_of: list[int] = []
    for index, message in enumerate(tree.messages):
        first = None if message.parent is None else tree.messages[message.parent].replies[0]
        if message.parent is not None and first == index:
            conversation = conversation_of[message.parent]
        else:
            conversation = len(lines)
            lines.append([])
            fork_points.append(None if first is None else ForkPoint(conversation_of[first], before=first))
        lines[conversation].append(index)
        conversation_of.append(conversation)
    return Plan(
        tree,
        tuple(
            PlannedConversation(tuple(line), fork_point)
            for line, fork_point in zip(lines, fork_points, strict=True)
        ),
        tuple(conversation_of),
    )


def leaves(tree: Tree) -> Iterator[int]:
    """Yield the messages without a reply, in the tree's order."""
    return (index for index, message in enumerate(tree.messages) if not message.replies)


def path_to(tree: Tree, leaf: int) -> list[int]:
    """Return the messages from the prompt down to `leaf`, both included.

    It follows the parents in the file and does not use the plan, so the two can be compared.
    """
    path: list[int] = []
    index: int | None = leaf
    while index is not None:
        path.append(index)
        index = tree.messages[index].parent
    path.reverse()
    return path
