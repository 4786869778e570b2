"""A process that writes to a folder is interrupted and killed, again and again."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from forklore_local.embedded.engine import NAME, Engine
from forklore_local.in_process.opened import Opened, open_database
from forklore_local.in_process.service import EmbeddedService
from forklore_service.domain.model import Caller
from tests.local.in_process.asking import call
from tests.service.reliability.intact import assert_intact
from tests.support import tables
from tests.support.processes import PROJECT

ROUNDS = 6
ANN = Caller("ann", "planner")


def killed_writer(folder: Path, start: int, answers: int) -> list[dict[str, Any]]:
    """Let a process write, and return its answers.

    It is interrupted at random instants, at least twice, and killed at one after so many answers.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.local.in_process.writer", str(folder), str(start)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    is_over = threading.Event()

    def disturb() -> None:
        while not is_over.wait(random.uniform(0.001, 0.1)):
            process.send_signal(signal.SIGINT)

    with process:
        assert process.stdout
        lines = [process.stdout.readline()]
        disturbing = threading.Thread(target=disturb)
        disturbing.start()
        while lines[-1] and (len(lines) < answers or sum("interrupted" in line for line in lines) < 2):
            lines.append(process.stdout.readline())
        time.sleep(random.uniform(0, 0.05))
        is_over.set()
        disturbing.join()
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    return [json.loads(line) for line in lines if line.endswith("\n")]


def entries_of(service: EmbeddedService, conversation_id: str) -> dict[str, str]:
    """Return the text of each entry that a conversation shows, by id."""
    found: dict[str, str] = {}
    given = {"conversationId": conversation_id, "limit": 1000}
    while True:
        page = json.loads(call(service, "listEntries", given, ANN).text)
        found |= {entry["id"]: entry["content"][0]["text"] for entry in page["data"]}
        if not page.get("afterCursor"):
            return found
        given["afterCursor"] = page["afterCursor"]


def check(folder: Path) -> None:
    """Read the file without a worker, and let fsck look at it. A half transaction is a finding."""
    database = open_database(folder)
    try:
        assert_intact(tables.Store(Engine(database), NAME, database=database))
    finally:
        database.close()


@pytest.mark.long
@pytest.mark.failure("killed-embedded")
def test_each_acknowledged_write_is_there_and_each_transaction_is_whole_or_absent(tmp_path: Path) -> None:
    answers: list[dict[str, Any]] = []
    for number in range(ROUNDS):
        answers += killed_writer(tmp_path, number * 1_000_000, random.randrange(20, 100))
        check(tmp_path)

    written = [answer for answer in answers if "entry" in answer]
    for kind in ("entry", "made", "deleted", "interrupted"):
        assert sum(kind in answer for answer in answers) > ROUNDS, kind
    with EmbeddedService(Opened(tmp_path, delete_wait_s=0)) as service:
        for chat in {answer["conversation"] for answer in written}:
            shown = entries_of(service, chat)
            for answer in written:
                if answer["conversation"] == chat:
                    assert shown[answer["entry"]].startswith(f"{answer['number']} ")
        for answer in answers:
            if "made" in answer:
                assert call(service, "getConversation", {"conversationId": answer["made"]}, ANN).status == 200
            if "deleted" in answer:
                gone = call(service, "getConversation", {"conversationId": answer["deleted"]}, ANN)
                assert gone.status == 404
        wait_until_settled(service)
    check(tmp_path)


def wait_until_settled(service: EmbeddedService) -> None:
    """Wait until the worker has done what the killed processes left."""
    assert service._opened
    client = service._opened.engine
    give_up_at = time.monotonic() + 60
    while any(item["PK"]["S"] == "JOB" for item in client.scan(TableName=NAME)["Items"]):
        assert time.monotonic() < give_up_at, "work is left"
        time.sleep(0.1)
