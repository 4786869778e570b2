"""Processes that share a folder write in turn. Two services stand for two processes here."""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from forklore_local.embedded import turn
from forklore_local.embedded.service import EmbeddedService
from forklore_local.embedded.turn import Turn
from tests.local.embedded.writer import done, entry

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


def test_who_waits_too_long_for_the_turn_goes_on_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "TURN_SECONDS", 0.01)
    with EmbeddedService.open(tmp_path) as service:
        stopped = Turn(tmp_path)
        with stopped.taken():
            done(service, "createConversation", {"title": "made"})
        stopped.close()
