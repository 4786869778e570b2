"""Where an application runs: its clients, what goes wrong with them, and the folder they share."""

import asyncio
import inspect
import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from forklore import AsyncForklore, Forklore
from forklore.client.calls import Call, RawAnswer, TransportError
from forklore_local.in_process.folder import FILE
from forklore_local.in_process.opened import Opened
from forklore_local.server.files import ServedObjects
from forklore_service.aws.wiring import Given
from tests.clients.python.here import InvokesHere, served
from tests.support.processes import PROJECT
from tools.deployment.template import Template
from tools.harness.gateway import AGENTS, given

WAYS = ("folder", "async folder", "http", "async http", "lambda", "async lambda")
ON_NODE = "typescript http"
"""Where the client for TypeScript runs. It takes some of the steps: `application.js`."""
CLIENT = PROJECT / "clients" / "typescript" / "dist" / "index.js"
AGENT = "planner"
KINDS = ("dies before", "dies after", "unsent", "lost", "lost")
"""What happens to a call: this process is killed, or the call or its answer is lost."""
FAILED = 300


class Faulty:
    """A transport, also one for asyncio. planned: the kind of fault, by the number of the call."""

    def __init__(self, inner: Any, planned: Mapping[int, str]) -> None:
        self._inner, self._planned = inner, planned
        self._sent = 0
        self._meanwhile: Callable[[], None] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def lose_next(self, meanwhile: Callable[[], None]) -> None:
        """Lose the answer of the next write that succeeds, when somebody else has acted."""
        self._meanwhile = meanwhile

    def send(self, call: Call, timeout_s: float) -> Any:
        """Send once, or do not."""
        self._sent += 1
        kind = self._planned.get(self._sent, "")
        if kind == "dies before":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "unsent":
            raise TransportError("planted: the request was lost")
        answer = self._inner.send(call, timeout_s)
        is_async = inspect.isawaitable(answer)
        return self._awaited(call, answer, kind) if is_async else self._end(call, answer, kind)

    async def _awaited(self, call: Call, answer: Awaitable[RawAnswer], kind: str) -> RawAnswer:
        return self._end(call, await answer, kind)

    def _end(self, call: Call, answer: RawAnswer, kind: str) -> RawAnswer:
        if kind == "dies after":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._meanwhile is not None and not call.shape.is_read and answer.status < FAILED:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()
            kind = "lost"
        if kind == "lost":
            raise TransportError("planted: the answer was lost")
        return answer


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
    """The clients of one process. own: the application's. stack: closes what it opens."""

    def __init__(
        self, site: Path, way: str, planned: Mapping[int, str], template: Template, stack: ExitStack
    ) -> None:
        self.site, self.journal = site, Journal(site / "journal")
        self.folder, self._backup = site / "data", site / "backup"
        is_async, self._way = way.startswith("async "), way.rpartition(" ")[2]
        self._template, self._stack = template, stack
        if self._way != "folder":
            opened = Opened(self.folder)
            stack.callback(opened.close)
            objects = ServedObjects(opened.objects.folder)
            stack.enter_context(given(Given(lambda: opened.engine, opened.worker.queue, objects)))
        self.url = stack.enter_context(served(template)) if self._way == "http" else ""
        self._made: dict[str, Forklore] = {}
        self.own: Any = self._client(AsyncForklore if is_async else Forklore, "ann")
        self.faults = Faulty(self.own._transport, planned)
        self.own._set(self.faults, self.own._options, self.own._identity)

    def _client(self, kind: Any, user: str) -> Any:
        match self._way:
            case "folder":
                made = kind.local(user=user, client=AGENT, data=self.folder)
            case "http":
                made = kind(self.url, token=user, client_key=AGENTS[AGENT])
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
