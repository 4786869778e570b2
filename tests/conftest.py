"""Fixtures of the whole suite: a DynamoDB in a process of its own, for what moto cannot show; the log."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.reliability.figures import COUNT, SEED
from tests.support.dynamodb_local import DynamoDBLocalMissing, any_dynamodb, dynamodb_local
from tests.support.lines import Lines, reading_lines


@pytest.fixture(scope="session")
def dynamodb_endpoint() -> Iterator[str]:
    """The address of a DynamoDB Local, or of a moto where there is none."""
    with any_dynamodb() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def dynamodb_local_endpoint() -> Iterator[str]:
    """The address of a DynamoDB Local; tests that need it are skipped where there is none."""
    with ExitStack() as stack:
        try:
            endpoint = stack.enter_context(dynamodb_local())
        except DynamoDBLocalMissing as missing:
            pytest.skip(f"NOT TESTED on DynamoDB Local: {missing}")
        yield endpoint


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged from here on, as Lambda writes it."""
    with reading_lines() as read:
        yield read


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the checks of reliability have done, each with its seed."""
    done: dict[tuple[str, object], Counter[str]] = defaultdict(Counter)
    for report in terminalreporter.getreports("") + terminalreporter.getreports("error"):
        kept = dict(getattr(report, "user_properties", ()))  # of a teardown: all that the test has done
        if "seed" in kept:
            counts = {name.removeprefix(COUNT): n for name, n in kept.items() if name.startswith(COUNT)}
            done[report.nodeid.partition("[")[0], kept["seed"]].update(counts)
    by_test: dict[str, Counter[str]] = defaultdict(Counter)
    seeds: dict[str, list[object]] = defaultdict(list)
    for (test, seed), counts in done.items():
        by_test[test].update(counts)
        seeds[test].append(seed)
    if by_test:
        terminalreporter.section("what was checked")
    for test, counts in sorted(by_test.items()):
        told = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items())
        seed = f" ({SEED}={seeds[test][0]})" if len(seeds[test]) == 1 else ""
        terminalreporter.line(f"{test}: {told}{seed}")
