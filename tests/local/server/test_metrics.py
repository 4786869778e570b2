"""What is seen of a server: its numbers, whether it is ready, and a line for each answer."""

import contextlib
import json
import os
import re
import shutil
import signal
import time
import uuid
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from forklore import Forklore
from forklore_local.in_process.measures import ROOM_BYTES, Measures, measure, require_room
from forklore_local.in_process.opened import open_database
from forklore_local.server.gateway import Gateway
from forklore_local.server.identity import read_authorizer
from forklore_service.errors import UnavailableError
from tests.local.server.receiving import wait_until
from tests.local.server.test_gateway import ask
from tests.local.server.test_processes import workers_of
from tests.local.server.test_server import ROOT, STARTS_WITHIN_SECONDS, running, server, start

DASHBOARD = ROOT / "docs" / "grafana.json"
NAME = re.compile(r"\bforklore_[a-z_]+")
SECRET = "s3cr3t"


def numbers_at(address: str) -> dict[str, float]:
    """Return the numbers of a server by their names with labels."""
    answer = httpx.get(address, timeout=60)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = (line.rpartition(" ") for line in answer.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_the_numbers_are_those_of_all_workers_and_outlive_one(tmp_path: Path) -> None:
    options = ("--data", str(tmp_path / "data"), "--workers", "2", "--metrics", "0")
    with server(tmp_path, *options) as local:
        address = local.banner.partition("Prometheus are at ")[2].split()[0]
        workers = workers_of(local)
        for _ in range(4):  # two for each
            assert httpx.get(f"{local.url}/v1/ready").json() == {"status": "ready"}
        httpx.get(f"{local.url}/nothing/{SECRET}")
        wait_until(lambda: "forklore_sweep_finished_timestamp_seconds" in numbers_at(address))
        wait_until(lambda: numbers_at(address)["forklore_requests_open"] == 0)  # counted after it is sent
        seen = numbers_at(address)
        ready = 'forklore_requests_total{operation="checkReady",status="200"}'
        assert (seen[ready], seen["forklore_workers_alive"], seen["forklore_requests_open"]) == (4, 2, 0)
        assert seen['forklore_request_seconds_count{operation="checkReady"}'] == 4
        assert seen["forklore_database_bytes"] > 0
        assert seen["forklore_disk_left_bytes"] > 0
        assert SECRET not in str(seen)
        assert httpx.get(f"{local.url}/metrics").status_code == 404
        assert httpx.get(address.removesuffix("/metrics")).status_code == 404

        os.kill(workers[1], signal.SIGKILL)
        wait_until(lambda: process_is_new(local.url, workers))
        seen = numbers_at(address)
        assert (seen[ready], seen["forklore_workers_alive"]) == (4, 2)
        told = {NAME.match(name)[0] for name in seen if NAME.match(name)}  # type: ignore[index]
        assert local.stop()[0] == 0

    table = (ROOT / "docs" / "operate.md").read_text().partition("### What Prometheus sees")[2]
    documented = set(NAME.findall(table.partition("\n### ")[0]))
    parts = {name: name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count") for name in told}
    assert documented == set(parts.values())
    queries = [name for text in queries_of(json.loads(DASHBOARD.read_text())) for name in NAME.findall(text)]
    assert set(queries) <= told
    assert {parts[name] for name in queries} == documented, "the dashboard shows all"


def process_is_new(url: str, workers: list[int]) -> bool:
    return int(httpx.get(f"{url}/odd/process", timeout=60).text) not in workers


def queries_of(dashboard: object) -> list[str]:
    """Return all queries in a dashboard of Grafana."""
    if isinstance(dashboard, list):
        return [text for one in dashboard for text in queries_of(one)]
    if not isinstance(dashboard, dict):
        return []
    own = [dashboard["expr"]] if "expr" in dashboard else []
    return own + [text for one in dashboard.values() for text in queries_of(one)]


def test_a_line_for_each_answer_shows_routes_and_no_secret_of_anybody(tmp_path: Path) -> None:
    options = ("--port", "0", "--access-log", "--log", "json")
    with running(*options, last_line="Ctrl+C", HOME=str(tmp_path)) as local:
        secret = {"Authorization": f"Bearer {SECRET}", "X-API-Key": SECRET, "Cookie": SECRET}
        content = {"title": SECRET, "entries": []}
        file = f"/files/{uuid.uuid4()}?key={SECRET}"
        paths = (f"/v1/conversations/{SECRET}", file, f"/{SECRET}", "/")
        statuses = [httpx.get(f"{local.url}{path}", headers=secret).status_code for path in paths]
        post = httpx.post(f"{local.url}/v1/conversations?x={SECRET}", headers=secret, json=content)
        _, errors = local.stop()

    lines = [json.loads(line) for line in errors.splitlines()]
    assert SECRET not in errors
    assert [line["status"] for line in lines] == [*statuses, post.status_code]
    routes = ["GET /v1/conversations/{conversationId}", "/files", "$default", "/", "POST /v1/conversations"]
    assert [line["route"] for line in lines] == routes
    assert {(line["message"], line["ip"]) for line in lines} == {("answered", "127.0.0.1")}


def test_who_is_not_ready_says_why() -> None:
    def ready() -> dict[str, str]:
        raise UnavailableError("the server stops", reason="stopping")

    gateway = Gateway((), authorize=read_authorizer({}), ready=ready)
    answer, head, other = ask(gateway, *((method, "/v1/ready") for method in ("GET", "HEAD", "POST")))

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert (head.status_code, other.status_code) == (503, 404)
    assert answer.json()["details"]["reason"] == "stopping"


def test_answers_in_progress_and_waiting_events_are_measured(tmp_path: Path) -> None:
    def now(later_s: float = 0) -> Measures:
        return measure(database, tmp_path, now_s=time.time() + later_s)

    with Forklore.local(data=tmp_path, user="ann") as forklore:
        database = open_database(tmp_path)
        assert now()[3:] == (0, 0, 0)
        database.write(lambda connection: connection.execute("INSERT INTO receiver VALUES ('r')"))
        chats = [forklore.conversation() for _ in range(3)]
        with contextlib.ExitStack() as stack:
            for chat in chats:
                stack.enter_context(chat.answer(after=chat.say("user", "Well?"))).write("I")
            seen = now(later_s=7)
            assert (seen.answers, seen.oldest_s > 5) == (3, True)
            assert seen.messages >= 3
            assert now(later_s=60).answers == 0  # nobody seems to write any more
        assert now().answers == 0
        database.close()


def test_a_disk_that_is_nearly_full_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_room(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=ROOM_BYTES - 1))
    with pytest.raises(UnavailableError) as refused:
        require_room(tmp_path)
    assert refused.value.details["reason"] == "nearly_full"


@pytest.mark.parametrize("text", ["x", "1:2:x", "65536", "-1"])
def test_a_wrong_address_of_the_numbers_is_one_line_and_2(text: str, tmp_path: Path) -> None:
    process = start("--check", f"--metrics={text}", HOME=str(tmp_path))
    output, errors = process.communicate(timeout=STARTS_WITHIN_SECONDS)
    assert (process.returncode, output) == (2, "")
    assert errors == f"forklore: metrics is PORT or HOST:PORT, and not {text!r}\n"
