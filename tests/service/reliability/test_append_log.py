"""Eight processes append and read under faults and wrong clocks. All they saw fits one order."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import sqrt
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from forklore_service.domain.model import Caller
from tests.service.reliability.faults import Fault
from tests.service.reliability.figures import Measure
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.list_append import Final, Shown, check, of_line
from tests.service.reliability.log_writer import KILL_RATE, RATE
from tests.service.reliability.service import Process
from tests.support.machine_clock import MachineClock
from tests.support.processes import Process as Started
from tests.support.processes import started
from tests.support.tables import Store

PROCESSES = 8
OFF_SECONDS_MAX = 300
ROUND_APPENDS = 2_500
"""Appends per set of conversations. Each set is read and checked before the next one begins."""
ROUNDS_OF_A_PROCESS = 4
ROOTS, UNBORN = 6, 2
ANN = Caller("ann", "planner")
CLOCKS = [
    MachineClock(round(OFF_SECONDS_MAX * (2 * number / (PROCESSES - 1) - 1)), sees_date=number % 4 < 2)
    for number in range(PROCESSES)
]


class Writers:
    """The processes that append and read. Each has its own log."""

    def __init__(self, processes: Sequence[Started], files: Sequence[Path]) -> None:
        self._processes = processes
        self._logs = [file.open(encoding="utf-8") for file in files]

    def work(self, jobs: Sequence[Any]) -> Counter[str]:
        """Give each process a job; wait for all of them, and return the sum of their counts."""
        for process, job in zip(self._processes, jobs, strict=True):
            assert process.stdin
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
        counts: Counter[str] = Counter()
        for process in self._processes:
            assert process.stdout
            told = json.loads(process.stdout.readline())
            assert "failed" not in told, told["failed"]
            counts.update(told["done"])
        return counts

    def lines(self) -> Iterator[str]:
        """Yield the lines of all logs since the last call."""
        for log in self._logs:
            yield from log

    def close(self) -> None:
        for log in self._logs:
            log.close()


@contextmanager
def writers(store: Store, folder: Path, seed: int) -> Iterator[Writers]:
    """Yield the writers: one process for each clock."""
    folder.mkdir()
    files = [folder / f"{number}.jsonl" for number in range(PROCESSES)]
    with ExitStack() as stack:
        processes = []
        for number, (clock, file) in enumerate(zip(CLOCKS, files, strict=True)):
            file.touch()
            arguments = [*clock.arguments, str(number), str(seed), str(file)]
            assert store.endpoint is not None
            processes.append(
                stack.enter_context(
                    started(
                        "tests.service.reliability.log_writer",
                        *arguments,
                        endpoint=store.endpoint,
                        table=store.name,
                    )
                )
            )
        opened = Writers(processes, files)
        stack.callback(opened.close)
        yield opened


def new_ids(random: Random, count: int) -> list[str]:
    return [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(count)]


def born(store: Store, roots: Sequence[str]) -> None:
    """Create conversations of Ann that Bob may write to."""
    process = Process(store)
    for root in roots:
        assert process.ask("createConversation", ANN, id=root).status == 201
        shared = process.ask(
            "shareConversation", ANN, conversationId=root, userId="bob", accessLevel="writer"
        )
        assert shared.status == 201


def whole(process: Process, conversation_id: str, *, backward: bool = False) -> list[Shown]:
    """Return all entries that a conversation shows, read page by page."""
    found: list[Shown] = []
    cut = {"tail": "true"} if backward else {}
    while True:
        answer = process.ask("listEntries", ANN, conversationId=conversation_id, limit="1000", **cut)
        assert answer.status == 200, answer
        page = [Shown(one["id"], one["content"][0], one["conversationId"]) for one in answer.body["data"]]
        found = [*page, *found] if backward else [*found, *page]
        at = answer.body["beforeCursor" if backward else "afterCursor"]
        if at is None:
            return found
        cut = {"beforeCursor" if backward else "afterCursor": at}


def conversations_of(process: Process, root: str) -> list[str]:
    """Return every conversation of a tree."""
    found: list[str] = []
    cut: dict[str, str] = {}
    while True:
        answer = process.ask("listForks", ANN, conversationId=root, limit="200", **cut)
        if answer.status == 404:
            return found
        found += [one["conversationId"] for one in answer.body["data"]]
        if answer.body["afterCursor"] is None:
            return found
        cut = {"afterCursor": answer.body["afterCursor"]}


def final_of(store: Store, roots: Sequence[str]) -> Final:
    """Return what every conversation of the trees shows. Checks that both directions agree."""
    process = Process(store)
    final = {c: whole(process, c) for root in roots for c in conversations_of(process, root)}
    for conversation_id, shown in final.items():
        assert whole(process, conversation_id, backward=True) == shown
    return final


@pytest.mark.failure("lost-answer", "wrong-clock", "two-appenders")
def test_what_eight_processes_saw_of_their_appends_and_reads_fits_one_order(
    served_store: Store, measure: Measure, tmp_path: Path
) -> None:
    """No append is lost, doubled, reordered or made up.

    Each kind of fault hits 5 % of the calls, and the clocks are wrong by up to 5 minutes. Several
    processes append to one conversation. A request appends one to eight values. If its outcome is
    unknown, it is repeated with its Idempotency-Key. The figures count acknowledged values.
    """
    goal = measure.goal(ci=1_000, gate=20_000)
    random = measure.random
    done: Counter[str] = Counter()
    number = 0
    while done["appends"] < goal:
        with writers(served_store, tmp_path / str(number), random.getrandbits(32)) as processes:
            for _ in range(ROUNDS_OF_A_PROCESS):
                number += 1
                done += work_and_check(served_store, processes, random, number, goal - done["appends"])
                if done["appends"] >= goal:
                    break

    assert_intact(served_store)
    wanted = ["appends", "requests ok", "requests failed", "requests unknown", "known by a retry"]
    wanted += ["forks", "pages", "whole walks", "kills", "given up", "steps"]
    measure.count(**{name: done[name] for name in wanted})
    for fault in Fault:
        measure.count(**{f"fault {fault}": done[f"fault {fault}"]})
    assert [name for name in wanted if done[name] < goal // 1000] == []
    for fault in Fault:
        expected = done[f"could {fault}"] * (KILL_RATE / 2 if fault.is_end else RATE)
        assert abs(done[f"fault {fault}"] - expected) < 6 * sqrt(expected), fault


def work_and_check(
    store: Store, processes: Writers, random: Random, number: int, appends_left: int
) -> Counter[str]:
    """Let the processes append to new conversations; check all that they saw; return the counts."""
    roots, never_live = new_ids(random, ROOTS), new_ids(random, UNBORN)
    born(store, roots)
    appends = -(-min(appends_left, ROUND_APPENDS) // PROCESSES)
    job = {"round": number, "roots": roots, "unborn": never_live, "appends": appends}
    done = processes.work([job] * PROCESSES)
    final = final_of(store, [*roots, *never_live])
    assert check(map(of_line, processes.lines()), final) == []
    return done
