"""Databases of agent frameworks: the adapter of the framework reads them, if it is installed."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from forklore.importing.files import is_database


class Framework(NamedTuple):
    """A framework whose databases are read. table: one that they have. reader: a module."""

    table: str
    extra: str
    reader: str


_FRAMEWORKS = (
    Framework("checkpoints", "langgraph", "forklore.adapters.langgraph.databases"),
    Framework("agent_sessions", "openai-agents", "forklore.adapters.openai_agents.databases"),
)


def framework_of(path: Path) -> Framework | None:
    """Return the framework that a database belongs to; None for any other file."""
    if not is_database(path):
        return None
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    except sqlite3.Error:
        return None
    return next((one for one in _FRAMEWORKS if one.table in tables), None)
