"""An exception that a signal raises ends no call midway: memory and the file stay the same."""

import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from forklore.domain.model import Caller
from forklore.embedded.folder import JOURNAL, free, locked
from forklore.embedded.journal import Journal
from forklore.embedded.opened import _SHARED
from forklore.embedded.service import EmbeddedService
from forklore.embedded.store import Store
from forklore.embedded.whole import _IDLE, whole
from forklore.embedded.written import to_text
from tests.embedded.conftest import Kept
from tests.embedded.items import everything, key, put
from tests.embedded.writer import entry

ANN = Caller("ann", "planner")
SECONDS = 3.0


class Stopped(BaseException):
    """What the handler of the alarm raises, as the handler of Ctrl-C raises KeyboardInterrupt."""


class TooLate(Exception):
    """The same as an ordinary exception."""


@pytest.fixture(params=[Stopped, TooLate])
def stop(request: pytest.FixtureRequest) -> Iterator[type[BaseException]]:
    """Let SIGALRM raise an exception in this thread; return its class."""
    kind: type[BaseException] = request.param

    def handle(_number: int, _frame: FrameType | None) -> None:
        raise kind

    before = signal.signal(signal.SIGALRM, handle)
    yield kind
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def in_memory(store: Store) -> dict[tuple[str, str], str]:
    return {(place[0].value, place[1].value): to_text(item) for place, item in store._items()}


def in_file(path: Path) -> dict[tuple[str, str], str]:
    file = sqlite3.connect(path)
    try:
        rows = file.execute("SELECT partition, sort, attributes FROM item").fetchall()
        return {(partition, sort): attributes for partition, sort, attributes in rows}
    finally:
        file.close()


@pytest.mark.long
def test_a_signal_at_any_moment_leaves_memory_and_the_file_the_same(
    tmp_path: Path, stop: type[BaseException]
) -> None:
    with EmbeddedService.open(tmp_path) as service:
        assert service._opened
        chat = json.loads(service.call("createConversation", {}, ANN).text)["id"]
        stops, answered = 0, []
        ends_at = time.monotonic() + SECONDS
        for number in range(1000):
            if time.monotonic() > ends_at:
                break
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0005, 0.02))
                    given = {"conversationId": chat, **entry(str(number))}
                    assert service.call("appendEntry", given, ANN).status == 201
                    answered.append(str(number))
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except stop:
                stops += 1
            assert service.refusal is None
            with service._opened.store._lock:  # the call that was left may still run
                assert in_memory(service._opened.store) == in_file(tmp_path / JOURNAL)
        assert stops > 5
        assert service._opened.underway.wait_for_earlier(10)
    with EmbeddedService.open(tmp_path) as service:
        page = service.call("listEntries", {"conversationId": chat, "limit": 1000}, ANN)
        assert set(answered) <= {one["content"][0]["text"] for one in json.loads(page.text)["data"]}


def test_a_signal_while_a_folder_is_opened_leaves_it_free(tmp_path: Path, stop: type[BaseException]) -> None:
    stops = 0
    for _ in range(60):
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0005, 0.03))
                EmbeddedService.open(tmp_path).close()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except stop:
            stops += 1
    assert stops > 0
    give_up_at = time.monotonic() + 20
    while (os.getpid(), tmp_path) in _SHARED and time.monotonic() < give_up_at:
        time.sleep(0.05)

    assert (os.getpid(), tmp_path) not in _SHARED
    free(locked(tmp_path))


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_signal_during_the_journals_write_ends_neither_the_call_nor_the_store(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException], moment: str
) -> None:
    write = Journal.write

    def slowly(self: Journal, *written: Any) -> list[int]:
        numbers = write(self, *written) if moment == "after" else []
        signal.raise_signal(signal.SIGALRM)
        time.sleep(0.3)
        return write(self, *written) if moment == "before" else numbers

    monkeypatch.setattr(Journal, "write", slowly)
    with pytest.raises(stop):
        put(kept.client, "a", "1")
    monkeypatch.undo()
    put(kept.client, "a", "2")

    assert kept.store.refusal is None
    assert everything(kept.client) == [key("a", "1"), key("a", "2")]
    assert everything(kept.again().client) == [key("a", "1"), key("a", "2")]


def test_a_handler_of_a_signal_may_call_the_store_itself(kept: Kept) -> None:
    def handle(_number: int, _frame: FrameType | None) -> None:
        put(kept.client, "b", "by the handler")

    before = signal.signal(signal.SIGALRM, handle)
    try:
        for number in range(30):
            signal.setitimer(signal.ITIMER_REAL, 0.0005)  # once
            put(kept.client, "a", str(number))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert len(everything(kept.client)) == 31


def test_what_a_call_returns_and_raises_reaches_the_caller() -> None:
    def fail() -> None:
        raise LookupError("here")

    assert whole(threading.current_thread) is not threading.main_thread()
    with pytest.raises(LookupError, match="here"):
        whole(fail)


def test_another_thread_makes_its_calls_itself() -> None:
    ran_in: list[threading.Thread] = []
    thread = threading.Thread(target=lambda: ran_in.append(whole(threading.current_thread)))
    thread.start()
    thread.join()

    assert ran_in == [thread]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_makes_calls_of_its_own() -> None:
    whole(threading.get_ident)
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # ends this process if the call does not
        os._exit(7 if whole(os.getpid) == os.getpid() else 8)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_no_thread_is_idle_twice_after_signals(stop: type[BaseException]) -> None:
    """One that is would be given a call after its end, and the call would never return."""
    stops, ends_at = 0, time.monotonic() + 1
    while time.monotonic() < ends_at:
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(0.00002, 0.0006))
                for _ in range(50):
                    whole(threading.get_ident)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except stop:
            stops += 1
    time.sleep(0.1)  # for the last call to end

    assert stops > 5
    idle = list(map(id, _IDLE[os.getpid()]))
    assert len(idle) == len(set(idle))


def test_a_thread_that_has_no_call_ends() -> None:
    whole(threading.get_ident)
    give_up_at = time.monotonic() + 10
    while _IDLE[os.getpid()]:
        assert time.monotonic() < give_up_at
        time.sleep(0.05)

    assert whole(lambda: "again") == "again"
