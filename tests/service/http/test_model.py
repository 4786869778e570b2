"""The whole service agrees with the oracle on random histories, even with wrong clocks."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from datetime import datetime
from random import Random
from time import monotonic
from uuid import uuid4

import pytest

from forklore_local.in_process.service import DELETED_DAYS
from tests.service.http.client import Service
from tests.service.http.conftest import URL
from tests.service.model.asking import Caller
from tests.service.model.history import History
from tests.service.model.services import OverHttp
from tests.service.reliability.figures import SEED, Measure
from tests.support.machine_clock import MachineClock
from tests.support.processes import API_KEYS, ROLES, local_servers
from tools.harness.dynamodb import engine_server

STEPS = 22
AT_ONCE = 10
USERS = 5


def agree(services: Sequence[Service], capsys: pytest.CaptureFixture[str]) -> None:
    """Run random histories in parallel. Prints the seed and the number of each operation."""
    measure = Measure.of("histories")
    seed, histories = measure.seed, measure.goal(ci=8, gate=45) * len(services)
    made = [_history(services, Random(seed + number)) for number in range(histories)]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        runs = {threads.submit(history.run, STEPS): number for number, history in enumerate(made)}
        done = wait(runs, return_when="FIRST_EXCEPTION")[0]
        threads.shutdown(cancel_futures=True)
    errors = {runs[run]: error for run in done if (error := run.exception())}
    if errors:
        shortest = min(errors, key=lambda number: made[number].both.requests)
        raise AssertionError(f"history {shortest} of {SEED}={seed}: {errors[shortest]}") from errors[shortest]
    counts = {name: sum(getattr(h.both, name) for h in made) for name in ("requests", "entries", "forks")}
    with capsys.disabled():
        print(f"\n{SEED}={seed}: {histories} histories, {counts}")  # noqa: T201
    rare = {"forks": histories // 40}  # eight histories of some seeds have one
    assert all(count >= rare.get(name, histories // 4) for name, count in counts.items()), counts


def _history(services: Sequence[Service], random: Random) -> History:
    users = list(dict.fromkeys(services[0].new_user() for _ in range(USERS)))
    admins = [] if URL in os.environ else [Caller(user, roles=roles) for user, roles in ROLES.items()]
    ways = [OverHttp(one) for one in services]
    days = 0 if URL in os.environ else DELETED_DAYS
    return History(ways, random, users=users, name=str(uuid4()), admins=admins, days=days)


@pytest.mark.parametrize("sees_date", [True, False], ids=["corrected by Date", "uncorrected"])
def test_two_processes_whose_clocks_differ_by_10_s_agree_with_the_oracle(
    own_endpoint: str, new_table: str, sees_date: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    clocks = [MachineClock(shift, sees_date) for shift in (5, -5)]
    with ExitStack() as stack:
        urls = stack.enter_context(local_servers(clocks, endpoint=own_endpoint, table=new_table))
        services = [stack.enter_context(Service(url, keys=API_KEYS)) for url in urls]

        least, most = difference_seconds(*services)
        assert least < 8 if sees_date else most > 8  # the two clocks are 10 seconds apart
        agree(services, capsys)


def test_one_service_agrees_with_the_oracle(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    agree([service], capsys)


def test_on_its_own_engine_the_service_agrees_with_the_oracle(
    new_table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if url := os.environ.get(URL):
        pytest.skip(f"NOT TESTED at {url}: this test starts its own processes; unset {URL}")
    with (
        engine_server() as endpoint,
        local_servers([MachineClock()], endpoint=endpoint, table=new_table) as [url],
        Service(url, keys=API_KEYS) as service,
    ):
        agree([service], capsys)


def difference_seconds(first: Service, second: Service) -> tuple[float, float]:
    """Return how far the first service's clock is ahead of the second's: at least, at most."""
    caller = Caller(first.new_user())

    def creation(service: Service) -> datetime:
        made = service.get(caller, "createConversation", body={})
        return datetime.fromisoformat(made["createdAt"])

    for service in (first, second):  # the first request to a service takes longer
        creation(service)
    started = monotonic()
    least = (creation(first) - creation(second)).total_seconds()
    return least, least + monotonic() - started
