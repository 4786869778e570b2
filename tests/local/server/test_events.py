"""The local server tells receivers of each change: real processes, real requests."""

import json
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from forklore_local.in_process.folder import FILE
from tests.local.server.receiving import Webhook, wait_until
from tests.local.server.test_server import STARTS_WITHIN_SECONDS, Running, running, start

ANN = {"Authorization": "Bearer ann"}
HELLO = {"contentType": "history", "content": [{"role": "USER", "text": "a secret"}]}


@contextmanager
def serving(*arguments: str, **options: str) -> Iterator[Running]:
    with running("--port", "0", "--log", "json", *arguments, last_line="Ctrl+C", **options) as local:
        yield local


def append(local: Running, conversation: str, **more: Any) -> str:
    """Append to a conversation, which is made if it is missing; return the entry's id."""
    url = f"{local.url}/v1/conversations/{conversation}/entries"
    answer = httpx.post(url, json=HELLO | more, headers=ANN, timeout=30)  # a receiver may hang for 60 s
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["id"]
    return made


def conversation(number: int) -> str:
    return f"{number:08}-0000-4000-8000-000000000000"


def appended(events: list[dict[str, Any]]) -> list[str]:
    """Return the entries that the events tell of."""
    told = [event["detail"]["entries"] for event in events if event["detail-type"] == "EntriesAppended"]
    return [entry["entryId"] for entries in told for entry in entries]


@pytest.fixture
def hook() -> Iterator[Webhook]:
    opened = Webhook()
    yield opened
    opened.close()


def test_a_webhook_is_told_of_each_change_in_order_and_with_content_if_asked(hook: Webhook) -> None:
    chat = conversation(1)
    with serving("--on-event", hook.url, "--event-content", "History") as local:
        first, second = append(local, chat), append(local, chat)
        made = httpx.patch(f"{local.url}/v1/conversations/{chat}", json={"title": "x"}, headers=ANN)
        assert made.status_code == 200
        events = hook.wait_for(4)
        assert local.stop() == (0, "")

    kinds = [event["detail-type"] for event in events]
    assert sorted(kinds[:2]) == ["ConversationCreated", "EntriesAppended"], "one write, in any order"
    assert kinds[2:] == ["EntriesAppended", "ConversationChanged"]
    assert appended(events) == [first, second]
    [*_, last] = (event for event in events if event["detail-type"] == "EntriesAppended")
    assert last["detail"]["entries"][0]["content"] == HELLO["content"]
    assert last.keys() == {
        *("version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail"),
    }
    assert (last["source"], last["id"]) == ("forklore", last["detail"]["eventId"])


@pytest.mark.failure("failing-receiver")
def test_a_receiver_that_hangs_and_one_that_is_down_delay_no_request_and_the_end_for_a_moment() -> None:
    free = threading.Event()
    hanging = Webhook(lambda _: 200 if free.wait() else 500)
    down = Webhook()
    down.close()
    try:
        with serving("--on-event", hanging.url, "--on-event", down.url) as local:
            written = [append(local, conversation(number % 15)) for number in range(30)]
            hanging.wait_for(1, seen=True)
            later = Webhook(port=down.port)
            wait_until(lambda: sorted(appended(later.taken)) == sorted(written))
            status, lines = local.stop()
            assert not hanging.taken
    finally:
        free.set()
    hanging.close()
    later.close()
    assert status == 0
    told = [json.loads(line) for line in lines.splitlines()]
    assert [(line["message"], line.get("reason")) for line in told] == [
        ("receiver_fails", "ConnectionRefusedError"),
        ("receiver_is_back", None),
        ("waiting", None),
    ]
    assert "secret" not in lines


@pytest.mark.long
@pytest.mark.failure("failing-receiver")
def test_what_a_killed_server_has_not_told_is_told_when_it_runs_again(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    down = Webhook(lambda _: 503)
    with serving("--data", data, "--on-event", down.url) as local:
        written = [append(local, conversation(number % 3)) for number in range(9)]
        down.wait_for(1, seen=True)
        local.process.send_signal(signal.SIGKILL)
        local.process.wait()
    down.close()

    up = Webhook(port=down.port)
    with serving("--data", data, "--on-event", up.url) as local:
        events = up.wait_for(12)
        written.append(append(local, conversation(9)))
        wait_until(lambda: len(set(appended(up.taken))) == 10)
        wait_until(lambda: len(up.taken) >= 14)
        assert local.stop() == (0, "")
    up.close()
    assert sorted(set(appended(up.taken))) == sorted(written)
    for number in range(3):
        chat = conversation(number)
        of_tree = [event for event in events if event["detail"]["treeId"] == chat]
        assert appended(of_tree) == written[number:9:3], "the events of a tree are in order"
    with closing(sqlite3.connect(tmp_path / "data" / FILE)) as file:
        assert file.execute("SELECT count(*) FROM message").fetchone() == (0,)


@pytest.mark.long
def test_a_function_has_the_users_environment_and_the_address_of_the_server_and_ends_with_it(
    tmp_path: Path,
) -> None:
    notes = tmp_path / "notes"
    (tmp_path / "an_agent.py").write_text(
        "import os\n"
        "def take(event):\n"
        f"    with open({str(notes)!r}, 'a') as notes:\n"
        "        told = os.environ.get('AWS_PROFILE'), os.environ['FORKLORE_URL'], str(os.getpid())\n"
        "        print(*told, file=notes)\n"
    )
    environment = {"PYTHONPATH": str(tmp_path), "AWS_PROFILE": "mine"}
    with serving("--on-event", "an_agent:take", **environment) as local:
        append(local, conversation(1))
        wait_until(lambda: notes.exists() and len(notes.read_text().splitlines()) == 2)
        local.process.kill()
    [told] = {tuple(line.split()) for line in notes.read_text().splitlines()}
    assert told[:2] == ("mine", local.url)
    wait_until(lambda: has_ended(told[2]))


def has_ended(process: str) -> bool:
    try:
        return "(zombie)" in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True


@pytest.mark.long
def test_with_another_database_events_are_refused_at_once() -> None:
    process = start(
        *("--port", "0", "--on-event", "http://127.0.0.1:9"),
        FORKLORE_DYNAMODB_ENDPOINT="http://127.0.0.1:9",
    )
    printed, errors = process.communicate(timeout=STARTS_WITHIN_SECONDS)
    assert (process.returncode, printed) == (2, "")
    assert errors == (
        "forklore: --on-event needs the embedded store, and not a DynamoDB at FORKLORE_DYNAMODB_ENDPOINT\n"
    )
