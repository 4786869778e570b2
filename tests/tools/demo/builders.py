"""Message trees, and the result of loading them, without a file and without a server."""

from collections.abc import Callable
from itertools import count

from forklore.cli.importing.values import Tree
from tests.cli.importing.builders import (
    SOUP,
    answer,
    ask,
    deep_line,
    line_of,
    parse_trees,
    tree_of,
    tree_with_parents,
)
from tools.demo.load import LoadedTree
from tools.demo.plan import plan_tree

__all__ = [
    "SOUP",
    "answer",
    "ask",
    "deep_line",
    "line_of",
    "parse_trees",
    "tree_of",
    "tree_with_parents",
]


def loaded_tree(tree: Tree) -> LoadedTree:
    """Return a tree as if it had been loaded: conversations c0, c1, … and entries e0, e1, …"""
    plan = plan_tree(tree)
    return LoadedTree(
        plan,
        tuple(f"c{number}" for number in range(len(plan.conversations))),
        tuple(f"e{number}" for number in range(len(tree.messages))),
    )


def counting_ids() -> Callable[[], str]:
    """Return a function that returns the ids id0, id1, …"""
    numbers = count()
    return lambda: f"id{next(numbers)}"
