"""A plugin of pytest for the OpenAI Agents SDK's own tests: our session in the place of SQLite's.

The variables of the environment say which service: URL of one over HTTP, without one it runs in
this process. USED is the file that says at the end how often each method was called.
"""

import inspect
import json
import linecache
import os
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import agents
import agents.memory
import pytest

from forklore import Forklore
from forklore.adapters.openai_agents import ForkloreSession

URL, USED, LEFT_OUT = "FORKLORE_SUITE_URL", "FORKLORE_SUITE_USED", "FORKLORE_SUITE_LEFT_OUT"
METHODS = ("get_items", "add_items", "pop_item", "clear_session")
used: Counter[str] = Counter()


class Session(ForkloreSession):
    """The session, with the constructor of `SQLiteSession`. Each database has names of its own."""

    client: Forklore

    def __init__(
        self,
        session_id: str,
        db_path: str | Path = ":memory:",
        session_settings: Any = None,
    ) -> None:
        database = str(uuid.uuid4()) if str(db_path) == ":memory:" else str(db_path)
        client = type(self).client
        super().__init__(session_id, client, prefix=f"{database}/", session_settings=session_settings)

    def close(self) -> None:  # type: ignore[override]
        """Do nothing: the client is closed at the end."""

    def __getattribute__(self, name: str) -> Any:
        if name in METHODS:
            used[name] += 1
        return super().__getattribute__(name)


def pytest_configure() -> None:
    """Put the session in the place of the SDK's before a test imports it."""
    url = os.environ.get(URL)
    Session.client = (
        Forklore(url, token=f"ann-{uuid.uuid4()}", client_key="planner-key")
        if url
        else Forklore.local(user="ann", client="planner")
    )
    agents.SQLiteSession = Session  # type: ignore[misc,assignment]
    agents.memory.SQLiteSession = Session  # type: ignore[misc,assignment]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of what SQLite alone has, and of the runner's those without a session."""
    named = set(os.environ[LEFT_OUT].split())
    theirs = [item for item in items if named & {item.name, item.name.partition("[")[0]}]
    others = [item for item in items if item.path.parent.name != "memory" and not _has_session(item)]
    config.hook.pytest_deselected(items=theirs)
    items[:] = [item for item in items if item not in theirs and item not in others]


def _has_session(item: pytest.Item) -> bool:
    """Tell whether the lines of a test name their session. `inspect.getsource` takes seconds."""
    code = inspect.unwrap(item.function).__code__  # type: ignore[attr-defined]
    last = max(line for *_, line in code.co_lines() if line)
    return "SQLiteSession" in "".join(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 : last])


def pytest_sessionfinish() -> None:
    """Write how often each method was called."""
    Path(os.environ[USED]).write_text(json.dumps(used))
    Session.client.close()
