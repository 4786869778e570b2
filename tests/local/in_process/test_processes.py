"""Eight processes use one folder at the same time, and some are killed: nothing is lost."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from forklore_local.in_process.service import EmbeddedService
from forklore_service.domain.model import Caller
from tests.local.in_process.asking import call
from tests.local.in_process.test_killed import check, entries_of
from tests.local.in_process.writer import done, entry, say
from tests.support.processes import PROJECT

PROCESSES, KILLED = 8, 3
NAME = "session/shared"
STOP = "stop"
"""The file that ends the processes."""
ANN = Caller("ann", "planner")


def asked(service: EmbeddedService, operation: str, key: str, **given: Any) -> Any:
    """Return the answer of an operation, which is repeated with its key while the store is busy."""
    answer = call(service, operation, {**given, "idempotencyKey": key}, ANN)
    for _ in range(20):
        if answer.status != 503:
            break
        answer = call(service, operation, {**given, "idempotencyKey": key}, ANN)
    assert answer.status < 300, answer
    return json.loads(answer.text)


def write(folder: str, chat: str, number: int) -> None:
    """Append, fork, move a name and delete trees, until the file STOP is there."""
    with EmbeddedService.open(Path(folder)) as service:
        at = 0
        while not Path(folder, STOP).exists():
            at += 1
            text = f"{number} {at}"
            made = asked(service, "appendEntry", text, conversationId=chat, **entry(text))
            say(entry=made["id"], text=text)
            if at % 4 == 0:
                key = f"fork {text}"
                fork = asked(service, "forkConversation", key, conversationId=chat, atEntryId=made["id"])
                done(service, "appendEntry", {"conversationId": fork["id"], **entry(f"of {text}")})
                say(fork=fork["id"])
                moved = asked(service, "setName", f"name {text}", name=NAME, conversationId=fork["id"])
                say(revision=moved["revision"])
            if at % 5 == 0:
                gone = done(service, "createConversation", {"title": "soon gone"})["id"]
                done(service, "deleteConversation", {"conversationId": gone})
                say(deleted=gone)


def begin(folder: Path, chat: str, number: int) -> "subprocess.Popen[str]":
    program = "import sys; from tests.local.in_process.test_processes import write; "
    program += "write(sys.argv[1], sys.argv[2], int(sys.argv[3]))"
    return subprocess.Popen(
        [sys.executable, "-c", program, str(folder), chat, str(number)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def told(process: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    assert process.stdout
    with process:
        return [json.loads(line) for line in process.stdout if line.endswith("\n")]


@pytest.mark.long
@pytest.mark.failure("killed-embedded")
def test_what_eight_processes_have_acknowledged_is_there_once_and_in_order(tmp_path: Path) -> None:
    with EmbeddedService.open(tmp_path) as service:
        chat = done(service, "createConversation", {"title": "of all"})["id"]
    writers = [begin(tmp_path, chat, number) for number in range(PROCESSES)]
    begun = [json.loads(process.stdout.readline()) for process in writers if process.stdout]
    time.sleep(1)
    for process in writers[:KILLED]:
        process.send_signal(signal.SIGKILL)
    time.sleep(1)
    (tmp_path / STOP).touch()
    answers = [[first, *told(process)] for first, process in zip(begun, writers, strict=True)]
    assert [process.returncode for process in writers] == [-signal.SIGKILL] * KILLED + [0] * (
        PROCESSES - KILLED
    )
    check(tmp_path)

    with EmbeddedService.open(tmp_path) as service:
        name = json.loads(call(service, "lookUpName", {"name": NAME}, ANN).text)
        revisions = [one["revision"] for said in answers for one in said if "revision" in one]
        assert len(set(revisions)) == len(revisions), "two moves were one"
        assert len(revisions) <= name["revision"] - min(revisions) + 1 <= len(revisions) + KILLED
        shown = entries_of(service, chat)
        texts = list(shown.values())
        assert len(set(texts)) == len(texts), "an entry is there twice"
        for number, said in enumerate(answers):
            mine = [text for text in texts if text.startswith(f"{number} ")]
            assert mine == sorted(mine, key=lambda text: int(text.split()[1])), "out of order"
            acknowledged = {one["entry"]: one["text"] for one in said if "entry" in one}
            assert acknowledged.items() <= shown.items()
            assert len(mine) - len(acknowledged) in ((0, 1) if number < KILLED else (0,))
            for one in said:
                if "fork" in one:
                    first = {"conversationId": one["fork"], "limit": 1}
                    assert json.loads(call(service, "listEntries", first, ANN).text)["data"]
                if "deleted" in one:
                    gone = call(service, "getConversation", {"conversationId": one["deleted"]}, ANN)
                    assert gone.status == 404
