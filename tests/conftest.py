"""Fixtures of the whole suite: a DynamoDB in a process of its own, for what moto cannot show; the log."""

from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest

from tests.reliability.figures import COUNT, SEED
from tests.support.dynamodb_local import any_dynamodb, dynamodb_local_or_skip
from tests.support.lines import Lines, reading_lines


@pytest.fixture(scope="session")
def dynamodb_endpoint() -> Iterator[str]:
    """The address of a DynamoDB Local, or of a moto where there is none and none is asked for."""
    with any_dynamodb() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def dynamodb_local_endpoint() -> Iterator[str]:
    """The address of a DynamoDB Local; tests that need it are skipped where there is none, or fail."""
    with dynamodb_local_or_skip() as endpoint:
        yield endpoint


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged from here on, as Lambda writes it."""
    with reading_lines() as read:
        yield read


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the checks of reliability have done, each with its seed."""
    done: dict[str, Counter[str]] = defaultdict(Counter)
    seeds: dict[str, set[object]] = defaultdict(set)
    for report in terminalreporter.getreports("") + terminalreporter.getreports("error"):
        kept = dict(getattr(report, "user_properties", ()))  # of a teardown: all that the test has done
        if "seed" in kept:
            test = report.nodeid.partition("[")[0]
            done[test].update({n.removeprefix(COUNT): kept[n] for n in kept if n.startswith(COUNT)})
            seeds[test].add(kept["seed"])
    if done:
        terminalreporter.section("what was checked")
    for test, counts in sorted(done.items()):
        told = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items())
        seed = f" ({SEED}={next(iter(seeds[test]))})" if len(seeds[test]) == 1 else ""
        terminalreporter.line(f"{test}: {told}{seed}")
