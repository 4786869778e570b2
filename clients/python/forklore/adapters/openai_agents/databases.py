"""The sessions of a SQLite database of the SDK, in forklore: an agent goes on where it was."""

import asyncio
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from forklore import Forklore
from forklore.adapters.openai_agents import ForkloreSession
from forklore.client.generated.limits import APPEND_ENTRIES_MAX
from forklore.extras import needing

with needing("openai-agents"):
    from agents import SQLiteSession

PREFIX = "openai/"
"""Of the names of the sessions in forklore, as `ForkloreSession` has it without another one."""


def copied_sessions(path: Path, client: Forklore | None) -> Iterator[tuple[str, int, int, str]]:
    """Yield the name of each session, how many items it has, how many were there, and a problem.

    client: None copies nothing. The SDK reads a copy of the database, so the file stays as it is. A
    session in forklore that has other items stays as it is, too: that is the problem.
    Raises sqlite3.Error for a database that cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="forklore-") as folder:
        copy = Path(folder) / "sessions.db"
        with (
            closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
            rows = target.execute("SELECT session_id FROM agent_sessions ORDER BY created_at, session_id")
            sessions = [str(session_id) for (session_id,) in rows]
        for session_id in sessions:
            size, found, problem = asyncio.run(_copied(session_id, copy, client))
            yield PREFIX + session_id, size, found, problem


async def _copied(session_id: str, path: Path, client: Forklore | None) -> tuple[int, int, str]:
    """Add the items of a session that are not there yet. Return what `copied_sessions` tells."""
    source = SQLiteSession(session_id, path)
    try:
        items: list[Any] = await source.get_items()
    finally:
        source.close()
    if client is None:
        return len(items), 0, ""
    session = ForkloreSession(session_id, client, prefix=PREFIX)
    held: list[Any] = await session.get_items(limit=-1)
    if held[: len(items)] != items[: len(held)]:
        return len(items), 0, "the session in forklore has other items"
    for start in range(len(held), len(items), APPEND_ENTRIES_MAX):
        await session.add_items(items[start : start + APPEND_ENTRIES_MAX])
    return len(items), min(len(held), len(items)), ""
