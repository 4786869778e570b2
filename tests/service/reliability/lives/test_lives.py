"""Applications are killed and begun again. What they leave must be what `model.py` says."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from os import environ, pathsep
from pathlib import Path
from random import Random
from shutil import which
from typing import Any

import pytest

from tests.service.reliability.figures import Measure
from tests.service.reliability.lives.application import MOVES, SECONDS_MAX
from tests.service.reliability.lives.model import check
from tests.service.reliability.lives.places import CLIENT, KINDS, ON_NODE, WAYS, Journal
from tests.service.reliability.violation import Violation, hold
from tests.support.processes import PROJECT

STEPS, CALLS, FAULTS, RUNS_WITH_FAULTS, RUNS_MAX = 14, 40, 4, 4, 8
REQUIRED = "FORKLORE_REQUIRE_RUNTIMES"
ENDS = {0, -signal.SIGKILL}


@contextmanager
def host() -> Iterator[Any]:
    """Yield a function that lets an application run, and returns when its process has ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.service.reliability.lives.application"],
        cwd=PROJECT,
        env={"PATH": environ["PATH"], "PYTHONPATH": pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        put, get = process.stdin, process.stdout
        assert put
        assert get

        def run(**asked: Any) -> int:
            put.write(json.dumps(asked) + "\n")
            put.flush()
            return int(get.readline())

        yield run
        put.close()


def live(run: Any, site: Path, random: Random, measure: Measure, ways: Sequence[str] = WAYS) -> None:
    """Let one application live, and check what it has left."""
    steps = [(random.choice(MOVES), random.random() < 0.7) for _ in range(STEPS)]
    begin, told = 0, ""
    for number in range(RUNS_MAX):
        faults = FAULTS if number < RUNS_WITH_FAULTS else 0
        planned = {random.randint(1, CALLS): random.choice(KINDS) for _ in range(faults)}
        way, seed = random.choice(ways), random.getrandbits(32)
        end = run(site=str(site), way=way, steps=steps, begin=begin, faults=planned, seed=seed)
        measure.count(runs=1, killed=end != 0, on_node=way == ON_NODE)
        journal = Journal(site / "journal").records
        told += f"\n  {way} from step {begin}, {planned}: {end}"
        try:
            hold(end in ENDS, f"a process ended with {end}; {SECONDS_MAX} s are the most it has")
            counts = check(journal)
        except Violation as error:
            steps_told = " ".join(f"{move}{'' if keyed else '-'}" for move, keyed in steps)
            raise Violation(f"{' '.join(map(str, error.args))}\n  {steps_told}{told}\n  {site}") from error
        if counts["ended"]:
            measure.count(**counts)
            return
        begin = random.randint(0, max((one["number"] for one in journal if one["what"] == "step"), default=0))
    raise Violation("an application never came to its end", told)


@pytest.mark.failure("lost-answer", "retry-without-key", "faulty-network", "other-place")
@pytest.mark.failure("replaced-folder", "revocation-in-children")
def test_what_applications_have_said_is_there_once_whoever_killed_them(
    tmp_path: Path, measure: Measure
) -> None:
    random = measure.random
    with host() as run:
        for number in range(measure.goal(ci=12, gate=300)):
            site = tmp_path / str(number)
            site.mkdir()
            live(run, site, random, measure)
    assert all(measure.counts[what] for what in ("killed", "done", "changed", "saw", "tried", "restored"))


@pytest.mark.failure("lost-answer", "retry-without-key", "faulty-network")
def test_the_same_holds_for_applications_that_also_run_on_node(tmp_path: Path, measure: Measure) -> None:
    if not (which("node") and CLIENT.exists()):
        assert not environ.get(REQUIRED), "there is no Node, or `make build-typescript` was not run"
        pytest.skip("there is no Node, or `make build-typescript` was not run")
    random = measure.random
    with host() as run:
        for number in range(measure.goal(ci=6, gate=100)):
            site = tmp_path / str(number)
            site.mkdir()
            live(run, site, random, measure, [*[ON_NODE] * len(WAYS), *WAYS])
    assert all(measure.counts[what] for what in ("killed", "done", "saw", "on_node"))


def told(what: str, *texts: str, **fields: Any) -> dict[str, Any]:
    return {"what": what, "line": "job", "texts": list(texts), "flag": "bob", **fields}


SAID = [told("begun", "a"), told("done", "a"), told("begun", "b"), told("done", "b")]
REMOVED = [told("changing"), told("changed", begun=0, to=False)]
INVITED_MEANWHILE = [told("changing"), told("changing"), told("changed", begun=1, to=True), *REMOVED[1:]]


@pytest.mark.parametrize(
    ("journal", "is_kept"),
    [
        ([*SAID, told("saw", "a", "b")], True),
        ([*SAID, told("saw", "b")], False),
        ([*SAID, told("saw", "b", "a")], False),
        ([*SAID, told("saw", "a", "b", "b")], False),
        ([*SAID, told("saw", "a", "b", "c")], False),
        ([*SAID, told("begun", "c"), told("saw", "a", "b", "c")], True),
        ([*SAID[:2], told("backup"), *SAID[2:], told("restored"), told("saw", "a")], True),
        ([*SAID[:2], told("backup"), told("restored"), *SAID[2:], told("saw", "a")], False),
        ([*REMOVED, told("tried", may=False)], True),
        ([*REMOVED, told("tried", may=True)], False),
        ([*INVITED_MEANWHILE, told("tried", may=True)], True),
        ([*INVITED_MEANWHILE, told("tried", may=False)], False),
        ([told("crashed", error="RuntimeError")], False),
    ],
)
def test_the_model_tells_a_promise_that_is_kept_from_one_that_is_not(
    journal: list[dict[str, Any]], is_kept: bool
) -> None:
    with nullcontext() if is_kept else pytest.raises(Violation):
        check(journal)
