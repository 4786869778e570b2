"""What is too dear is said to be."""

from dataclasses import replace

import pytest

from bench.cost import Row
from bench.growth import COMPARED, compared, growth_table, unexplained
from bench.limits import limits_of, limits_table
from bench.meter import Cost
from bench.money import Function, Prices, of_million
from bench.shapes import BASE


def row(name: str, *, read: float = 0, write: int = 0, rounds: int = 1, forks: int = 1) -> Row:
    cost = Cost(requests=rounds, rounds=rounds, read_units=read, write_units=write)
    return Row(name, replace(BASE, forks=forks), cost, Cost(1, 1, read_units=1, write_units=2), None)


@pytest.mark.parametrize(("write", "rounds", "holds"), [(6, 1, True), (7, 1, False), (6, 2, False)])
def test_a_limit_that_is_not_held_is_seen(write: int, rounds: int, holds: bool) -> None:
    append = row("append", write=write, rounds=rounds)

    assert [held for _, _, held in limits_of([append, row("health")])] == [holds]
    assert ("**unexplained**" in limits_table([append])) is not holds


def test_what_grows_is_seen_unless_it_is_explained() -> None:
    small = [row("append", write=10), row("show", read=10), row("forks", read=1), row("change")]
    large = [row("append", write=11), row("show", read=12), row("forks", read=9), row("change", read=1)]

    assert [one.name for one in unexplained("forks", small, large)] == ["show", "change"]


def test_the_places_of_an_axis_that_are_compared_are_found_by_what_varies() -> None:
    few, many = COMPARED["forks"]
    places = [[row("show", read=5, forks=forks)] for forks in (0, few, many)]
    places[2][0].cost.read_units = 9

    assert compared("forks", places) == (places[1], places[2])
    assert "**unexplained**" in growth_table("forks", places)


def test_a_million_requests_cost_what_their_units_and_their_time_do() -> None:
    prices = Prices(read_units=1, write_units=10, requests=3, invocations=2, gigabyte_seconds=0.001)
    function = Function(function_seconds=0.1, page_seconds=0.2, authorizer_seconds=0.05, log_bytes=1_000)

    append = of_million(row("append", read=2, write=6), prices, function)
    page = of_million(row("newest page"), prices, function)

    assert append == pytest.approx(
        {"DynamoDB": 62, "API Gateway": 3, "Lambda": 2 * 2 + 150, "logs": prices.log_gigabytes}
    )
    assert page["Lambda"] == pytest.approx(2 * 2 + 250)
