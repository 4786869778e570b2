"""What forklore has read of a program's sessions, and where that differs from the talk."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from forklore import Forklore, role_of
from tools.programs.program import Told
from tools.programs.stand_in import SUMMARY
from tools.programs.story import Line

Tree = Mapping[str, Sequence[Line]]
"""The lines of each branch by a name, the current one first."""


def trees_of(forklore: Forklore) -> list[Tree]:
    """Return all trees, each with what its branches show, by their ids."""
    found: list[Tree] = []
    for root in forklore.conversations(mode="roots"):
        forks = sorted(forklore.conversation(root.id).forks(), key=lambda one: not one.is_current)
        found.append({one.conversation_id: lines_of(forklore, one.conversation_id) for one in forks})
    return found


def children_of(forklore: Forklore, trees: Sequence[Tree]) -> list[list[Line]]:
    """Return the lines of each conversation that a branch has started."""
    branches = [branch for tree in trees for branch in tree]
    started = {child.id for one in branches for child in forklore.conversation(one).children()}
    return [lines_of(forklore, child) for child in sorted(started)]


def lines_of(forklore: Forklore, conversation: str) -> list[Line]:
    """Return what a branch shows."""
    entries = forklore.conversation(conversation).entries(channel="history")
    return [line for entry in entries for line in _lines(entry)]


def _lines(entry: Any) -> Iterator[Line]:
    role = {"user": "user", "ai": "assistant"}.get(role_of(entry) or "")
    images = len(entry.attachments)
    for message in entry.content:
        text = str(message.get("text", ""))
        events = message.get("events") or []
        if text and not any("textAt" in event for event in events):
            events = [{"type": "text", "textAt": [0, len(text)]}, *events]
        for event in events:
            if "textAt" in event:
                start, end = event["textAt"]
                if SUMMARY in text[start:end]:
                    yield "summary", text[start:end]
                elif role is not None and text[start:end].strip():
                    yield role, text[start:end]
            elif event["type"] == "thinking":
                yield "thought", event["thinking"]
            elif event["type"] == "tool_use":
                space = (message.get("source") or {}).get("namespace")
                yield "call", f"{space}.{event['name']}" if space else event["name"]
            elif event["type"] == "tool_result":
                yield "result", str(event.get("content"))
            elif "image" in event["type"] or "file" in event["type"]:
                images = max(images, 1)
    yield from [("image", "")] * images


def differences(told: Told, trees: Sequence[Tree], children: Sequence[Sequence[Line]]) -> list[str]:
    """Return what a person said or saw, and was not read so, and what was read beside it."""
    found = []
    for number, tree in enumerate(told.trees, 1):
        fits = [[name for name, lines in tree.items() if not _is_in(lines, one)] for one in trees]
        least = min(fits, key=len, default=list(tree))
        found += [f"tree {number} has no branch {name!r}" for name in least]
    branches, read = (sum(map(len, all_of)) for all_of in (told.trees, trees))
    if len(trees) != len(told.trees):
        found.append(f"{len(trees)} trees in place of {len(told.trees)}")
    if read != branches:
        found.append(f"{read} branches in place of {branches}")
    for asked, lines in told.children.items():
        if not any(are_same(lines, one) for one in children):
            found.append(f"no child {asked!r}")
    return found


def _is_in(lines: Sequence[Line], tree: Tree) -> bool:
    return any(are_same(lines, one) for one in tree.values())


def are_same(told: Sequence[Line], read: Sequence[Line]) -> bool:
    """Tell whether the lines that were read are those that were told."""
    return len(told) == len(read) and all(
        any(_fits(one, other) for other in some) for one, some in zip(told, _alternatives(read), strict=True)
    )


def _alternatives(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Yield for each line those that may stand in its place.

    The order of results, and of a text and its picture, is the program's.
    """
    kinds = {"result": "result", "user": "user", "image": "user"}
    for _, some in groupby(lines, key=lambda line: kinds.get(line[0], object())):
        group = list(some)
        yield from [group] * len(group)


def _fits(told: Line, read: Line) -> bool:
    what, words = told
    text = read[1].strip()
    if what == "interrupted":
        return read[0] == "assistant" and text.startswith(words)
    if what in ("result", "summary", "image"):
        return read[0] == what and (what == "image" or words.strip() in text)
    return read[0] == what and text in (words, f"@square.png {words}")
