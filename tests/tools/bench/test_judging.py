"""What is too dear is said to be."""

from dataclasses import replace

import pytest

from tools.bench.cost import Row
from tools.bench.growth import COMPARED, compared, growth_table, unexplained
from tools.bench.judging import MARK_CAN_GO, UNEXPLAINED
from tools.bench.limits import MISSED, limits_of, limits_table
from tools.bench.meter import Cost
from tools.bench.money import Function, Prices, of_million
from tools.bench.shapes import BASE


def row(name: str, *, read: float = 0, write: int = 0, rounds: int = 1, forks: int = 1) -> Row:
    cost = Cost(requests=rounds, rounds=rounds, read_units=read, write_units=write)
    return Row(name, replace(BASE, forks=forks), cost, Cost(1, 1, read_units=1, write_units=2), None)


@pytest.mark.parametrize(("write", "rounds", "holds"), [(6, 1, True), (7, 1, False), (6, 2, False)])
def test_a_limit_that_is_not_held_is_seen(write: int, rounds: int, holds: bool) -> None:
    append = row("append", write=write, rounds=rounds)

    assert [UNEXPLAINED not in said for _, _, said in limits_of([append, row("health")])] == [holds]
    assert (UNEXPLAINED not in limits_table([append])) is holds


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        ((3, 86, 0), f"**missed**: {MISSED['children'].why}"),
        ((4, 86, 0), f"**missed**: {UNEXPLAINED}"),
        ((3, 87, 0), f"**missed**: {UNEXPLAINED}"),
        ((3, 86, 1), f"**missed**: {UNEXPLAINED}"),
        ((3, 60, 0), MARK_CAN_GO),
    ],
)
def test_a_limit_that_is_known_to_be_missed_is_held_to_what_is_accepted(
    taken: tuple[int, int, int], said: str
) -> None:
    rounds, read, write = taken
    [(_, _, is_said)] = limits_of([row("children", rounds=rounds, read=read, write=write)])

    assert is_said.startswith(said)


def test_every_mark_says_in_all_figures_what_is_accepted() -> None:
    for name, missed in MISSED.items():
        accepted = missed.accepted
        assert None not in (accepted.rounds, accepted.read_units, accepted.write_units), name


def test_what_grows_is_seen_unless_it_is_explained() -> None:
    small = [row("append", write=10), row("show", read=10), row("change")]
    large = [row("append", write=11), row("show", read=12), row("change", read=1)]

    assert [one.name for one in unexplained("forks", small, large)] == ["show", "change"]


@pytest.mark.parametrize(
    ("axis", "name", "places", "small", "most"),
    [
        ("forks", "forks", (1, 1_000), (3, 8, 0), (3, 27, 0)),
        ("forks", "delete, all", (1, 1_000), (8, 50, 261), (9, 186, 4257)),
        ("chain", "show", (10, 990), (2, 10, 0), (2, 17, 0)),
        ("chain", "show", (2, 12), (2, 10, 0), (2, 11, 0)),
        ("chain", "fork, at the head", (10, 990), (3, 10, 12), (3, 17, 74)),
        ("chain", "append", (10, 990), (1, 0, 6), (1, 0, 6)),
        ("chain", "newest page", (10, 990), (4, 30, 0), (4, 55, 0)),
        ("chain", "first page", (2, 12), (3, 22, 0), (4, 38, 0)),
        ("entries", "newest page, of a fork", (100, 10_000), (3, 17, 0), (3, 23, 0)),
        ("entry_bytes", "append", (1024, 4096), (1, 0, 6), (1, 0, 14)),
    ],
)
def test_what_is_explained_may_cost_what_its_reasons_do_and_no_more(
    axis: str, name: str, places: tuple[int, int], small: tuple[int, ...], most: tuple[int, ...]
) -> None:
    def at(place: int, units: tuple[int, ...]) -> Row:
        shape = replace(BASE, **{"forks": 0, "chain": 0, axis: place})
        return replace(row(name, rounds=units[0], read=units[1], write=units[2]), shape=shape)

    before = at(places[0], small)

    assert unexplained(axis, [before], [at(places[1], most)]) == []
    for figure in range(3):
        more = tuple(units + (at_ == figure) for at_, units in enumerate(most))
        assert unexplained(axis, [before], [at(places[1], more)]), (figure, more)


def test_the_places_of_an_axis_that_are_compared_are_found_by_what_varies() -> None:
    few, many = COMPARED["forks"]
    places = [[row("show", read=5, forks=forks)] for forks in (0, few, many)]
    places[2][0].cost.read_units = 9

    assert compared("forks", places) == (places[1], places[2])
    assert UNEXPLAINED in growth_table("forks", places)


def test_a_million_requests_cost_what_their_units_and_their_time_do() -> None:
    prices = Prices(read_units=1, write_units=10, requests=3, invocations=2, gigabyte_seconds=0.001)
    function = Function(function_seconds=0.1, page_seconds=0.2, authorizer_seconds=0.05, log_bytes=1_000)

    append = of_million(row("append", read=2, write=6), prices, function)
    page = of_million(row("newest page"), prices, function)

    assert append == pytest.approx(
        {"DynamoDB": 62, "API Gateway": 3, "Lambda": 2 * 2 + 150, "logs": prices.log_gigabytes}
    )
    assert page["Lambda"] == pytest.approx(2 * 2 + 250)
