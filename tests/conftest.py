"""Fixtures of the whole suite: a DynamoDB in a process of its own, and the lines of the log."""

import gc
import signal
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator

import pytest

from tests.service.reliability.figures import COUNT, SEED
from tests.support.dynamodb_local import any_dynamodb, dynamodb_local_or_skip
from tests.support.lines import Lines, reading_lines


def pytest_configure(config: pytest.Config) -> None:
    """Let the processes that tests start be interrupted, and let no example be too slow.

    A shell that runs a command in the background ignores SIGINT, and each process inherits that.
    """
    if config.pluginmanager.hasplugin("hypothesispytest"):
        from hypothesis import HealthCheck, settings  # not every environment of tests has it

        slow = [HealthCheck.too_slow]  # a busy machine is slow, too
        settings.register_profile("on any machine", deadline=None, suppress_health_check=slow)
        settings.load_profile("on any machine")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave the collector out while tests are found: a seventh of that time would be its."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Let the collector look less often, and never at the tests: a tenth of the time is its."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def dynamodb_endpoint() -> Iterator[str]:
    """The address of a DynamoDB Local; of an engine if there is none and none is required."""
    with any_dynamodb() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def dynamodb_local_endpoint() -> Iterator[str]:
    """The address of a DynamoDB Local. Without one the test is skipped, or fails if required."""
    with dynamodb_local_or_skip() as endpoint:
        yield endpoint


@pytest.fixture
def lines() -> Iterator[Lines]:
    """The log lines from here on, as Lambda writes them."""
    with reading_lines() as read:
        yield read


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what each check of reliability has done, with its seed."""
    done: dict[str, Counter[str]] = defaultdict(Counter)
    seeds: dict[str, set[object]] = defaultdict(set)
    for report in terminalreporter.getreports("") + terminalreporter.getreports("error"):
        kept = dict(getattr(report, "user_properties", ()))  # A teardown reports the whole test.
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
