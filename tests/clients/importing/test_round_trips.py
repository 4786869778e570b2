"""Random trees, written as each format has them, and read again."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.importing.files import read_stream
from forklore.importing.foreign_trees import ForeignTree, ImportReport
from forklore.importing.plain_conversations import ROLES
from forklore.importing.readers import importers
from forklore_service.domain.content import check_history
from tests.clients.importing.formats.writing import FORMATS
from tests.service.domain.builders import examples

Raw = dict[str, Any]
BEGIN = 1_700_000_000
ELSEWHERE = {"openai-agents", "llama-webui"}
"""The formats that `formats/test_read_right_or_refused.py` tries."""
ODD = "nobody-knows-this"
"""A member of each message that no reader maps."""


@dataclass
class Said:
    """A message of a tree. replies: their numbers, the first one first."""

    number: int
    parent: int | None
    role: str
    text: str
    replies: list[int] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"m{self.number}"

    @property
    def above(self) -> str | None:
        return None if self.parent is None else f"m{self.parent}"

    @property
    def at(self) -> int:
        return BEGIN + self.number

    @property
    def date(self) -> str:
        return datetime.fromtimestamp(self.at, UTC).isoformat().replace("+00:00", ".000Z")


Tree = list[Said]
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=20)


@st.composite
def trees(draw: st.DrawFn, *, is_line: bool = False, is_talk: bool = True) -> Tree:
    """Draw a tree of a person and a model. is_line: without branches. is_talk: they take turns."""
    made: Tree = []
    for number in range(draw(st.integers(1, 12))):
        parent = None if not made else number - 1 if is_line else draw(st.integers(0, number - 1))
        turn = "user" if parent is None or made[parent].role == "assistant" else "assistant"
        role = turn if is_talk else draw(st.sampled_from(["user", "assistant", "system"]))
        made.append(Said(number, parent, role, draw(TEXTS)))
        if parent is not None:
            made[parent].replies.append(number)
    return made


def chatgpt(tree: Tree, current: int | None) -> Iterator[Raw]:
    def node(one: Said) -> Raw:
        content = {"content_type": "text", "parts": [one.text]}
        said = {"author": {"role": one.role}, "content": content, "create_time": one.at, "odd": ODD}
        return {"parent": one.above, "children": [f"m{at}" for at in one.replies], "message": said}

    mapping = {one.id: node(one) for one in tree}
    yield {"id": "t", "mapping": mapping, "current_node": None if current is None else f"m{current}"}


def claude(tree: Tree, current: int | None) -> Iterator[Raw]:
    roles = {"user": "human", "assistant": "assistant"}
    messages = [
        {
            "uuid": one.id,
            "sender": roles[one.role],
            "text": "",
            "content": [{"type": "text", "text": one.text}],
            "created_at": one.date,
            "parent_message_uuid": one.above or "00000000-0000-4000-8000-000000000000",
            "odd": ODD,
        }
        for one in tree
    ]
    leaf = {} if current is None else {"current_leaf_message_uuid": f"m{current}"}
    yield {"uuid": "t", "chat_messages": messages, **leaf}


def message_trees(tree: Tree, _current: int | None) -> Iterator[Raw]:
    def message(one: Said) -> Raw:
        role = {"user": "prompter", "assistant": "assistant"}[one.role]
        replies = [message(tree[at]) for at in one.replies]
        named = {"message_id": one.id, "role": role, "created_date": one.date}
        return {**named, "text": one.text, "replies": replies, "odd": ODD}

    yield {"message_tree_id": "t", "prompt": message(tree[0])}


def messages_of_trees(tree: Tree, _current: int | None) -> Iterator[Raw]:
    for one in tree:
        role = {"user": "prompter", "assistant": "assistant"}[one.role]
        named = {"message_id": one.id, "parent_id": one.above, "message_tree_id": "t"}
        yield {**named, "role": role, "created_date": one.date, "text": one.text, "odd": ODD}


def claude_code(tree: Tree, _current: int | None) -> Iterator[Raw]:
    for one in tree:
        content: Any = one.text if one.role == "user" else [{"type": "text", "text": one.text}]
        yield {
            "sessionId": "t",
            "type": one.role,
            "uuid": one.id,
            "parentUuid": one.above,
            "timestamp": one.date,
            "message": {"role": one.role, "content": content},
            "odd": ODD,
        }
    yield {"sessionId": "t", "type": "file-history-snapshot", "snapshot": {}}


def codex(tree: Tree, _current: int | None) -> Iterator[Raw]:
    yield {"timestamp": tree[0].date, "type": "session_meta", "payload": {"id": "t", "cwd": "/x"}}
    for one in tree:
        part = {"type": "input_text" if one.role == "user" else "output_text", "text": one.text}
        said = {"type": "message", "role": one.role, "content": [part], "odd": ODD}
        yield {"timestamp": one.date, "type": "response_item", "payload": said}
    yield {"timestamp": tree[-1].date, "type": "event_msg", "payload": {"type": "token_count"}}


def open_webui(tree: Tree, current: int | None) -> Iterator[Raw]:
    def message(one: Said) -> Raw:
        named = {"id": one.id, "parentId": one.above, "childrenIds": [f"m{at}" for at in one.replies]}
        return {**named, "role": one.role, "content": one.text, "timestamp": one.at, "odd": ODD}

    history = {
        "messages": {one.id: message(one) for one in tree},
        "currentId": None if current is None else f"m{current}",
    }
    yield {"id": "t", "chat": {"history": history}}


def librechat(tree: Tree, _current: int | None) -> Iterator[Raw]:
    def message(one: Said) -> Raw:
        named = {"messageId": one.id, "createdAt": one.date, "isCreatedByUser": one.role == "user"}
        children = [message(tree[at]) for at in one.replies]
        return {**named, "text": one.text, "children": children, "odd": ODD}

    yield {"conversationId": "t", "messages": [message(tree[0])]}


def librechat_flat(tree: Tree, _current: int | None) -> Iterator[Raw]:
    messages = [
        {
            "messageId": one.id,
            "parentMessageId": one.above or "00000000-0000-0000-0000-000000000000",
            "createdAt": one.date,
            "isCreatedByUser": one.role == "user",
            "text": one.text,
            "odd": ODD,
        }
        for one in tree
    ]
    yield {"conversationId": "t", "messages": messages}


def messages_of(tree: Tree, _current: int | None) -> Iterator[Raw]:
    said = [
        {"id": one.id, "role": one.role, "content": one.text, "created_at": one.at, "odd": ODD}
        for one in tree
    ]
    yield {"id": "t", "messages": said}


def messages_on_lines(tree: Tree, current: int | None) -> Iterator[Raw]:
    for raw in messages_of(tree, current):
        yield from raw["messages"]


def sillytavern(tree: Tree, _current: int | None) -> Iterator[Raw]:
    yield {"user_name": "Ann", "character_name": "Oak", "chat_metadata": {"integrity": "t"}}
    for one in tree:
        yield {"is_user": one.role == "user", "mes": one.text, "send_date": one.date, "odd": ODD}


Write = Callable[[Tree, int | None], Iterator[Raw]]
TREES: list[tuple[str, Write]] = [
    *(("chatgpt", chatgpt), ("claude", claude), ("trees", message_trees), ("trees", messages_of_trees)),
    ("claude-code", claude_code),
    *(("open-webui", open_webui), ("librechat", librechat), ("librechat", librechat_flat)),
]
LINES: list[tuple[str, Write]] = [
    *(("codex", codex), ("messages", messages_of), ("messages", messages_on_lines)),
    ("sillytavern", sillytavern),
]
NAMES_THE_CURRENT_ONE = ("chatgpt", "claude", "open-webui")
COUNTED = {
    "claude-code": ["record that is no message: 1 (file-history-snapshot in line {})"],
    "codex": ["record that is no message: 1 (token_count in line {})"],
}


def read(kind: str, write: Write, tree: Tree, current: int | None) -> tuple[ForeignTree, ImportReport]:
    """Return a tree that was written and read, and what was left out."""
    lines = [json.dumps(raw) for raw in write(tree, current)]
    report = ImportReport()
    [found] = read_stream(io.BytesIO("\n".join(lines).encode()), report)
    assert isinstance(found, ForeignTree)
    assert found.source == kind
    counted = [line.format(len(lines)) for line in COUNTED.get(kind, [])]
    assert report.lines() == counted
    return found, report


def check(found: ForeignTree, tree: Tree, current: int | None) -> None:
    """Compare a tree that was read with what was written: the texts tell the messages apart."""
    order: list[int] = []
    waiting = [0]
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(tree[order[-1]].replies)
    place = {number: at for at, number in enumerate(order)}
    assert [(one.text, one.role, one.parent, one.said_at) for one in found.messages] == [
        (
            tree[at].text,
            ROLES[tree[at].role],
            None if (up := tree[at].parent) is None else place[up],
            tree[at].date,
        )
        for at in order
    ]
    leaves = [one.number for one in tree if not one.replies]
    assert found.current == place[max(leaves) if current is None else current]
    for one in found.messages:
        check_history("history", [one.content])
        assert ODD in json.dumps(one.content["source"])


def test_each_format_is_tried() -> None:
    assert {kind for kind, _ in TREES + LINES} | FORMATS.keys() | ELSEWHERE == importers().keys()


@examples(60)
@given(st.data())
@pytest.mark.parametrize(("kind", "write"), TREES)
def test_a_tree_comes_back_as_it_was_written(kind: str, write: Write, data: st.DataObject) -> None:
    tree = data.draw(trees())
    leaves = [one.number for one in tree if not one.replies]
    named = st.sampled_from(leaves) if kind in NAMES_THE_CURRENT_ONE else st.nothing()
    current = data.draw(st.none() | named)

    found, _ = read(kind, write, tree, current)

    check(found, tree, current)


@examples(60)
@given(st.data())
@pytest.mark.parametrize(("kind", "write"), LINES)
def test_a_line_comes_back_as_it_was_written(kind: str, write: Write, data: st.DataObject) -> None:
    tree = data.draw(trees(is_line=True, is_talk=kind == "sillytavern"))

    found, _ = read(kind, write, tree, None)

    check(found, tree, None)
