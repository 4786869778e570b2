"""A tree that the importer has loaded, and the paths of its file."""

from collections.abc import Iterator
from dataclasses import dataclass

from forklore.cli.importing.plan import PlannedFork, lines_of
from forklore.cli.importing.steps import Loading
from forklore.cli.importing.values import Tree


@dataclass(frozen=True, slots=True)
class LoadedTree:
    """conversation_ids, forks: of each conversation of the plan. entry_ids: of each message.

    conversation_of: for each message, the number of the conversation in which it is written.
    """

    tree: Tree
    conversation_ids: tuple[str, ...]
    forks: tuple[PlannedFork | None, ...]
    entry_ids: tuple[str, ...]
    conversation_of: tuple[int, ...]


def loaded_tree(tree: Tree, loading: Loading) -> LoadedTree:
    """Return a tree whose every message has been loaded."""
    _, forks, places = lines_of(tree)
    return LoadedTree(
        tree,
        tuple(loading.conversation_id(number) for number in range(len(forks))),
        tuple(forks),
        tuple(loading.placed[place][1] for place in places),
        tuple(place.conversation for place in places),
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
