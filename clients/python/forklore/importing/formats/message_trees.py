"""Reads message trees.

`{"message_tree_id": …, "prompt": message}`. A message is `{"message_id": …, "role": "prompter" |
"assistant", "text": …, "replies": [message, …]}`; each of its replies is an alternative
continuation. A tree without a `message_tree_id` has the id of its prompt. A message without
`replies` has none. Or each message stands alone, with its `message_tree_id` and `parent_id`. Where
replies have a `rank`, the branch of the best ones was shown: the lowest rank at each message.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from forklore.importing.checks import is_unicode
from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ImportReport, MalformedFileError
from forklore.importing.plain_conversations import Conversation, Message, rest

_ROLES = ("prompter", "assistant")
_MAPPED = ("message_id", "parent_id", "role", "text", "replies", "created_date")


def conversations_of(records: Iterable[FileRecord], _report: ImportReport) -> Iterator[Conversation]:
    """Yield a conversation for each record.

    Raises MalformedFileError, on reaching it, for a record that is not a message tree.
    """
    alone: dict[str, list[tuple[Message, float | None]]] = {}
    for record in records:
        try:
            if _is_alone(record.value):
                parent = record.value["parent_id"]
                message, _, rank = _message_of(record.value, parent if isinstance(parent, str) else None)
                alone.setdefault(str(record.value["message_tree_id"]), []).append((message, rank))
            else:
                yield _conversation_of(record.value)
        except _MalformedError as error:
            raise MalformedFileError(f"{record.place}: {error}") from error
    for tree_id, found in alone.items():
        messages = [replace(message, id=message.key or "") for message, _ in found]
        yield _conversation(tree_id, messages, [rank for _, rank in found])


def is_tree(value: Mapping[str, Any]) -> bool:
    """Tell whether a record is a message tree: many other files have a `prompt`."""
    prompt = value.get("prompt")
    is_prompt = isinstance(prompt, Mapping) and ("message_tree_id" in value or "message_id" in prompt)
    return is_prompt or _is_alone(value)


def _is_alone(value: object) -> bool:
    """Tell whether a record is one message of a tree."""
    return isinstance(value, Mapping) and {"message_id", "parent_id", "message_tree_id"} <= value.keys()


class _MalformedError(Exception):
    """What is wrong with a tree, without its place."""


def _conversation_of(raw: object) -> Conversation:
    if not isinstance(raw, dict):
        raise _MalformedError("not a JSON object")
    if not isinstance(raw.get("prompt"), dict):
        raise _MalformedError("no message under 'prompt'")
    messages: list[Message] = []
    ranks: list[float | None] = []
    waiting: list[tuple[object, str | None]] = [(raw["prompt"], None)]
    while waiting:
        raw_message, parent = waiting.pop()
        message, replies, rank = _message_of(raw_message, parent, number=len(messages))
        messages.append(message)
        ranks.append(rank)
        waiting.extend((reply, message.id) for reply in reversed(replies))
    tree_id = raw.get("message_tree_id", messages[0].key)
    if not isinstance(tree_id, str) or not is_unicode(tree_id):
        raise _MalformedError("'message_tree_id' is not a string")
    return _conversation(tree_id, messages, ranks, rest(raw, "message_tree_id", "prompt"))


def _conversation(
    tree_id: str, messages: list[Message], ranks: list[float | None], about: Mapping[str, Any] | None = None
) -> Conversation:
    ranked: dict[str, tuple[float, str]] = {}
    for message, rank in zip(messages, ranks, strict=True):
        if message.parent is not None and rank is not None:
            best = ranked.get(message.parent, (rank, message.id))
            ranked[message.parent] = min(best, (rank, message.id))
    ids = {message.id for message in messages}
    first = next((message for message in messages if message.parent not in ids), messages[0])
    is_dated = any(message.at for message in messages)
    return Conversation(
        id=tree_id,
        messages=messages,
        created_at=first.at,
        current=None if is_dated and not ranked else _shown(first, messages, ranked),
        about=about or {},
    )


def _shown(root: Message, messages: list[Message], ranked: Mapping[str, tuple[float, str]]) -> str:
    """Return the last message of the branch of the best replies, elsewhere of the first ones."""
    first: dict[str, str] = {}
    for message in messages:
        if message.parent is not None:
            first.setdefault(message.parent, message.id)
    seen: dict[str, None] = {}
    below: str | None = root.id
    while below is not None and below not in seen:
        seen[below] = None
        below = ranked[below][1] if below in ranked else first.get(below)
    return list(seen)[-1]


def _message_of(
    raw: object, parent: str | None, *, number: int = 0
) -> tuple[Message, list[Any], float | None]:
    """Return the message, the raw replies, and the rank among its siblings."""
    where = f"message {number + 1}"
    if not isinstance(raw, dict):
        raise _MalformedError(f"{where} is not a JSON object")
    message_id, text, role, rank = raw.get("message_id"), raw.get("text"), raw.get("role"), raw.get("rank")
    if not isinstance(message_id, str):
        raise _MalformedError(f"{where} has no string 'message_id'")
    where = f"{where} ({message_id[:60]!r})"
    if not isinstance(text, str):
        raise _MalformedError(f"{where} has no string 'text'")
    if not isinstance(role, str) or role not in _ROLES:
        raise _MalformedError(f"{where} has the role {role!r}, neither 'prompter' nor 'assistant'")
    replies = raw.get("replies", [])
    if not isinstance(replies, list):
        raise _MalformedError(f"{where} has 'replies' that are not a list")
    message = Message(
        id=str(number),
        key=message_id,
        parent=parent,
        role=role,
        said=[text],
        at=raw.get("created_date"),
        source=rest(raw, *_MAPPED),
        may_be_empty=True,
    )
    return message, replies, rank if isinstance(rank, int | float) else None
