"""Several callers write, stop, finish, take over and read answers, under faults and kills."""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from forklore_service.domain import keys
from forklore_service.domain.answer_logs import Part
from forklore_service.domain.model import Caller
from forklore_service.storage import bodies, items
from forklore_service.storage.clock import system_ms
from tests.service.reliability.answer_logs import (
    REMOVALS,
    Asked,
    Final,
    Kind,
    asked_too_late,
    check,
    of_lines,
)
from tests.service.reliability.answer_writer import USERS, Client, FastClock
from tests.service.reliability.conditions import without
from tests.service.reliability.faults import Rewrite
from tests.service.reliability.figures import Measure, skip_unless_tried
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.list_append import Outcome
from tests.service.reliability.service import Process
from tests.service.reliability.violation import hold
from tests.service.reliability.world import settle
from tests.support.processes import Process as Started
from tests.support.processes import started
from tests.support.tables import Store

CALLERS = len(USERS)
ROUND_PARTS, ROUNDS_MAX = 1_200, 12
"""Parts for each set of conversations. Each set is checked before the next one begins."""
LATER_S = 12 * 3600
"""So far ahead is the worker's clock, because those of the callers are fast."""
ANN = Caller(USERS[0])
WANTED = (
    "part ok",
    "begin ok",
    "finish ok",
    "drop ok",
    "stop ok",
    "read ok",
    *(f"{kind} ok" for kind in REMOVALS),
    "kills",
    "known by a retry",
    "taken over",
    "finished by another",
    *(f"refused after {kind}" for kind in REMOVALS),
)
"""What each run must do, beside the parts."""
FREE = "Put ANSWER: attribute_not_exists(PK) OR ttl < :now"
LOST_WITHOUT = (
    FREE,
    "Update HEAD (answer, answerAfter): attribute_not_exists(answer)",
    "Update HEAD (answer, answerAfter): answer = :seen",
)
ROUNDS_WITHOUT_MAX, ROUND_PARTS_WITHOUT = 20, 120


def job_of(store: Store, random: Random, parts: int) -> dict[str, Any]:
    """Make conversations that all callers may write to. Return the job of one caller."""
    begun = system_ms()
    process = Process(store, clock=FastClock(begun))
    plain, shared, doomed, branch = (str(UUID(int=random.getrandbits(128), version=4)) for _ in range(4))
    for root in (plain, shared, doomed):
        said: Any = {"contentType": "text/plain", "content": ["?"]}
        assert process.ask("appendEntry", ANN, conversationId=root, **said).status == 201
        for user in USERS[1:]:
            given = {"conversationId": root, "userId": user, "accessLevel": "writer"}
            assert process.ask("shareConversation", ANN, **given).status == 201
    assert process.ask("forkConversation", ANN, conversationId=plain, id=branch).status == 201
    removed = {Kind.REMOVE_MEMBER: shared, Kind.REMOVE_BRANCH: branch, Kind.DELETE_TREE: doomed}
    conversations = [plain, shared, doomed, branch]
    return {
        "begun": begun,
        "conversations": conversations,
        "removed": removed,
        "parts": -(-parts // CALLERS),
        "trees": {one: plain if one == branch else one for one in conversations},
    }


def final_of(store: Store, trees: dict[str, str]) -> Final:
    """Return what the table holds of answers and entries, before a worker removes anything."""
    logs: dict[str, dict[int, Part]] = defaultdict(dict)
    entries: dict[str, list[str]] = defaultdict(list)
    for key, item in store.contents().items():
        if keys.is_part(key):
            part = items.part(item, now_s=0)
            assert part is not None
            logs[key.partition.rpartition("#")[2]][part.position] = part
        elif "L1" in item and "body" in item:
            stored = items.stored_entry(item)
            entries["".join(json.loads(bodies.decode(stored.body)))].append(stored.entry_id)
    in_order = {answer_id: [log[at] for at in sorted(log)] for answer_id, log in logs.items()}
    return Final(in_order, entries, trees)


def judge(store: Store, job: dict[str, Any], asked: Sequence[Asked]) -> Counter[str]:
    """Assert that all that was seen in a round goes with what is there, which is intact.

    Return what became of the answers, and what was refused.
    """
    final = final_of(store, job["trees"])
    answers = {one.answer for one in asked} & final.logs.keys()
    faults = check(asked, Final({one: final.logs[one] for one in answers}, final.entries, final.trees))
    hold(not faults, *faults[:20])
    assert_intact(store)
    perhaps = [one for one in asked if one.outcome is not Outcome.FAILED]
    dropped = {one.answer for one in perhaps if one.kind is Kind.DROP}
    sealed = {one for one in answers if final.logs[one][-1].is_end and final.logs[one][-1].entry is None}
    begun_by = {one: final.logs[one][0].user_id for one in answers}
    finished = [one for one in asked if one.kind is Kind.FINISH and one.outcome is Outcome.OK]
    counts = Counter({"answers": len(answers), "taken over": len(sealed - dropped)})
    counts["finished by another"] = sum(begun_by[one.answer] != one.user for one in finished)
    counts.update(f"refused after {end.kind}" for end, _ in asked_too_late(asked, final))
    return counts


def in_threads(store: Store, random: Random, parts: int, rewrite: Rewrite) -> None:
    """Let the callers work side by side in this process, and judge what they saw."""
    asked = dict[str, Asked]()
    job = job_of(store, random, parts)
    clients = [
        Client(
            number,
            Random(random.random()),
            store,
            lambda one: asked.update({one.number: one}),
            rewrite=rewrite,
        )
        for number in range(CALLERS)
    ]
    with ThreadPoolExecutor(CALLERS) as threads:
        for _ in threads.map(lambda client: client.work(job), clients):
            pass
    judge(store, job, list(asked.values()))
    settle(store, in_seconds=LATER_S)
    assert_intact(store, settled=True)


@contextmanager
def callers(store: Store, folder: Path, seed: int) -> Iterator[list[tuple[Started, Path]]]:
    """Yield a process for each caller, and another one for the last one's user; with their logs."""
    with ExitStack() as stack:
        processes = []
        for number in [*range(CALLERS), 2 * CALLERS - 1]:
            file = folder / f"{number}.jsonl"
            file.touch()
            arguments = (str(number), str(seed), str(file))
            assert store.endpoint is not None
            module = "tests.service.reliability.answer_writer"
            made = started(module, *arguments, endpoint=store.endpoint, table=store.name)
            processes.append((stack.enter_context(made), file))
        yield processes


def give(process: Started, job: dict[str, Any]) -> None:
    assert process.stdin
    process.stdin.write(json.dumps(job) + "\n")
    process.stdin.flush()


def counts_of(process: Started) -> Counter[str]:
    assert process.stdout
    told = json.loads(process.stdout.readline())
    assert "failed" not in told, told["failed"]
    return Counter(told["done"])


@pytest.mark.failure(
    "two-at-one-answer",
    "killed-between-calls",
    "lost-answer",
    "write-during-revocation",
    "write-during-deletion",
)
def test_processes_that_write_one_answer_lose_nothing_and_double_nothing(
    served_store: Store, measure: Measure, tmp_path: Path
) -> None:
    """One of the processes is killed in the middle, and another one goes on for its user."""
    goal, random, done = measure.goal(ci=250, gate=4_000), measure.random, Counter[str]()
    number = 0

    def missing() -> list[str]:
        return [name for name in WANTED if done[name] < max(1, goal // 1_000)]

    # What a round meets depends on its processes, too: what none has met yet has another round.
    while done["parts"] < goal or (missing() and number < ROUNDS_MAX):
        folder = tmp_path / str(number)
        folder.mkdir()
        number += 1
        with callers(served_store, folder, random.getrandbits(32)) as processes:
            job = job_of(served_store, random, min(goal, ROUND_PARTS))
            *working, (victim, _), (heir, _) = processes
            for process, _ in [*working, (victim, None)]:
                give(process, job)
            time.sleep(random.uniform(0.5, 1.5))
            victim.kill()
            give(heir, job)
            for process in [*(one for one, _ in working), heir]:
                done += counts_of(process)
            lines = (line for _, file in processes for line in whole_lines(file))
            done += judge(served_store, job, of_lines(lines))
        settle(served_store, in_seconds=LATER_S)
        assert_intact(served_store, settled=True)
    measure.count(**{name: done[name] for name in ("answers", *WANTED, "never known")})
    assert missing() == []


def whole_lines(file: Path) -> Iterable[str]:
    """Return the lines of a log. The last one may be cut."""
    return (line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n"))


@pytest.mark.parametrize("condition", LOST_WITHOUT)
def test_without_a_condition_the_check_fails(store: Store, measure: Measure, condition: str) -> None:
    """The callers work side by side in this process, a few rounds at most."""
    skip_unless_tried(measure, ci=condition == FREE)
    random = measure.random
    for number in range(ROUNDS_WITHOUT_MAX):
        try:
            in_threads(store, random, ROUND_PARTS_WITHOUT, without(condition))
        except AssertionError:
            measure.count(rounds=number + 1)
            return
    raise AssertionError(f"nothing fails without {condition}")
