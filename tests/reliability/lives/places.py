"""Where an application runs: its process, its clients, and the folder that all of them share."""

import asyncio
import inspect
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from forklore import AsyncForklore, Forklore
from forklore.aws.wiring import Given
from forklore.embedded.folder import FILE
from forklore.embedded.opened import Opened
from forklore.local.store import set_environment
from tests.client.here import InvokesHere, served
from tests.reliability.lives.faults import Faulty
from tools.deployment.template import Template
from tools.harness.gateway import AGENTS, given

WAYS = ("folder", "async folder", "http", "async http", "lambda", "async lambda")
AGENT = "planner"


class Journal:
    """A file of records, which outlives the process that writes to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()
        self.records: list[dict[str, Any]] = [*map(json.loads, path.read_text().splitlines())]

    def write(self, what: str, **fields: Any) -> int:
        """Add a record; return its number."""
        self.records.append({"what": what, **fields})
        with self._path.open("a") as file:
            file.write(json.dumps(self.records[-1]) + "\n")
        return len(self.records) - 1


class Place:
    """The clients of one process. own: the application's, through the faults."""

    def __init__(
        self, site: Path, way: str, planned: Mapping[int, str], template: Template, stack: ExitStack
    ) -> None:
        self.site, self.journal = site, Journal(site / "journal")
        self.folder, self._backup = site / "data", site / "backup"
        is_async, self._way = way.startswith("async "), way.removeprefix("async ")
        self._template, self._stack = template, stack
        if self._way != "folder":
            opened = Opened(self.folder)
            stack.callback(opened.close)
            stack.enter_context(given(Given(lambda: opened.engine, opened.worker.queue)))
        self._url = stack.enter_context(served(template)) if self._way == "http" else ""
        self._made: dict[str, Forklore] = {}
        self.own: Any = self._client(AsyncForklore if is_async else Forklore, "ann")
        self.faults = Faulty(self.own._transport, planned)
        self.own._set(self.faults, self.own._options, self.own._identity)

    def _client(self, kind: Any, user: str) -> Any:
        match self._way:
            case "folder":
                made = kind.local(user=user, client=AGENT, data=self.folder)
            case "http":
                made = kind(self._url, token=user, client_key=AGENTS[AGENT])
            case _:
                made = kind.on_lambda(
                    "AgentFunction", user=user, client=AGENT, boto_client=InvokesHere(self._template)
                )
        self._stack.callback(lambda: self.wait(made.aclose() if kind is AsyncForklore else made.close()))
        return made

    def other(self, user: str) -> Forklore:
        """Return a client of somebody else, without faults. It never needs an event loop."""
        if user not in self._made:
            self._made[user] = self._client(Forklore, user)
        return self._made[user]

    def wait(self, result: Any) -> Any:
        """Return a result. What is awaited gets an event loop of its own, as in many a handler."""

        async def awaited() -> Any:
            return await result

        return asyncio.run(awaited()) if inspect.isawaitable(result) else result

    def swap(self) -> bool:
        """Make the backup; if there is one, put it in the place of the folder. Return if it was."""
        if not self._backup.exists():
            self._backup.mkdir()
            source, target = (sqlite3.connect(one / FILE) for one in (self.folder, self._backup))
            with closing(source), closing(target):
                source.backup(target)
            return False
        self.folder.rename(self.site / "gone")
        shutil.copytree(self._backup, self.folder)
        return True


@contextmanager
def opened_place(site: Path, way: str, planned: Mapping[int, str], template: Template) -> Iterator[Place]:
    """Yield the place of a process."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "FORKLORE_")):
            del os.environ[name]
    set_environment()
    with ExitStack() as stack:
        yield Place(site, way, planned, template, stack)
