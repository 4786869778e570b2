"""Brings the sessions of programs into a store, again and again: only what has changed is read."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

from forklore.importing.carrying_out import Carried, Unchanged, Wait, carry_out, sender
from forklore.importing.earlier_imports import EarlierImports
from forklore.importing.one_file import FileImport, ImportOptions
from forklore.importing.plan import Plan
from forklore.sessions.finding import SessionFile
from forklore.sessions.seen import Seen

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.client import Forklore

THREADS = 2


@dataclass(slots=True)
class Collected:
    """What a run has brought. brought: messages that are new, by the program. sessions: that were
    read, by the program. left_out: why, and how often. problems: lines, each with the file."""

    brought: Counter[str] = field(default_factory=Counter)
    sessions: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def collect(
    client: "Callable[[], Forklore]",
    files: Iterable[SessionFile],
    seen: Seen,
    *,
    owner: str,
    agent: str | None = None,
    project: str | None = None,
    redacts: bool = False,
    on_file: Callable[[SessionFile], None] = lambda _: None,
) -> Collected:
    """Import what has changed of the files since they were collected into this store.

    client: returns that of the store, when something is to be sent. owner, agent, redacts: as for
    `ImportOptions`. project: the name of the only folder whose sessions are wanted; the files of
    others are looked at again the next time. on_file: called with each file, when it is done.
    Raises the ApiError that ends all; what is done until then is noted.
    """
    collecting = _Collecting(client, seen, ImportOptions(owner, agent, redacts=redacts), project)
    try:
        for file in files:
            if not seen.is_same(file.path, file.look):
                collecting.file(file)
            on_file(file)
        collecting.rest()
    finally:
        seen.save()
    return collecting.done


class _Collecting:
    """A run. done: what it has brought so far."""

    def __init__(
        self,
        client: "Callable[[], Forklore]",
        seen: Seen,
        options: ImportOptions,
        project: str | None,
    ) -> None:
        self.done = Collected()
        self._client, self._seen = client, seen
        self._options, self._project = options, project
        self._earlier = EarlierImports(client)
        self._since = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._waiting: list[tuple[SessionFile, FileImport]] = []
        self._is_partly: set[str] = set()

    def file(self, file: SessionFile) -> None:
        """Import a file. What goes on from a session that is not there yet waits."""
        one = FileImport(file.path, replace(self._options, given=file.program.name))
        self._import(file, one)
        if one.later:
            self._waiting.append((file, one))
        else:
            self._end(file, one)

    def rest(self) -> None:
        """Import what waits, whether what it goes on from has come or not."""
        for file, one in self._waiting:
            self._import(file, one, rest=True)
            self._end(file, one)

    def _import(self, file: SessionFile, one: FileImport, *, rest: bool = False) -> None:
        plans = (
            plan
            for plan in one.plans(earlier=self._earlier, rest=rest)
            if isinstance(plan, Wait) or self._is_wanted(file, plan)
        )
        first = next(plans, None)
        if first is None:  # what has nothing to send makes no folder of data
            return
        send = sender(self._client(), one.brought)
        carrying = carry_out(chain([first], plans), send, threads=THREADS, since=self._since)
        with closing(carrying) as carried:
            for tree in carried:
                self._add(file, tree)

    def _is_wanted(self, file: SessionFile, plan: Plan | Unchanged) -> bool:
        if self._project is None or isinstance(plan, Unchanged):
            return True
        tags: Mapping[str, str] = plan.conversations[0].settings.get("tags", {})
        is_wanted = tags.get("project") == self._project
        if not is_wanted:
            self._is_partly.add(str(file.path))
        return is_wanted

    def _add(self, file: SessionFile, tree: Carried | Unchanged) -> None:
        name, done = file.program.name, self.done
        done.sessions[name] += 1
        done.brought[name] += tree.entries - tree.found
        if tree.problems:
            done.problems += [f"{file.path}: {problem}" for problem in tree.problems]
            self._is_partly.add(str(file.path))
        if isinstance(tree, Carried):
            if tree.problems:
                self._earlier.give_up(tree.plan)
            else:
                differs = tree.loading.changed or tree.loading.left_out
                self._earlier.bring_up_to_date(tree, is_same=not differs)

    def _end(self, file: SessionFile, one: FileImport) -> None:
        one.held.close()
        if one.problem is not None and not one.is_empty:  # a program has only begun a session
            self.done.problems.append(one.problem)
        for reason, count in one.report.counts.items():
            self.done.left_out[str(reason)] += count
        if not one.is_closed and str(file.path) not in self._is_partly:
            self._seen.put(file.path, file.look)
