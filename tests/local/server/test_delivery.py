"""Events wait for their receivers in the order of their trees. No receiver waits for another."""

import itertools
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from forklore_local.embedded.engine import Engine
from forklore_local.in_process import outbox as outbox_module
from forklore_local.in_process.opened import open_database
from forklore_local.in_process.outbox import Outbox, note
from forklore_local.server import delivery as delivery_module
from forklore_local.server.delivery import AT_ONCE, Delivery, EventsOf, NotTakenError, Outgoing
from tests.local.embedded.items import put
from tests.local.server.receiving import wait_until

PAUSE_S = 0.01


@pytest.fixture(autouse=True)
def retries_come_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_module, "RETRY_EVERY_SECONDS", 0.001)
    monkeypatch.setattr(outbox_module, "is_told", lambda _sort: True)


class Taker:
    """A receiver. takes: returns or raises for each event. taken: what it took."""

    def __init__(self, name: str = "taker", takes: Callable[[str], object] = lambda _: None) -> None:
        self.name = name
        self.takes = takes
        self.taken: list[str] = []
        self.is_closed = False

    def send(self, event: str) -> None:
        self.takes(event)
        self.taken.append(event)

    def close(self) -> None:
        self.is_closed = True


def events_of(record: str) -> list[Outgoing]:
    """Return one event for each change, named by the keys of the item."""
    keys = json.loads(record)["dynamodb"]["Keys"]
    event_id = f"{keys['PK']['S']} {keys['SK']['S']}"
    return [Outgoing(event_id, json.dumps({"eventId": event_id, "text": "a secret"}))]


def ids(events: Sequence[str]) -> list[str]:
    return [json.loads(event)["eventId"] for event in events]


@contextmanager
def delivering(
    path: Path | None, *takers: Taker, tries: int = 20, events: EventsOf = events_of
) -> Iterator[tuple[Engine, Delivery]]:
    """An engine, and the delivery of its events to the takers."""
    database = open_database(path)
    delivery = Delivery(
        Outbox(database, path, [taker.name for taker in takers]),
        events,
        {taker.name: taker for taker in takers},
        pause_s=PAUSE_S,
        tries=tries,
    )
    database.committed = delivery.look
    delivery.start()
    try:
        yield Engine(database, told=note), delivery
    finally:
        delivery.stop()
        database.close()


def fail(_: str) -> None:
    raise NotTakenError("status 500")


@pytest.fixture(params=["memory", "folder"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path if request.param == "folder" else None


def test_the_events_of_each_tree_arrive_in_order_however_often_the_receiver_fails(path: Path | None) -> None:
    chances = random.Random(5)

    def takes(_: str) -> None:
        if chances.random() < 0.4:
            raise NotTakenError("status 503")

    taker = Taker(takes=takes)
    with delivering(path, taker) as (store, _):
        client = store
        for number, tree in itertools.product(range(12), "abc"):
            put(client, tree, f"{number:02}")
        wait_until(lambda: len(taker.taken) == 36)

    for tree in "abc":
        assert [one for one in ids(taker.taken) if one[0] == tree] == [f"{tree} {n:02}" for n in range(12)]
    assert taker.is_closed


@pytest.mark.failure("failing-receiver")
def test_a_receiver_that_fails_for_ever_is_given_up_with_a_line_and_holds_no_other_up(
    path: Path | None, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = Taker("bad", fail), Taker("good")
    with delivering(path, bad, good, tries=3) as (store, _):
        client = store
        for number in range(3):
            put(client, "tree", str(number))
        wait_until(lambda: sum(r.message == "undelivered" for r in caplog.records) == 3)
        bad.takes = lambda _: None
        put(client, "tree", "3")
        wait_until(lambda: len(bad.taken) == 1 and len(good.taken) == 4)

    assert ids(good.taken) == ["tree 0", "tree 1", "tree 2", "tree 3"]
    lines = [(record.message, record.__dict__.get("eventId")) for record in caplog.records]
    given_up = [("undelivered", f"tree {number}") for number in range(3)]
    assert lines == [("receiver_fails", None), *given_up, ("receiver_is_back", None)]
    assert {record.__dict__["receiver"] for record in caplog.records} == {"bad"}
    assert not any("secret" in str(record.__dict__) for record in caplog.records)


def test_a_receiver_that_raises_something_unforeseen_ends_no_thread_and_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def break_down(_: str) -> None:
        raise UnicodeError("a secret")

    taker = Taker(takes=break_down)
    with delivering(None, taker, tries=1) as (store, _):
        client = store
        for number in range(2 * AT_ONCE):
            put(client, f"tree{number}", "x")
        wait_until(lambda: sum(r.message == "undelivered" for r in caplog.records) == 2 * AT_ONCE)
        taker.takes = lambda _: None
        put(client, "tree", "x")
        wait_until(lambda: len(taker.taken) == 1)
    reasons = {record.__dict__.get("reason") for record in caplog.records}
    assert reasons == {"UnicodeError", None}
    assert "secret" not in str([record.__dict__ for record in caplog.records])


def test_one_event_that_is_never_taken_holds_up_its_own_tree_alone(path: Path | None) -> None:
    def takes(event: str) -> None:
        if ids([event]) == ["sick 0"]:
            raise NotTakenError("KeyError")

    taker = Taker(takes=takes)
    with delivering(path, taker, tries=100) as (store, _):
        client = store
        for number, tree in itertools.product(range(5), ("sick", "sound")):
            put(client, tree, str(number))
        wait_until(lambda: len(taker.taken) == 5)
        time.sleep(10 * PAUSE_S)
        assert {one.split()[0] for one in ids(taker.taken)} == {"sound"}


def test_several_trees_are_told_at_once_and_one_tree_never_twice_at_a_time(path: Path | None) -> None:
    together = threading.Barrier(AT_ONCE, timeout=60)
    running: list[str] = []
    overlaps: list[str] = []

    def takes(event: str) -> None:
        tree = ids([event])[0].split()[0]
        if tree in running:
            overlaps.append(tree)
        running.append(tree)
        if event.count(" 0"):
            together.wait()
        running.remove(tree)

    taker = Taker(takes=takes)
    with delivering(path, taker) as (store, _):
        client = store
        for number, tree in itertools.product("01", range(AT_ONCE)):
            put(client, f"tree{tree}", number)
        wait_until(lambda: len(taker.taken) == 2 * AT_ONCE)
    assert overlaps == []


def test_what_was_not_delivered_is_delivered_after_a_restart_and_no_longer_kept_then(tmp_path: Path) -> None:
    path = tmp_path / "forklore.db"
    with delivering(path, Taker(takes=fail)) as (store, delivery):
        for number in range(4):
            put(store, "tree", str(number))
        assert delivery.stop() == 4

    taker = Taker()
    with delivering(path, taker) as (store, delivery):
        wait_until(lambda: len(taker.taken) == 4)
        assert delivery.stop() == 0
    assert ids(taker.taken) == [f"tree {number}" for number in range(4)]
    with delivering(path, Taker()) as (store, _):
        time.sleep(0.2)


def test_the_retries_of_a_receiver_that_is_down_are_few_whatever_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delivery_module, "RETRY_EVERY_SECONDS", 0.05)
    seen: set[str] = set()
    retried: list[float] = []

    def takes(event: str) -> None:
        if event in seen:
            retried.append(time.monotonic())
        seen.add(event)
        raise NotTakenError("ConnectionRefusedError")

    with delivering(None, Taker(takes=takes), tries=100) as (store, _):
        client = store
        for number in range(40):
            put(client, f"tree{number}", "x")
        wait_until(lambda: len(seen) == 40 and len(retried) >= 10)
    assert retried[9] - retried[0] > 0.4, "one retry each 50 ms"


def test_a_change_makes_its_events_in_order_or_none_and_a_bug_is_given_up_without_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def several(record: str) -> list[Outgoing]:
        [event] = events_of(record)
        number = int(event.event_id.split()[1])
        if number == 1:
            raise KeyError("a secret text")
        return [event] * number

    taker = Taker()
    with delivering(None, taker, tries=2, events=several) as (store, delivery):
        for number in range(4):
            put(store, "tree", str(number))
        wait_until(lambda: len(taker.taken) == 5)
        wait_until(lambda: not delivery.stop())
    assert ids(taker.taken) == ["tree 2"] * 2 + ["tree 3"] * 3
    assert [record.message for record in caplog.records] == ["failed", "failed", "undelivered"]
    assert "secret" not in str([record.__dict__ for record in caplog.records])


def test_a_receiver_that_hangs_delays_neither_a_call_nor_another_receiver_nor_the_end_for_long(
    path: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_module, "STOP_SECONDS", 0.2)
    free = threading.Event()
    hanging, good = Taker("hanging", lambda _: free.wait(60)), Taker("good")
    with delivering(path, hanging, good) as (store, delivery):
        client = store
        slowest = 0.0
        for number in range(50):
            begun = time.monotonic()
            put(client, f"tree{number}", "x")
            slowest = max(slowest, time.monotonic() - begun)
        wait_until(lambda: len(good.taken) == 50)
        begun = time.monotonic()
        # What the good one took last may not be noted yet.
        assert 50 <= delivery.stop() <= 50 + delivery_module.AT_ONCE
        assert time.monotonic() - begun < 20
        free.set()
    assert slowest < 20, f"{slowest:.3f} s"
