"""How a process counts a user's requests, beside others and when DynamoDB fails."""

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError

from forklore_service.aws.limiting import Limiter
from forklore_service.domain import ids, keys
from forklore_service.domain.rate import UNCOUNTED_MAX, WINDOW_SECONDS, window_of
from forklore_service.errors import TooManyRequestsError
from forklore_service.storage.table import COUNT_SECONDS, Table
from tests.support.tables import Standing, Store, fresh_store
from tools.harness.wire import Request, Wire

START_S = window_of(1_800_000_000)
LIMIT = 200
"""A limit of which a process counts UNCOUNTED_MAX requests at once."""


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with fresh_store("limits") as made:
        yield made


def passed(of: Limiter, table: Table, times: int, *, user: str, limit: int = LIMIT) -> int:
    """Return how many of so many requests of a user pass."""
    count = 0
    for _ in range(times):
        try:
            with of.admitted(table, user, limit):
                count += 1
        except TooManyRequestsError:
            pass
    return count


def counts(store: Store, user: str) -> list[int]:
    """Return the counts of a user's requests that are stored, by minute."""
    of = keys.requests(user, 0).partition
    found = {key.sort: item for key, item in store.contents().items() if key.partition == of}
    return [int(found[at]["requests"]["N"]) for at in sorted(found)]


def test_a_process_counts_every_tenth_request_and_a_quiet_user_costs_nothing(store: Store) -> None:
    table = store.process(clock=Standing(START_S))
    wire, of = Wire.of(table), Limiter()

    assert passed(of, table, UNCOUNTED_MAX - 1, user="quiet") == UNCOUNTED_MAX - 1
    assert wire.requests == []
    assert passed(of, table, 3 * LIMIT, user="busy") == LIMIT
    assert wire.operations == ["UpdateItem"] * (LIMIT // UNCOUNTED_MAX)
    assert counts(store, "busy") == [LIMIT]


def test_two_processes_count_together(store: Store) -> None:
    processes = [(Limiter(), store.process(clock=Standing(START_S))) for _ in range(2)]

    total = sum(passed(*processes[at % 2], 1, user="shared") for at in range(3 * LIMIT))

    assert LIMIT <= total <= LIMIT + 2 * UNCOUNTED_MAX
    assert passed(Limiter(), store.process(clock=Standing(START_S)), LIMIT, user="shared") <= UNCOUNTED_MAX


@pytest.mark.parametrize(
    ("later_s", "passes"), [(1, False), (WINDOW_SECONDS - 1, False), (WINDOW_SECONDS, True)]
)
def test_the_next_minute_begins_anew(store: Store, later_s: int, passes: bool) -> None:
    clock, of, user = Standing(START_S), Limiter(), f"later {later_s}"
    table = store.process(clock=clock)
    assert passed(of, table, LIMIT, user=user) == LIMIT

    clock.now_s += later_s
    assert passed(of, table, 1, user=user) == passes


def test_a_clock_that_is_set_back_does_not_shut_users_out(store: Store) -> None:
    clock, of = Standing(START_S + 86_400), Limiter()
    table = store.process(clock=clock)
    assert passed(of, table, LIMIT + 1, user="set back") == LIMIT

    clock.now_s = START_S
    assert passed(of, table, 1, user="set back") == 1


@pytest.mark.parametrize(("second", "left_s"), [(0, 60), (1, 59), (59, 1)])
def test_a_refusal_says_when_the_minute_ends(store: Store, second: int, left_s: int) -> None:
    of, table = Limiter(), store.process(clock=Standing(START_S + second))
    with of.admitted(table, "u", 1):
        pass

    with pytest.raises(TooManyRequestsError) as raised, of.admitted(table, "u", 1):
        pass
    assert raised.value.retry_after_s == left_s


def test_a_count_names_no_user_and_expires_a_minute_after_its_own(store: Store) -> None:
    passed(Limiter(), store.process(clock=Standing(START_S)), UNCOUNTED_MAX, user="ann@example.com")

    key = keys.requests("ann@example.com", START_S)
    item = store.item(key)
    assert "ann" not in key.partition
    assert key.sort == ids.timestamp(START_S * 1000)
    assert int(item["ttl"]["N"]) == START_S + COUNT_SECONDS == START_S + 2 * WINDOW_SECONDS


# Faults


@pytest.mark.failure("limit-not-counted")
@pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])
def test_a_request_succeeds_although_it_cannot_be_counted(
    store: Store, is_done: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The process goes on with its own count. It never asks twice, so nothing counts twice."""
    user = f"uncounted {is_done}"
    table = store.process(clock=Standing(START_S))
    wire = Wire.of(table)

    def fail(_request: Request, _answer: Any = None) -> None:
        raise ConnectionClosedError(endpoint_url="dynamodb")

    if is_done:
        wire.after(fail)
    else:
        wire.before(fail)
    with caplog.at_level(logging.WARNING, logger="forklore"):
        assert passed(Limiter(), table, 2 * LIMIT, user=user) == LIMIT

    assert wire.operations == ["UpdateItem"] * (LIMIT // UNCOUNTED_MAX)
    assert {record.message for record in caplog.records} == {"uncounted"}
    assert counts(store, user) == ([LIMIT] if is_done else [])


@pytest.mark.failure("limit-not-counted")
def test_an_answer_waits_only_a_little_for_a_count_that_does_not_come(store: Store) -> None:
    table, go_on = store.process(clock=Standing(START_S)), threading.Event()

    def hang(_: Request) -> None:
        go_on.wait(5)

    Wire.of(table).before(hang)
    try:
        assert passed(Limiter(), table, UNCOUNTED_MAX, user="hung") == UNCOUNTED_MAX
        assert not go_on.is_set()
    finally:
        go_on.set()


def test_a_request_that_fails_is_counted_and_fails_as_before(store: Store) -> None:
    of, table = Limiter(), store.process(clock=Standing(START_S))

    with pytest.raises(ZeroDivisionError), of.admitted(table, "fails", 1):
        raise ZeroDivisionError
    assert counts(store, "fails") == [1]


def test_threads_of_one_process_share_the_limit(store: Store) -> None:
    of, table, through = Limiter(), store.process(clock=Standing(START_S)), []

    def work() -> None:
        through.append(passed(of, table, LIMIT // 2, user="threads"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(through) == LIMIT
