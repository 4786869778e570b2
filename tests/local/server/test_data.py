"""The local server with `--data`."""

import hashlib
import json
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from forklore_local.in_process.opened import Opened
from forklore_local.in_process.service import EmbeddedService
from forklore_service.domain.model import Caller
from tests.local.in_process.asking import call
from tests.local.server.test_server import (
    ROOT,
    STARTS_WITHIN_SECONDS,
    Running,
    running,
    start,
)

ANN = {"Authorization": "Bearer ann"}
MADE = "00000001-0000-4000-8000-000000000000"


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """A function that starts a server with arguments. All servers use the same data folder."""
    opened = []

    def begin(*arguments: str) -> Running:
        usual = ("--port", "0", "--data", str(tmp_path / "da ta"), *arguments)
        context = running(*usual, last_line="Ctrl+C")
        opened.append(context)
        return context.__enter__()

    yield begin
    for context in opened:
        context.__exit__(None, None, None)


def create(local: Running) -> None:
    made = httpx.post(f"{local.url}/v1/conversations", json={"id": MADE, "title": "kept"}, headers=ANN)
    assert made.status_code == 201, made.text


def title(local: Running) -> str:
    shown: str = httpx.get(f"{local.url}/v1/conversations/{MADE}", headers=ANN).json()["title"]
    return shown


def test_data_outlives_the_server(keep: Callable[..., Running], tmp_path: Path) -> None:
    first = keep()
    create(first)
    assert str(tmp_path / "da ta") in first.banner
    assert "forgets" not in first.banner
    assert first.stop() == (0, "")

    assert title(keep()) == "kept"


def test_the_lines_say_what_a_request_costs_on_aws(keep: Callable[..., Running]) -> None:
    first = keep("--verbose", "--log", "json")
    create(first)
    _, errors = first.stop()
    change, line = map(json.loads, errors.splitlines()[:2])

    told = {name: line[name] for name in ("operation", "DynamoDBCalls", "ReadUnits", "WriteUnits")}
    assert told == {"operation": "createConversation", "DynamoDBCalls": 2, "ReadUnits": 1, "WriteUnits": 16}
    assert (change["message"], change["operation"]) == ("change", "createConversation")


def test_a_folder_is_open_in_the_server_and_in_a_process_at_the_same_time(
    keep: Callable[..., Running], tmp_path: Path
) -> None:
    folder, ann = tmp_path / "da ta", Caller("ann")
    with EmbeddedService.open(folder) as service:
        assert call(service, "createConversation", {"id": MADE, "title": "kept"}, ann).status == 201
        first = keep()
        assert title(first) == "kept"
        changed = httpx.patch(f"{first.url}/v1/conversations/{MADE}", json={"title": "new"}, headers=ANN)
        assert changed.is_success
        shown = call(service, "getConversation", {"conversationId": MADE}, ann)
        assert json.loads(shown.text)["title"] == "new"


def health(local: Running) -> httpx.Response:
    return httpx.get(f"{local.url}/v1/health")


@pytest.mark.failure("replaced-folder")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_folder_that_was_replaced_is_told_by_the_health_and_in_the_log(
    keep: Callable[..., Running], tmp_path: Path, workers: str
) -> None:
    local = keep("--workers", workers, "--log", "json")
    create(local)
    well = health(local)
    assert (well.status_code, well.json()["status"]) == (200, "ok")
    assert f"forklore {well.json()['version']} ({well.json()['commit']}) listens on " in local.banner

    (tmp_path / "da ta").rename(tmp_path / "moved")
    unready = httpx.get(f"{local.url}/v1/ready")
    shutil.copytree(tmp_path / "moved", tmp_path / "da ta")
    unwell = health(local)
    refused = httpx.get(f"{local.url}/v1/conversations/{MADE}", headers=ANN)
    _, errors = local.stop()

    assert (unwell.status_code, unwell.headers["retry-after"]) == (503, "1")
    body = unwell.json()
    for told in (body, unready.json()):
        assert (told["code"], told["details"]["reason"]) == ("unavailable", "replaced")
    assert "da ta" not in unwell.text
    assert refused.status_code == 507
    assert "da ta" not in refused.text
    lines = [json.loads(line) for line in errors.splitlines()]
    assert [(line["route"], line["status"], line["code"], line["reason"]) for line in lines] == [
        ("GET /v1/ready", 503, "unavailable", "replaced"),
        ("GET /v1/health", 503, "unavailable", "replaced"),
        ("GET /v1/conversations/{conversationId}", 507, "store_failed", "replaced"),
    ]
    assert [line["xRequestId"] for line in lines] == [
        answer.json()["requestId"] for answer in (unready, unwell, refused)
    ]
    assert MADE not in errors


def test_head_is_as_get(keep: Callable[..., Running]) -> None:
    local = keep()
    create(local)
    for path in ("/v1/health", f"/v1/conversations/{MADE}", "/v1/conversations/none", "/openapi.json"):
        head, get = (httpx.request(method, f"{local.url}{path}", headers=ANN) for method in ("HEAD", "GET"))
        told = [(one.status_code, set(one.headers), one.headers["content-length"]) for one in (head, get)]
        assert told[0] == told[1]
        assert (head.content, bool(get.content)) == (b"", True)
    assert local.stop() == (0, "")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_hang_up_does_not_end_a_server(keep: Callable[..., Running], workers: str) -> None:
    local = keep("--workers", workers)
    local.process.send_signal(signal.SIGHUP)
    create(local)
    assert local.process.poll() is None
    assert local.stop() == (0, "")


@pytest.mark.long
def test_a_deletion_that_a_server_has_left_is_done_in_a_process(
    keep: Callable[..., Running], tmp_path: Path
) -> None:
    def stored() -> dict[str, int]:
        with sqlite3.connect(tmp_path / "da ta" / "forklore.db") as file:
            counted = dict(file.execute("SELECT PK, count(*) FROM item GROUP BY PK"))
        file.close()
        return counted

    server = keep()
    create(server)
    url = f"{server.url}/v1/conversations/{MADE}"
    assert httpx.delete(url, params={"forGood": "true"}, headers=ANN).status_code == 204
    assert server.stop() == (0, "")
    assert stored()["JOB"] == 1  # the server keeps the data for another minute

    with EmbeddedService(Opened(tmp_path / "da ta", delete_wait_s=0)):
        give_up_at = time.monotonic() + 60
        while "JOB" in stored():
            assert time.monotonic() < give_up_at
            time.sleep(0.1)
    assert stored() == {f"PTR#{MADE}": 1}


def refused(*arguments: str, **environ: str) -> str:
    process = start("--port", "0", *arguments, **environ)
    output, errors = process.communicate(timeout=STARTS_WITHIN_SECONDS)
    assert (process.returncode, output, errors.count("\n")) == (2, "", 1), errors
    return errors


def test_a_data_folder_and_an_endpoint_together_are_refused(tmp_path: Path) -> None:
    errors = refused("--data", str(tmp_path), FORKLORE_DYNAMODB_ENDPOINT="http://127.0.0.1:8000")

    assert "FORKLORE_DYNAMODB_ENDPOINT" in errors


def test_a_folder_that_cannot_be_created_prints_one_line_and_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert "cannot keep data in" in refused("--data", str(tmp_path / "file" / "data"))


def test_make_run_passes_the_folder_and_the_receiver_to_the_server() -> None:
    given = ["RUN=nowhere", "DATA=./my data", "WORKERS=3", "ALLOW_HOST=box", "ON_EVENT=agent:at_home"]
    done = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "run", *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    [*_, command] = done.stdout.splitlines()
    assert command == (
        'exec "nowhere/bin/python" -m forklore_local.server'
        ' --data "./my data" --workers 3 --allow-host "box" --on-event "agent:at_home"'
    )


def test_an_attachment_goes_to_the_folder_and_comes_back_after_a_restart(
    keep: Callable[..., Running],
) -> None:
    first, content = keep(), b"\x89PNG" * 50_000
    create(first)
    digest = hashlib.sha256(content).hexdigest()
    file = {"name": "a.png", "contentType": "image/png", "size": len(content), "sha256": digest}
    made = httpx.post(f"{first.url}/v1/attachments", json=file, headers=ANN).json()
    upload = made["upload"]
    sent = httpx.request(
        upload["method"], first.url + upload["url"], headers=upload["headers"], content=content
    )
    assert sent.status_code == 200, sent.text
    shown = {"role": "USER", "text": "look", "attachments": [{"id": made["id"]}]}
    entry = {"channel": "history", "contentType": "history", "content": [shown]}
    entries = f"/v1/conversations/{MADE}/entries"
    assert httpx.post(f"{first.url}{entries}", json=entry, headers=ANN).status_code == 201
    assert first.stop() == (0, "")

    second = keep()
    [page] = httpx.get(f"{second.url}{entries}", headers=ANN).json()["data"]
    [attached] = page["attachments"]
    given = httpx.get(second.url + attached["url"])
    assert (given.content, given.headers["content-type"]) == (content, "image/png")
