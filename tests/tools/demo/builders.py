"""Message trees, and the result of loading them, without a file and without a server."""

import json
from collections.abc import Callable
from itertools import count
from typing import Any

from tools.demo.load import LoadedTree
from tools.demo.plan import plan_tree
from tools.demo.trees import Tree, parse_trees

Raw = dict[str, Any]


def ask(text: str, *replies: Raw) -> Raw:
    """Return a message of the prompter; its id is its text."""
    return {"message_id": text, "role": "prompter", "text": text, "replies": list(replies)}


def answer(text: str, *replies: Raw) -> Raw:
    """Return a message of the assistant; its id is its text."""
    return ask(text, *replies) | {"role": "assistant"}


def line_of(prompt: Raw, *, tree_id: str = "t") -> bytes:
    """Return the tree as a line of a file."""
    return json.dumps({"message_tree_id": tree_id, "prompt": prompt}).encode() + b"\n"


def tree_of(prompt: Raw) -> Tree:
    """Return the tree as it is parsed."""
    (tree,) = parse_trees([line_of(prompt)])
    return tree


def tree_with_parents(parents: list[int]) -> Tree:
    """Return a tree of `len(parents) + 1` messages. Message i + 1 is a reply to parents[i]."""
    messages = [ask("m0")]
    for number, parent in enumerate(parents, start=1):
        messages.append(answer(f"m{number}"))
        messages[parent]["replies"].append(messages[number])
    return tree_of(messages[0])


def deep_line(depth: int) -> bytes:
    """Return the line of a tree that is `depth` messages deep; json.dumps cannot write it."""
    opened = "".join(
        f'{{"message_id": "m{number}", "role": "prompter", "text": "m{number}", "replies": ['
        for number in range(depth)
    )
    return f'{{"message_tree_id": "deep", "prompt": {opened}{"]}" * depth}}}'.encode()


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


SOUP = ask(
    "flat soup?",
    answer("lemon", ask("too sour", answer("honey"), answer("sugar", ask("thanks")))),
    answer("roast it", ask("how long?", answer("3 minutes"), answer("until sweet"))),
    answer("herbs"),
)
