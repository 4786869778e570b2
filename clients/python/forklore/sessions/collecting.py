"""Brings the sessions of programs into a store, again and again: only what has changed is read."""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

from forklore.importing.carrying_out import Carried, Unchanged, carry_out, sender
from forklore.importing.earlier_imports import EarlierImports
from forklore.importing.one_file import FileImport, ImportOptions
from forklore.importing.plan import Plan
from forklore.sessions.finding import SessionFile
from forklore.sessions.seen import Seen

if TYPE_CHECKING:
    from forklore.client.synchronous.client import Forklore

THREADS = 2


@dataclass(slots=True)
class Collected:
    """What a run has brought. brought: messages that are new, by the program. sessions: that were
    read, by the program. left_out: lines, each why and how often. problems: lines, each with the
    file. conversations: the current branch of each session that has something new."""

    brought: Counter[str] = field(default_factory=Counter)
    sessions: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    conversations: list[tuple[str, int]] = field(default_factory=list)


def collect(
    client: "Callable[[], Forklore]",
    files: Iterable[SessionFile],
    seen: Seen,
    *,
    owner: str,
    agent: str | None = None,
    project: str | None = None,
    on_file: Callable[[SessionFile], None] = lambda _: None,
) -> Collected:
    """Import what has changed of the files since they were collected into this store.

    client: returns that of the store, when something is to be sent. owner, agent: as for
    `ImportOptions`. project: the name of the only folder whose sessions are wanted; the files of
    others are looked at again the next time. on_file: called with each file, when it is done.
    Raises the ApiError that ends all; what is done until then is noted.
    """
    done, earlier = Collected(), EarlierImports(client)
    since = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    try:
        for file in files:
            if not seen.is_same(file.path, file.look):
                options = ImportOptions(owner, agent, file.program.name)
                if _is_brought(client, file, done, earlier, options, since, project):
                    seen.put(file.path, file.look)
            on_file(file)
    finally:
        if done.sessions or done.problems:
            seen.save()
    return done


def _is_brought(
    client: "Callable[[], Forklore]",
    file: SessionFile,
    done: Collected,
    earlier: EarlierImports,
    options: ImportOptions,
    since: str,
    project: str | None,
) -> bool:
    """Import a file. Return whether nothing more is to be done for it as it is."""
    before, passed = len(done.problems), 0

    def wanted(plan: Plan | Unchanged) -> bool:
        nonlocal passed
        tags = plan.conversations[0].settings.get("tags", ()) if isinstance(plan, Plan) else ()
        is_wanted = project is None or isinstance(plan, Unchanged) or f"project:{project}" in tags
        passed += not is_wanted
        return is_wanted

    one, name = FileImport(file.path, options), file.program.name
    try:
        plans = filter(wanted, one.plans(known=earlier.unchanged))
        first = next(plans, None)
        if first is not None:
            send = sender(client(), one.brought)
            carrying = carry_out(
                chain([first], plans), send, threads=THREADS, since=since, known=earlier.of_plan
            )
            with closing(carrying) as carried:
                for tree in carried:
                    done.sessions[name] += 1
                    done.problems += [f"{file.path}: {problem}" for problem in tree.problems]
                    new = tree.entries - tree.found
                    done.brought[name] += new
                    if isinstance(tree, Carried) and not tree.problems:
                        differs = tree.loading.changed or tree.loading.left_out
                        earlier.bring_up_to_date(tree, is_same=not differs)
                    if new:
                        done.conversations.append((tree.conversation_id, new))
    finally:
        one.held.close()
    is_done = len(done.problems) == before and not passed
    if one.problem is not None:
        done.problems.append(one.problem)
    for reason, count in one.report.counts.items():
        done.left_out[str(reason)] += count
    return is_done
