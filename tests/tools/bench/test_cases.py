"""The start of every function is measured, and costs are read as they were written."""

from tools.bench.cases import CASES
from tools.bench.cold_start import BARE, FIRST, LARGE
from tools.bench.costs import ACCEPTED, accepted, written
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT


def test_the_cold_start_of_every_function_is_measured() -> None:
    functions = read_template(PROJECT / "template.yaml").functions
    assert {*FIRST, *LARGE} == {BARE, *(function.name for function in functions)}


def test_the_accepted_costs_are_read_as_they_were_written() -> None:
    text = ACCEPTED.read_text()
    costs = accepted(text)

    assert text.endswith(written(costs))
    assert {case for case, cost in costs["base"].items() if cost} > set(CASES)
