"""Times are compared with their targets. A missed target makes the benchmark fail."""

import pytest
from rich.console import Console

from tools.bench.cold_start import BARE, FIRST, Start, medians_of, show_targets
from tools.bench.cost import Row
from tools.bench.judging import NOISE, NOW_MET, UNEXPLAINED, Target, unexplained
from tools.bench.limits import limits_table
from tools.bench.meter import Cost
from tools.bench.shapes import BASE
from tools.bench.warm_path import Case, Measured, report
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT

TEMPLATE = PROJECT / "template.yaml"


@pytest.mark.parametrize(
    ("target", "taken", "said"),
    [
        (Target(3), 3.0, ""),
        (Target(3), 3.1, f"**missed**: {UNEXPLAINED}"),
        (Target(1.5, accepted=2, why="imports"), 2 * NOISE, "**missed**: imports"),
        (Target(1.5, accepted=2, why="imports"), 2 * NOISE + 0.01, f"**missed**: {UNEXPLAINED}"),
        (Target(1.5, accepted=2, why="imports"), 1.5, NOW_MET),
    ],
)
def test_a_time_is_held_to_its_target_or_to_what_is_accepted_and_its_noise(
    target: Target, taken: float, said: str
) -> None:
    assert target.verdict(taken).startswith(said)
    assert bool(target.verdict(taken)) is bool(said)


def test_the_cold_start_of_every_function_is_measured() -> None:
    assert {*FIRST} == {BARE, *(function.name for function in read_template(TEMPLATE).functions)}


def test_what_is_unexplained_in_any_table_makes_the_benchmark_fail() -> None:
    held, missed = ([Row("children", BASE, Cost(3, 3, read), Cost(1, 1, 1), None)] for read in (86, 87))
    slow = {function: [Start(ms, 1, ms, 1)] for function, ms in ((BARE, 100), ("EntriesFunction", 200))}
    blocks = {
        "limits": limits_table(missed),
        "limits, held": limits_table(held),
        "cold start": show_targets(medians_of(slow)),
        "better": Target(2, accepted=3, why="imports").verdict(1),
    }
    console = Console()

    with console.capture() as printed:
        found = unexplained(blocks, console)

    assert [line.partition("|")[0] for line in found] == ["limits: ", "cold start: ", "cold start: "]
    assert printed.get().splitlines() == [*found, f"better: {blocks['better']}"]


def test_the_warm_path_says_where_a_target_is_missed() -> None:
    cases = [Case(name, event=pytest.fail, target=Target(3)) for name in ("fast", "slow")]
    measured = {
        name: Measured(cpu=[ms], wall=[ms], floor=[[1]]) for name, ms in (("fast", 3.0), ("slow", 3.1))
    }

    [line] = unexplained({"warm path": report(cases, measured, runs=1)}, Console())

    assert line.startswith("warm path: | slow ")
