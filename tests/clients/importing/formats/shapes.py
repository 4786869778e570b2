"""What a reader makes of files, as short lines that tests compare."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from forklore.importing.files import read_file
from forklore.importing.foreign_trees import ForeignTree, ImportReport

WHO = {"USER": "user", "AI": "assistant", "SYSTEM": "system", "TOOL": "tool"}


def trees_of(path: Path, report: ImportReport | None = None) -> list[ForeignTree]:
    """Return the trees of a file or a folder."""
    found = read_file(path, ImportReport() if report is None else report)
    return [tree for tree in found if isinstance(tree, ForeignTree)]


def tree_of(path: Path, report: ImportReport | None = None) -> ForeignTree:
    """Return the only tree of a file or a folder."""
    [tree] = trees_of(path, report)
    return tree


def lines_of(tree: ForeignTree, at: int | None = None) -> list[str]:
    """Return what is said from the root down to a message, a line for each part.

    Without one, down to the current end.
    """
    at = tree.current if at is None else at
    way: list[int] = []
    while at is not None:
        way.append(at)
        at = tree.messages[at].parent
    return [line for one in reversed(way) for line in said(tree.messages[one])]


def branches(tree: ForeignTree) -> list[list[str]]:
    """Return the lines down to each leaf that is not a child's, the current one first."""
    child = [False] * len(tree.messages)
    for at, message in enumerate(tree.messages):
        child[at] = message.is_child or (message.parent is not None and child[message.parent])
    leaves = [at for at, one in enumerate(tree.messages) if not one.replies and not child[at]]
    ends = sorted(leaves, key=lambda at: at != tree.current)
    return [lines_of(tree, at) for at in ends]


def said(message: Any) -> list[str]:
    """Return a line for each part of a message, as `user: …`, `call: NAME` or `image`."""
    who = "summary" if message.is_summary else WHO.get(message.role, "?")
    found = []
    for event in message.content.get("events") or [{"type": "text", "textAt": [0, len(message.text)]}]:
        kind = event["type"]
        if kind == "text":
            begin, end = event["textAt"]
            found += [f"{who}: {message.text[begin:end]}"] if end > begin else []
        elif kind == "thinking":
            found.append(f"thought: {event['thinking']}")
        elif kind == "tool_use":
            found.append(f"call: {event['name']}")
        elif kind == "tool_result":
            found.append(f"result: {' '.join(texts(event.get('content')))}".strip())
        else:
            found.append(f"{kind} {event.get('name', '')}".strip())
    found += [f"file {one.get('name', '')}".strip() for one in message.content.get("attachments", [])]
    return found


def texts(content: Any) -> Iterable[str]:
    """Return the texts of a result's content."""
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        yield str(part.get("text", part.get("result", ""))) if isinstance(part, dict) else str(part)


def database_of(sql: Path, target: Path) -> Path:
    """Make the database that a file of SQL tells."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(target)) as database:
        database.executescript(f"BEGIN;{sql.read_text(encoding='utf-8')}COMMIT;")  # each row alone is slow
    return target
