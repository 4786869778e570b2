"""Databases of agent frameworks: the adapter of the framework reads them, if it is installed."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from forklore.importing.sources import columns_of, is_database


class Framework(NamedTuple):
    """A framework whose databases are read. table, column: what they have. reader: a module.

    without: a table of others that build on it, and lay their items out otherwise.
    """

    table: str
    column: str
    without: str
    extra: str
    reader: str


_FRAMEWORKS = (
    Framework("checkpoints", "checkpoint_ns", "", "langgraph", "forklore.adapters.langgraph.databases"),
    Framework(
        "agent_sessions",
        "session_id",
        "message_structure",
        "openai-agents",
        "forklore.adapters.openai_agents.databases",
    ),
)


def framework_of(path: Path) -> Framework | None:
    """Return the framework that a database belongs to; None for any other file."""
    if not is_database(path):
        return None
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            columns = columns_of(database)
    except sqlite3.Error:
        return None
    return next(
        (
            one
            for one in _FRAMEWORKS
            if one.column in columns.get(one.table, ()) and one.without not in columns
        ),
        None,
    )
