"""The threads of a SQLite database of LangGraph, in forklore: a graph goes on where it was.

LangGraph's own saver reads the database, so `langgraph-checkpoint-sqlite` must be installed.
"""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from forklore import Forklore
from forklore.adapters.langgraph import ForkloreSaver
from forklore.extras import MissingExtraError, needing

with needing("langgraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

PREFIX = "langgraph/"
"""Of the names of the threads in forklore, as `ForkloreSaver` has it without another one."""


def copied_sessions(path: Path, client: Forklore | None) -> Iterator[tuple[str, int, int, str]]:
    """Yield the name of each thread, how many checkpoints it has and had, and a problem.

    client: None copies nothing. A copy of the database is read, so the file stays as it is.
    Raises sqlite3.Error for a database that cannot be read.
    """
    saver = _saver()
    with (
        tempfile.TemporaryDirectory(prefix="forklore-") as folder,
        closing(sqlite3.connect(Path(folder) / "threads.db", check_same_thread=False)) as copy,
        closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as source,
    ):
        source.backup(copy)
        rows = copy.execute("SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id")
        for thread_id in [str(thread_id) for (thread_id,) in rows]:
            target = None if client is None else ForkloreSaver(client, prefix=PREFIX)
            size, found = copied_thread(saver(copy), target, thread_id)
            yield PREFIX + thread_id, size, found, ""


def _saver() -> Any:
    """Return LangGraph's own saver. It is in a package of its own, which no extra installs."""
    try:
        return import_module("langgraph.checkpoint.sqlite").SqliteSaver
    except ModuleNotFoundError as error:
        package = "langgraph-checkpoint-sqlite"
        raise MissingExtraError(f"{package} is not installed: pip install {package}") from error


def copied_thread(
    source: BaseCheckpointSaver[Any], target: ForkloreSaver | None, thread_id: str
) -> tuple[int, int]:
    """Put the checkpoints of a thread, with their writes, that are not there yet.

    Return how many checkpoints the thread has, and how many were there.
    """
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    oldest_first = sorted(source.list(config), key=_id_of)
    if target is None:
        return len(oldest_first), 0
    held = {_id_of(one): len(one.pending_writes or ()) for one in target.list(config)}
    for one in oldest_first:
        configurable = one.config["configurable"]
        begin: RunnableConfig = {
            "configurable": {"thread_id": thread_id, "checkpoint_ns": configurable.get("checkpoint_ns", "")}
        }
        if _id_of(one) not in held:
            versions = one.checkpoint["channel_versions"]
            target.put(one.parent_config or begin, one.checkpoint, one.metadata, versions)
        writes = one.pending_writes or []
        if held.get(_id_of(one), 0) < len(writes):
            for task_id, of_task in groupby(writes, key=lambda write: write[0]):
                target.put_writes(one.config, [(channel, value) for _, channel, value in of_task], task_id)
    return len(oldest_first), sum(_id_of(one) in held for one in oldest_first)


def _id_of(one: CheckpointTuple) -> tuple[str, str]:
    """Return the id of a checkpoint, which grows with time, and its namespace."""
    return one.checkpoint["id"], one.config["configurable"].get("checkpoint_ns", "")
