"""Trees and files to import, without a service."""

import io
import json
from typing import Any

from forklore.importing.file_records import records_of
from forklore.importing.foreign_trees import ForeignTree, ImportReport
from forklore.importing.readers import importers

Raw = dict[str, Any]
trees_of = importers()["trees"].trees


def ask(text: str, *replies: Raw) -> Raw:
    """Return a message of the prompter; its id is its text."""
    return {"message_id": text, "role": "prompter", "text": text, "replies": list(replies)}


def answer(text: str, *replies: Raw) -> Raw:
    """Return a message of the assistant; its id is its text."""
    return ask(text, *replies) | {"role": "assistant"}


def line_of(prompt: Raw, *, tree_id: str = "t") -> bytes:
    """Return the tree as a line of a file."""
    return json.dumps({"message_tree_id": tree_id, "prompt": prompt}).encode() + b"\n"


def parse_trees(lines: list[bytes], report: ImportReport | None = None) -> list[ForeignTree]:
    """Return the trees of the lines of a file."""
    return list(trees_of(records_of(io.BytesIO(b"".join(lines))), report or ImportReport()))


def tree_of(prompt: Raw) -> ForeignTree:
    """Return the tree as it is parsed."""
    (tree,) = parse_trees([line_of(prompt)])
    return tree


def tree_with_parents(parents: list[int]) -> ForeignTree:
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


SOUP = ask(
    "flat soup?",
    answer("lemon", ask("too sour", answer("honey"), answer("sugar", ask("thanks")))),
    answer("roast it", ask("how long?", answer("3 minutes"), answer("until sweet"))),
    answer("herbs"),
)
