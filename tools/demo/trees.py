"""Reads a file of message trees (JSON lines) into plain values.

One tree a line: `{"message_tree_id": …, "prompt": message}`. A message is `{"message_id": …,
"role": "prompter" | "assistant", "text": …, "replies": [message, …]}`; each of its replies is an
alternative continuation. Other fields are ignored. A tree without a `message_tree_id` has the id of
its prompt. A message without `replies` has none.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from tools.demo.nested_json import parse_json

Role = Literal["USER", "AI"]
ROLES: dict[object, Role] = {"prompter": "USER", "assistant": "AI"}


class MalformedTreesError(Exception):
    """The file is not in the format above. The message starts with the line number."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    `parent` (None for the prompt) and `replies` are indexes into the messages of its tree.
    """

    message_id: str
    role: Role
    text: str
    parent: int | None
    replies: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """One line of the file.

    messages: a flat list in preorder. The prompt is first, a message is before its replies, and
    everything below one reply is before the next reply.
    """

    tree_id: str
    messages: tuple[Message, ...]


def read_trees(path: Path, *, limit: int | None = None) -> list[Tree]:
    """Return the trees of a file in its order. limit: how many at most.

    Raises MalformedTreesError if a line is malformed or the file has no tree, OSError if it cannot
    be read.
    """
    with path.open("rb") as lines:
        trees = list(islice(parse_trees(lines), limit))
    if not trees:
        raise MalformedTreesError("no message tree in the file")
    return trees


def parse_trees(lines: Iterable[bytes]) -> Iterator[Tree]:
    """Yield a tree for every line that is not blank.

    Raises MalformedTreesError, on reaching it, for a line that is not UTF-8, not JSON or not a
    message tree.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield _tree_of(parse_json(line.decode("utf-8-sig")))
        except json.JSONDecodeError as error:
            raise MalformedTreesError(
                f"line {number}: not JSON: {error.msg} at column {error.colno}"
            ) from error
        except UnicodeDecodeError as error:
            raise MalformedTreesError(f"line {number}: not UTF-8 at byte {error.start + 1}") from error
        except _MalformedError as error:
            raise MalformedTreesError(f"line {number}: {error}") from error


class _MalformedError(Exception):
    """What is wrong with a tree, without the line number."""


def _tree_of(raw: object) -> Tree:
    if not isinstance(raw, dict):
        raise _MalformedError("not a JSON object")
    if not isinstance(raw.get("prompt"), dict):
        raise _MalformedError("no message under 'prompt'")
    messages: list[Message] = []
    replies: list[list[int]] = []
    waiting: list[tuple[object, int | None]] = [(raw["prompt"], None)]
    while waiting:
        raw_message, parent = waiting.pop()
        index = len(messages)
        message, raw_replies = _message_of(raw_message, parent=parent, index=index)
        messages.append(message)
        replies.append([])
        if parent is not None:
            replies[parent].append(index)
        waiting.extend((reply, index) for reply in reversed(raw_replies))
    tree_id = raw.get("message_tree_id", messages[0].message_id)
    if not isinstance(tree_id, str):
        raise _MalformedError("'message_tree_id' is not a string")
    return Tree(
        tree_id,
        tuple(
            Message(message.message_id, message.role, message.text, message.parent, tuple(below))
            for message, below in zip(messages, replies, strict=True)
        ),
    )


def _message_of(raw: object, *, parent: int | None, index: int) -> tuple[Message, list[Any]]:
    """Return the message, its replies still empty, and the raw replies."""
    where = f"message {index + 1}"
    if not isinstance(raw, dict):
        raise _MalformedError(f"{where} is not a JSON object")
    message_id, text, role = raw.get("message_id"), raw.get("text"), raw.get("role")
    if not isinstance(message_id, str):
        raise _MalformedError(f"{where} has no string 'message_id'")
    where = f"{where} ({message_id[:60]!r})"
    if not isinstance(text, str):
        raise _MalformedError(f"{where} has no string 'text'")
    if not _is_unicode(text):
        raise _MalformedError(f"{where} has half a surrogate pair in its text")
    if not isinstance(role, str) or role not in ROLES:
        raise _MalformedError(f"{where} has the role {role!r}, neither 'prompter' nor 'assistant'")
    replies = raw.get("replies", [])
    if not isinstance(replies, list):
        raise _MalformedError(f"{where} has 'replies' that are not a list")
    return Message(message_id, ROLES[role], text, parent, ()), replies


def _is_unicode(text: str) -> bool:
    """Return whether the text can be written as UTF-8 (a JSON escape can name a lone surrogate)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
