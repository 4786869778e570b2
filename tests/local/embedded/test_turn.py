"""Processes that share a folder write in turn. Two services stand for two processes here."""

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forklore_local.embedded import turn
from forklore_local.embedded.turn import Turn
from forklore_local.in_process.opened import open_database
from forklore_local.in_process.service import EmbeddedService
from tests.local.in_process.writer import done, entry

OVERTAKES_SECONDS = 0.5
NEVER_SECONDS = 60.0
APPEND: dict[str, Any] = entry("more")


@pytest.mark.failure("two-appenders")
@pytest.mark.parametrize(
    ("operation", "given"),
    [("appendEntry", APPEND), ("setName", {"name": "n"}), ("updateConversation", {"title": "new"})],
)
def test_a_request_that_decides_again_is_overtaken_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, given: dict[str, Any]
) -> None:
    monkeypatch.setattr(turn, "TURN_SECONDS", NEVER_SECONDS)
    with EmbeddedService.open(tmp_path) as mine, EmbeddedService.open(tmp_path) as theirs:
        chat = done(mine, "createConversation", {"title": "of both"})["id"]
        asked = {"conversationId": chat, **given}
        done(mine, operation, asked)
        assert mine._opened is not None
        engine = mine._opened.engine
        write, overtaking = engine.transact_write_items, list[Future[Any]]()

        def write_late(**request: Any) -> Any:
            """Write when the other service has written: it can the first time, and only then."""
            seconds = OVERTAKES_SECONDS if overtaking else NEVER_SECONDS
            overtaking.append(threads.submit(done, theirs, operation, asked))
            wait(overtaking, seconds)
            return write(**request)

        with ThreadPoolExecutor() as threads, monkeypatch.context() as patch:
            patch.setattr(engine, "transact_write_items", write_late)
            done(mine, operation, asked)
        assert len(overtaking) == 2
        assert all(one.result() for one in overtaking)


def test_what_comes_while_a_process_waits_for_its_turn_is_committed_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "TURN_SECONDS", NEVER_SECONDS)
    database, other = open_database(tmp_path), Turn(tmp_path)
    commits: list[bool] = []
    database.committed = lambda: commits.append(True)
    with ThreadPoolExecutor() as threads:
        with other.taken():
            writes = [threads.submit(database.write, lambda _: None) for _ in range(3)]
            while len(database._waiting) < len(writes):
                time.sleep(0.001)
        wait(writes, NEVER_SECONDS)
    assert commits == [True]
    other.close()
    database.close()


def test_who_waits_too_long_for_the_turn_goes_on_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "TURN_SECONDS", 0.01)
    with EmbeddedService.open(tmp_path) as service:
        stopped = Turn(tmp_path)
        with stopped.taken():
            done(service, "createConversation", {"title": "made"})
        stopped.close()


def test_a_process_that_stops_in_its_turn_does_not_slow_each_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    def waited(for_turn: Turn) -> float:
        began_s = now_s
        with for_turn.taken():
            return now_s - began_s

    monkeypatch.setattr(turn, "time", SimpleNamespace(monotonic=lambda: now_s, sleep=sleep))
    stopped, mine = Turn(tmp_path), Turn(tmp_path)
    with stopped.taken():
        assert waited(mine) >= turn.TURN_SECONDS
        assert [waited(mine) for _ in range(3)] == [0, 0, 0]
        now_s += turn.IMPATIENT_SECONDS
        assert waited(mine) >= turn.TURN_SECONDS
    stopped.close()
    mine.close()
