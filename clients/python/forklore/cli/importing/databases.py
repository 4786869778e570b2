"""Databases of agent frameworks: the adapter of the framework reads them, if it is installed."""

import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from forklore.cli.exits import DONE, NO, USAGE
from forklore.cli.importing.files import is_database
from forklore.cli.importing.reporting import HEADER, counted
from forklore.cli.shell import Shell
from forklore.extras import from_extra


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


def import_sessions(shell: Shell, path: Path, framework: Framework, *, shown: str, is_dry: bool) -> int:
    """Import the sessions of a database, and say what became of each. Return the exit code."""
    code, sessions, entries, before = DONE, 0, 0, 0
    try:
        with from_extra(framework.extra):
            reader = import_module(framework.reader)
            for name, size, found, problem in reader.copied_sessions(path, None if is_dry else shell.client):
                sessions, entries, before = sessions + 1, entries + size, before + found
                told = {"type": "session", "file": shown, "name": name, "entries": size, "found": found}
                if problem:
                    code = NO
                    shell.say(f"session {name}: {problem}")
                if shell.out.is_json:
                    shell.out.result({**told, "problems": [problem] if problem else []})
                elif not problem:
                    shell.out.table(HEADER[1:], [(str(size), name)])
    except sqlite3.Error as error:
        shell.say(f"forklore: {shown}: {error}")
        return USAGE
    there = f", {before:,} of them from an earlier import" if before else ""
    shell.say(f"{shown}: {counted(sessions, 'session')}, {counted(entries, 'entry')}{there}")
    return code
