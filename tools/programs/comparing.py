"""What forklore has read of a program's sessions, as lines, and where that differs from the talk."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from forklore import Forklore, role_of, text_of
from tools.programs.story import Line

Tree = Mapping[str, Sequence[Line]]
"""The lines of each branch, the current one first."""


def trees_of(forklore: Forklore) -> list[Tree]:
    """Return all trees, each with its branches by their ids: what each branch shows, once."""
    found = []
    for root in forklore.conversations(mode="roots"):
        current, *others = sorted(
            forklore.conversation(root.id).forks(), key=lambda fork: not fork.is_current
        )
        found.append({fork.id: lines_of(forklore, fork.id) for fork in (current, *others)})
    return found


def children_of(forklore: Forklore, tree: Tree) -> Iterator[list[Line]]:
    """Yield the lines of each child that the branches of a tree have."""
    seen = set()
    for branch in tree:
        for child in forklore.conversation(branch).children():
            if child.id not in seen:
                seen.add(child.id)
                yield lines_of(forklore, child.id)


def lines_of(forklore: Forklore, conversation: str) -> list[Line]:
    """Return what a branch shows."""
    entries = forklore.conversation(conversation).entries(channel="history")
    return [line for entry in entries for line in _lines(entry)]


def _lines(entry: Any) -> Iterator[Line]:
    message = entry.content[0]
    role = {"user": "user", "ai": "assistant"}.get(role_of(entry) or "", role_of(entry) or "")
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": text_of(entry)}]
    for part in parts:
        kind = part.get("type") if isinstance(part, Mapping) else "text"
        text = part if isinstance(part, str) else str(part.get("text", ""))
        if kind == "thinking":
            yield "thought", str(part["thinking"])
        elif kind == "tool_use":
            yield "call", str(part["name"])
        elif kind == "tool_result":
            yield "result", str(part.get("content"))
        elif kind == "text":
            yield role, text
        elif "image" in str(kind) or "file" in str(kind):
            yield "image", str(part)
    for _ in entry.attachments or ():
        yield "image", ""
