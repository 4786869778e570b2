"""Reads message trees.

`{"message_tree_id": …, "prompt": message}`. A message is `{"message_id": …, "role": "prompter" |
"assistant", "text": …, "replies": [message, …]}`; each of its replies is an alternative
continuation. Other members are ignored. A tree without a `message_tree_id` has the id of its
prompt. A message without `replies` has none.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from forklore.cli.importing.checks import is_unicode
from forklore.cli.importing.file_records import FileRecord
from forklore.cli.importing.foreign_trees import ForeignTree, Format, ImportReport, MalformedFileError
from forklore.cli.importing.growing import Node, grow

ROLES = {"prompter": "USER", "assistant": "AI"}


def trees_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[ForeignTree]:
    """Yield a tree for each record.

    Raises MalformedFileError, on reaching it, for a record that is not a message tree.
    """
    for record in records:
        try:
            yield _tree_of(record.value, report)
        except _MalformedError as error:
            raise MalformedFileError(f"{record.place}: {error}") from error


class _MalformedError(Exception):
    """What is wrong with a tree, without its place."""


def _tree_of(raw: object, report: ImportReport) -> ForeignTree:
    if not isinstance(raw, dict):
        raise _MalformedError("not a JSON object")
    if not isinstance(raw.get("prompt"), dict):
        raise _MalformedError("no message under 'prompt'")
    nodes: list[Node] = []
    ids: list[str] = []
    waiting: list[tuple[object, int | None]] = [(raw["prompt"], None)]
    while waiting:
        raw_message, parent = waiting.pop()
        index = len(nodes)
        message_id, content, replies = _message_of(raw_message, index=index)
        nodes.append(Node(str(index), None if parent is None else str(parent), content))
        ids.append(message_id)
        waiting.extend((reply, index) for reply in reversed(replies))
    tree_id = raw.get("message_tree_id", ids[0])
    if not isinstance(tree_id, str) or not is_unicode(tree_id):
        raise _MalformedError("'message_tree_id' is not a string")
    return ForeignTree(tree_id, grow(nodes, report, ids=ids).messages, Format.TREES)


def _message_of(raw: object, *, index: int) -> tuple[str, dict[str, Any], list[Any]]:
    """Return the message's id, its content and the raw replies."""
    where = f"message {index + 1}"
    if not isinstance(raw, dict):
        raise _MalformedError(f"{where} is not a JSON object")
    message_id, text, role = raw.get("message_id"), raw.get("text"), raw.get("role")
    if not isinstance(message_id, str):
        raise _MalformedError(f"{where} has no string 'message_id'")
    where = f"{where} ({message_id[:60]!r})"
    if not isinstance(text, str):
        raise _MalformedError(f"{where} has no string 'text'")
    if not isinstance(role, str) or role not in ROLES:
        raise _MalformedError(f"{where} has the role {role!r}, neither 'prompter' nor 'assistant'")
    replies = raw.get("replies", [])
    if not isinstance(replies, list):
        raise _MalformedError(f"{where} has 'replies' that are not a list")
    return message_id, {"role": ROLES[role], "text": text}, replies
