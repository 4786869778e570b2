"""Deletions and prunes are done in this process, without a server, and none is lost."""

import json
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forklore_local.embedded.engine import NAME
from forklore_local.in_process import worker as module
from forklore_local.in_process.opened import Opened
from forklore_local.in_process.service import EmbeddedService
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.background import worker
from tests.local.in_process.test_service import ask
from tests.local.in_process.writer import entry
from tests.service.reliability.intact import assert_intact
from tests.support import tables


def at_once(folder: Path | None = None, *, delete_wait_s: int = 0) -> EmbeddedService:
    """Return a service that does not keep what was deleted."""
    return EmbeddedService(Opened(folder, delete_wait_s=delete_wait_s))


def opened_of(service: EmbeddedService) -> Opened:
    assert service._opened
    return service._opened


def items(service: EmbeddedService) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = opened_of(service).engine.scan(TableName=NAME)["Items"]
    return found


def until(is_so: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def entries_stored(service: EmbeddedService) -> int:
    return sum("contentType" in item for item in items(service))


def conversation(service: EmbeddedService, entries: int = 3) -> tuple[str, list[str]]:
    chat = ask(service, "createConversation")[1]["id"]
    made = [
        ask(service, "appendEntry", conversationId=chat, **entry(str(at)))[1]["id"] for at in range(entries)
    ]
    return chat, made


def assert_settled(service: EmbeddedService) -> None:
    assert_intact(tables.Store(opened_of(service).engine, NAME), settled=True)


def jobs(service: EmbeddedService) -> list[str]:
    return [item["SK"]["S"] for item in items(service) if item["PK"]["S"] == "JOB"]


def test_a_deleted_tree_is_removed() -> None:
    with at_once() as service:
        chat, _ = conversation(service)
        assert entries_stored(service) == 3
        assert ask(service, "deleteConversation", conversationId=chat)[0] == 204
        until(lambda: not jobs(service))

        assert entries_stored(service) == 0
        assert_settled(service)


def test_a_removed_branch_is_pruned() -> None:
    with at_once() as service:
        chat, made = conversation(service)
        fork = ask(service, "forkConversation", conversationId=chat, atEntryId=made[-1])[1]["id"]
        for at in range(2):
            ask(service, "appendEntry", conversationId=fork, **entry(f"own {at}"))
        assert entries_stored(service) == 5
        assert ask(service, "deleteConversation", conversationId=fork, scope="branch")[0] == 204
        until(lambda: not jobs(service))

        assert entries_stored(service) == 3
        assert_settled(service)


def test_nothing_is_removed_before_the_slowest_request_of_any_process_has_ended() -> None:
    with at_once(delete_wait_s=2) as service:
        chat, _ = conversation(service)
        begun = time.monotonic()
        ask(service, "deleteConversation", conversationId=chat)
        until(lambda: entries_stored(service) < 3)
        assert time.monotonic() - begun >= 2
        until(lambda: not jobs(service))


def test_what_is_left_at_closing_is_done_when_the_folder_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = at_once(tmp_path)
    chat, _ = conversation(service)
    opened_of(service).worker.stop()
    assert ask(service, "deleteConversation", conversationId=chat)[0] == 204
    assert len(jobs(service)) == 1
    service.close()

    with at_once(tmp_path) as again:
        until(lambda: not jobs(again))
        assert entries_stored(again) == 0
        assert_settled(again)


@pytest.mark.long
def test_a_job_whose_worker_was_killed_is_done_when_its_lease_has_ended(tmp_path: Path) -> None:
    service = at_once(tmp_path)
    chat, _ = conversation(service)
    opened_of(service).worker.stop()
    ask(service, "deleteConversation", conversationId=chat)
    table = opened_of(service).table
    message = worker.JobMessage(json.loads(sent(service, chat))["groupId"])
    worker._take_lease(table, message, module.WORK_SECONDS)
    service.close()

    with at_once(tmp_path) as again:
        until(lambda: not jobs(again))


def test_a_worker_that_does_not_sweep_does_what_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SWEEP_SECONDS", 0)
    swept: list[bool] = []
    monkeypatch.setattr(module.Worker, "_sweep", lambda _: swept.append(True))
    with EmbeddedService(Opened(tmp_path, delete_wait_s=0, sweeps=False)) as service:
        chat, _ = conversation(service)
        assert ask(service, "deleteConversation", conversationId=chat)[0] == 204
        until(lambda: not jobs(service))
        assert not swept


def sent(service: EmbeddedService, chat: str) -> str:
    """Return the message for the deletion of the only tree."""
    [item] = [item for item in items(service) if item["PK"]["S"] == "JOB"]
    return json.dumps({"groupId": item["SK"]["S"].rsplit("#", 1)[-1]})


class Broken:
    """A table whose calls fail as often as is said, and then work."""

    def __init__(self, table: Table, times: int) -> None:
        self.table, self.left, self.calls = table, times, 0

    def within(self, seconds: float, *, most: float) -> Table:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise KeyError("a sec" + "ret")
        return self.table.within(seconds, most=most)


def test_a_message_that_fails_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.01,) * 4)
    with at_once() as service:
        broken = Broken(opened_of(service).table, times=4)
        opened_of(service).worker._table = broken  # type: ignore[assignment]
        chat, _ = conversation(service)
        ask(service, "deleteConversation", conversationId=chat)
        until(lambda: not jobs(service))

    assert [record.__dict__["type"] for record in caplog.records] == ["KeyError"] * 4
    assert "secret" not in caplog.text


@pytest.mark.failure("poison-message")
def test_a_message_that_always_fails_is_given_up_and_others_are_done(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.01,) * 4)
    caplog.set_level(logging.ERROR)
    with at_once() as service:
        opened_of(service).worker.queue.announce(["nonsense"])
        until(lambda: len(caplog.records) == 5)
        chat, _ = conversation(service)
        ask(service, "deleteConversation", conversationId=chat)
        until(lambda: not jobs(service))

    assert len(caplog.records) == 5


def test_delays_are_kept() -> None:
    with at_once() as service:
        opened = opened_of(service)
        opened.worker.stop()
        chat, _ = conversation(service)
        ask(service, "deleteConversation", conversationId=chat)
        body = json.loads(sent(service, chat))
        second = module.Worker(opened.table, delete_wait_s=0)
        started = time.monotonic()
        second.queue.announce([body["groupId"]], delay_s=1)
        until(lambda: entries_stored(service) == 0)
        assert time.monotonic() - started >= 1
        assert second.stop()


def test_a_sweep_deletes_what_has_expired(tmp_path: Path) -> None:
    service = at_once(tmp_path)
    client = opened_of(service).engine
    over = {"PK": {"S": "IDEM#old"}, "SK": {"S": "IDEM"}, "ttl": {"N": "1"}}
    opened_of(service).worker.stop()
    client.put_item(TableName=NAME, Item=over)
    service.close()

    with at_once(tmp_path) as again:
        until(lambda: not items(again))


def test_stopping_waits_for_the_job_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    running, release = threading.Event(), threading.Event()
    done: list[str] = []

    service = at_once()
    ours = opened_of(service).worker.queue

    def slow(_table: Table, queue: Queue, *_: Any, **__: Any) -> None:
        if queue is not ours:
            return  # a worker of another test still runs
        running.set()
        release.wait(60)
        done.append("job")

    monkeypatch.setattr(worker, "work", slow)
    chat, _ = conversation(service, entries=0)
    ask(service, "deleteConversation", conversationId=chat)
    assert running.wait(60)
    threading.Timer(0.3, release.set).start()
    service.close()

    assert done == ["job"]


def test_words_that_were_deleted_or_erased_are_in_no_file_of_an_open_folder(tmp_path: Path) -> None:
    service = at_once(tmp_path)
    deleted, _ = conversation(service)
    word = b"QUETZAL"
    ask(service, "appendEntry", conversationId=deleted, **entry(word.decode()))
    kept, _ = conversation(service)
    assert any(word in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())

    ask(service, "deleteConversation", conversationId=deleted)

    until(lambda: not any(word in path.read_bytes() for path in tmp_path.iterdir() if path.is_file()))
    ask(service, "appendEntry", conversationId=kept, **entry("later"))
    assert ask(service, "listEntries", conversationId=kept)[0] == 200
    service.close()
