"""What costs too much is marked."""

from dataclasses import replace

import pytest

from tools.bench.cases import CASES
from tools.bench.cost import CASCADE, Row
from tools.bench.growth import COMPARED, GROWS, compared, growth_of, growth_table
from tools.bench.judging import NOW_MET, UNEXPLAINED
from tools.bench.limits import MISSED, Limit, Missed, limits_of, limits_table
from tools.bench.meter import Cost
from tools.bench.money import Function, Prices, of_million
from tools.bench.shapes import BASE


def row(name: str, *, read: float = 0, write: int = 0, rounds: int = 1, forks: int = 1) -> Row:
    cost = Cost(requests=rounds, rounds=rounds, read_units=read, write_units=write)
    return Row(name, replace(BASE, forks=forks), cost, Cost(1, 1, read_units=1, write_units=2), None)


@pytest.mark.parametrize(("write", "rounds", "holds"), [(6, 1, True), (7, 1, False), (6, 2, False)])
def test_a_limit_that_is_exceeded_is_seen(write: int, rounds: int, holds: bool) -> None:
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
        ((3, 60, 0), NOW_MET),
    ],
)
def test_a_limit_that_is_known_to_be_missed_is_held_to_the_accepted_figures(
    taken: tuple[int, int, int], said: str
) -> None:
    rounds, read, write = taken
    [(_, _, is_said)] = limits_of([row("children", rounds=rounds, read=read, write=write)])

    assert is_said.startswith(said)


def test_every_missed_limit_has_all_accepted_figures() -> None:
    for name, missed in MISSED.items():
        accepted = missed.accepted
        assert None not in (accepted.rounds, accepted.read_units, accepted.write_units), name


def test_what_grows_by_more_than_a_tenth_is_seen_unless_it_was_accepted() -> None:
    small = [row("append", write=10), row("show", read=10), row("change"), row("forks", read=8), row("sync")]
    large = [
        row("append", write=11),
        row("show", read=12),
        row("change", read=1),
        row("forks", read=26),
        row("sync", rounds=2),
    ]

    said = dict(growth_of("forks", small, large, {"forks": Missed("a page", Limit(1, 26, 0))}))

    assert said == {
        "append": "",
        **dict.fromkeys(("show", "change", "sync"), f"**missed**: {UNEXPLAINED}"),
        "forks": "**missed**: a page",
    }


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        ((3, 27, 0), "**missed**: "),
        ((4, 27, 0), f"**missed**: {UNEXPLAINED}"),
        ((3, 28, 0), f"**missed**: {UNEXPLAINED}"),
        ((3, 27, 1), f"**missed**: {UNEXPLAINED}"),
        ((3, 8, 0), NOW_MET),
    ],
)
def test_what_is_known_to_grow_is_held_to_what_was_measured(taken: tuple[int, int, int], said: str) -> None:
    rounds, read, write = taken
    small = [row("forks", rounds=3, read=8)]
    large = [row("forks", rounds=rounds, read=read, write=write)]

    [(_, is_said)] = growth_of("forks", small, large, GROWS["forks"])

    assert is_said.startswith(said)
    assert (UNEXPLAINED in is_said) is (UNEXPLAINED in said)


def test_on_a_chain_a_request_may_read_the_path() -> None:
    small = [row("show", read=10), row("share", read=14)]
    large = [row("show", read=18), row("share", read=23)]

    assert dict(growth_of("chain", small, large, {})) == {"show": "", "share": f"**missed**: {UNEXPLAINED}"}


def test_every_case_that_grows_is_a_case() -> None:
    assert {name for grows in GROWS.values() for name in grows} <= {*CASES, CASCADE}


def test_the_places_of_an_axis_that_are_compared_are_found_by_what_varies() -> None:
    few, many = COMPARED["forks"]
    places = [[row("show", read=5, forks=forks)] for forks in (0, few, many)]
    places[2][0].cost.read_units = 9

    assert compared("forks", places) == (places[1], places[2])
    assert UNEXPLAINED in growth_table("forks", places)


def test_an_axis_that_is_not_judged_is_shown() -> None:
    one, other = row("show", read=5), row("show", read=9)
    other = replace(other, shape=replace(BASE, entry_bytes=4096))

    assert growth_table("entry_bytes", [[one], [other]]).splitlines()[2:] == [
        "| show        | 1 / 5 / 0 | 1 / 9 / 0 |         |"
    ]


def test_a_million_requests_cost_what_their_units_and_their_time_do() -> None:
    prices = Prices(read_units=1, write_units=10, requests=3, invocations=2, gigabyte_seconds=0.001)
    function = Function(function_seconds=0.1, page_seconds=0.2, authorizer_seconds=0.05, log_bytes=1_000)

    append = of_million(row("append", read=2, write=6), prices, function)
    page = of_million(row("newest page"), prices, function)

    assert append == pytest.approx(
        {"DynamoDB": 62, "API Gateway": 3, "Lambda": 2 * 2 + 150, "logs": prices.log_gigabytes}
    )
    assert page["Lambda"] == pytest.approx(2 * 2 + 250)
