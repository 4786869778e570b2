"""Several processes serve one folder behind one port."""

import fcntl
import json
import os
import random
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from forklore import Forklore
from forklore_local.server import processes
from forklore_local.server.manager import STOP_SECONDS
from forklore_local.server.server import main
from tests.local.in_process.test_killed import check
from tests.local.server.receiving import Webhook, wait_until
from tests.local.server.test_server import (
    ROOT,
    STARTS_WITHIN_SECONDS,
    STOPS_WITHIN_SECONDS,
    Running,
    running,
    server,
    start,
)

ANN = {"Authorization": "Bearer ann"}
TWO = ("--workers", "2", "--log", "json")
WRITERS, APPENDS = 8, 15


def process_of(local: Running) -> int:
    """Return the process that a new connection leads to."""
    answer = httpx.get(f"{local.url}/odd/process", timeout=60)
    assert answer.status_code == 200
    return int(answer.text)


def workers_of(local: Running, number: int = 2) -> list[int]:
    """Return the workers in the order of their turns. All have started when this returns."""
    seen: list[int] = []

    def look() -> bool:
        seen.append(process_of(local))
        return len(set(seen)) == number

    wait_until(look)
    return seen[-number:]


def test_each_connection_goes_to_the_next_worker(tmp_path: Path) -> None:
    with server(tmp_path, "--data", str(tmp_path / "data"), "--workers", "3") as local:
        workers = workers_of(local, 3)
        assert local.process.pid not in workers
        assert [process_of(local) for _ in range(6)] == workers * 2
        assert "3 processes serve it." in local.banner
        assert local.stop() == (0, "")


@pytest.mark.parametrize("arguments", [["--workers", "1", "--data", "data"], []])
def test_one_process_serves_where_no_folder_is_shared_or_one_is_asked_for(
    tmp_path: Path, arguments: list[str]
) -> None:
    given = [str(tmp_path / "data") if one == "data" else one for one in arguments]
    with server(tmp_path, *given) as local:
        assert {process_of(local) for _ in range(3)} == {local.process.pid}


@pytest.mark.failure("killed-worker")
def test_a_worker_that_is_killed_is_started_again_and_every_new_connection_is_answered(
    tmp_path: Path,
) -> None:
    with server(tmp_path, "--data", str(tmp_path / "data"), *TWO) as local:
        for killed in workers_of(local):
            os.kill(killed, signal.SIGKILL)
            wait_until(lambda killed=killed: killed not in workers_of(local))  # type: ignore[misc]
        status, lines = local.stop()

    assert status == 0
    told = [json.loads(line) for line in lines.splitlines()]
    assert [(line["message"], line["status"]) for line in told] == [("worker_ended", -9)] * 2


@pytest.mark.long
@pytest.mark.failure("killed-worker", "killed-embedded")
def test_what_eight_writers_were_answered_is_there_once_and_in_order_though_workers_are_killed(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with running("--port", "0", "--data", str(data), *TWO, last_line="Ctrl+C") as local:

        def write(number: int) -> list[str]:
            with Forklore(local.url, token="ann") as client:
                chat = client.named("of all")
                return [text_of(chat.say("user", f"{number} {at}")) for at in range(APPENDS)]

        with ThreadPoolExecutor(WRITERS) as threads:
            written = [threads.submit(write, number) for number in range(WRITERS)]
            for _ in range(3):
                with suppress(ProcessLookupError):  # the last one that was killed
                    os.kill(random.choice(children_of(local.process.pid)), signal.SIGKILL)
                time.sleep(random.uniform(0.1, 0.5))
            acknowledged = [one.result() for one in written]
        with Forklore(local.url, token="ann") as client:
            shown = [text_of(entry) for entry in client.named("of all").entries()]
        assert local.stop()[0] == 0
    check(data)
    assert len(shown) == len(set(shown)) == WRITERS * APPENDS
    for number, mine in enumerate(acknowledged):
        assert mine == [text for text in shown if text.startswith(f"{number} ")]


def text_of(entry: Any) -> str:
    text: str = entry.content[0]["text"]
    return text


def children_of(process: int) -> list[int]:
    """Return the processes that a process has started, as soon as there is one."""
    found: list[int] = []

    def look() -> bool:
        for place in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                if int(place.read_text().rpartition(")")[2].split()[1]) == process:
                    found.append(int(place.parent.name))
        return bool(found)

    wait_until(look)
    return found


def test_a_worker_with_too_many_open_files_serves_again_when_some_are_closed(tmp_path: Path) -> None:
    with server(tmp_path, "--data", str(tmp_path / "data"), *TWO) as local:
        [full, _] = workers_of(local)
        few = len(list(Path(f"/proc/{full}/fd").iterdir())) + 3
        resource.prlimit(full, resource.RLIMIT_NOFILE, (few, few))
        idle: list[socket.socket] = []

        def is_full() -> bool:
            idle.append(connected(local))
            return bool(select.select(idle, [], [], 0)[0])  # one was closed at once

        wait_until(is_full)
        for one in idle:
            one.close()

        def is_back() -> bool:
            with suppress(httpx.TransportError):
                return process_of(local) == full
            return False

        wait_until(is_back)
        status, lines = local.stop()
    assert status == 0
    assert {json.loads(line)["message"] for line in lines.splitlines()} == {"too_many_open_files"}


def stop_for_now(process: int) -> None:
    """Stop a process as Ctrl+Z does. It has stopped when this returns."""
    os.kill(process, signal.SIGSTOP)
    wait_until(lambda: Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T")


@pytest.mark.failure("killed-worker")
def test_a_worker_that_hangs_costs_one_connection(tmp_path: Path) -> None:
    with server(tmp_path, "--data", str(tmp_path / "data"), *TWO) as local, ExitStack() as idle:
        [one, hangs] = workers_of(local)
        idle.callback(os.kill, hangs, signal.SIGKILL)
        stop_for_now(hangs)
        for _ in range(2):
            idle.enter_context(connected(local))
        assert [process_of(local) for _ in range(4)] == [one] * 4


@pytest.mark.failure("killed-worker")
def test_no_connection_is_lost_that_killed_workers_had_not_taken(tmp_path: Path) -> None:
    with server(tmp_path, "--data", str(tmp_path / "data"), *TWO) as local, ExitStack() as open_ones:
        workers = workers_of(local)
        for worker in workers:
            stop_for_now(worker)
        asking = [open_ones.enter_context(connected(local)) for _ in range(5)]
        for one in asking:
            one.sendall(b"GET /odd/process HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        assert [one.recv(12) for one in asking] == [b"HTTP/1.1 200"] * 5


def connected(local: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(local.url.rsplit(":", 1)[1])), timeout=60)


@pytest.mark.failure("killed-worker")
def test_a_worker_that_is_started_again_makes_no_new_folder(tmp_path: Path) -> None:
    data, errors = tmp_path / "data", b""
    with server(tmp_path, "--data", str(data), *TWO) as local:
        [killed, _] = workers_of(local)
        data.rename(tmp_path / "moved")
        os.kill(killed, signal.SIGKILL)

        def is_refused() -> bool:
            nonlocal errors
            assert local.process.stderr
            if select.select([local.process.stderr], [], [], 0)[0]:
                errors += os.read(local.process.stderr.fileno(), 65536)
            return f"forklore: {data} was removed or replaced".encode() in errors

        wait_until(is_refused)
        assert not data.exists()


@pytest.mark.failure("killed-worker")
def test_no_worker_outlives_a_listening_process_that_is_killed(tmp_path: Path) -> None:
    with server(tmp_path, "--data", str(tmp_path / "data"), *TWO) as local:
        workers_of(local)
        local.process.kill()
        local.process.communicate(timeout=STOPS_WITHIN_SECONDS)  # until nobody can write to its pipes


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_each_worker_answers_its_open_requests_before_the_server_stops(tmp_path: Path, number: int) -> None:
    with server(tmp_path, "--data", str(tmp_path / "data"), *TWO) as local, ThreadPoolExecutor() as threads:
        workers = workers_of(local)
        held = [tmp_path / f"held-{worker}" for worker in workers]
        answers = [threads.submit(httpx.get, f"{local.url}/odd/hold", timeout=60) for _ in workers]
        wait_until(lambda: all(file.exists() for file in held))
        for process in (local.process.pid, *workers):  # as a terminal does
            os.kill(process, number)
        for file in held:
            file.unlink()
        assert [answer.result().status_code for answer in answers] == [200, 200]
        _, errors = local.process.communicate(timeout=STOPS_WITHIN_SECONDS)
        assert (local.process.returncode, errors) == (0, "")


@pytest.mark.parametrize("path", ["/v1/conversations", "/mcp"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_who_has_not_sent_all_when_the_server_stops_is_told_so(
    tmp_path: Path, workers: str, path: str
) -> None:
    options = ("serve", "--data", str(tmp_path / "data"), "--workers", workers, "--port", "0", "--mcp")
    with (
        running(*options, "--log", "json", module="forklore.cli", last_line="Ctrl+C") as local,
        socket.create_connection(("127.0.0.1", int(local.url.rsplit(":", 1)[1])), timeout=60) as half,
    ):
        half.sendall(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\n"
            "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
            "Content-Length: 100\r\n\r\n{".encode()
        )
        assert httpx.get(f"{local.url}/v1/ready", timeout=60).status_code == 200
        started = time.monotonic()
        status, errors = local.stop()
        took_s, answer = time.monotonic() - started, half.makefile("rb").read()

    assert (status, answer.partition(b"\r\n")[0]) == (0, b"HTTP/1.1 503 Service Unavailable"), errors
    assert took_s < STOP_SECONDS
    told = [json.loads(line) for line in errors.splitlines()]
    assert [(one["message"], one["status"]) for one in told if one["logger"] == "forklore"] == [
        ("answered", 503)
    ]
    assert not any("errorType" in one for one in told)


def test_each_event_is_told_once_whichever_worker_has_written(tmp_path: Path) -> None:
    hook = Webhook()
    data = ("--data", str(tmp_path / "data"), "--port", "0", *TWO)
    with running(*data, "--on-event", hook.url, last_line="Ctrl+C") as local:
        made = [httpx.post(f"{local.url}/v1/conversations", headers=ANN, json={}) for _ in range(12)]
        ids = [answer.json()["id"] for answer in made]
        hook.wait_for(12)
        assert local.stop()[0] == 0  # a line tells of an event whose answer has not come yet
    hook.close()
    assert sorted(event["detail"]["treeId"] for event in hook.taken) == sorted(ids)


def test_what_one_worker_has_written_ends_the_wait_at_another(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"), "--port", "0", *TWO)
    with running(*data, last_line="Ctrl+C") as local, httpx.Client(headers=ANN, timeout=60) as watching:
        made = httpx.post(f"{local.url}/v1/conversations", headers=ANN, json={"title": "old"}).json()
        url = f"{local.url}/v1/conversations/{made['id']}"
        for title in ("new", "newer"):  # each time by the next worker
            tag = watching.get(url).headers["etag"]
            with ThreadPoolExecutor() as threads:
                waiting = threads.submit(
                    watching.get, url, params={"wait": 20}, headers={"If-None-Match": tag}
                )
                assert httpx.patch(url, headers=ANN, json={"title": title}).is_success
                assert waiting.result().json()["title"] == title
        assert local.stop() == (0, "")


@pytest.mark.parametrize("number", ["0", "x", "-1", "100", ""])
def test_a_number_of_workers_that_cannot_be_is_refused(
    number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(arguments=[f"--workers={number}"])
    assert f"argument --workers: from 1 to 99, and not {number!r}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "environ", "told"),
    [
        (TWO, {"FORKLORE_DYNAMODB_ENDPOINT": "http://127.0.0.1:9"}, "--workers needs --data"),
        (["--data", "data", *TWO], {"FORKLORE_DYNAMODB_ENDPOINT": "http://127.0.0.1:9"}, "--data and FORKL"),
        (["--data", "data", *TWO, "--on-event", "nothing:at_all"], {}, "--on-event nothing:at_all"),
        (
            ["--data", "data", "--recall", "nothing:at_all"],
            {},
            "the model for recall, nothing:at_all, cannot be imported: ",
        ),
        (["--recall", "nothing"], {}, "there is no model 'nothing' for recall"),
        (["--data", "file/data", *TWO], {}, "cannot keep data in"),
    ],
)
def test_what_several_processes_cannot_serve_is_one_line_and_2(
    tmp_path: Path, arguments: list[str], environ: dict[str, str], told: str
) -> None:
    (tmp_path / "file").touch()
    given = [str(tmp_path / one) if "data" in one.split("/") else one for one in arguments]
    refused = start("--port", "0", *given, **environ)
    printed, errors = refused.communicate(timeout=STARTS_WITHIN_SECONDS)

    assert (refused.returncode, printed, errors.count("\n")) == (2, "", 1), errors
    assert errors.startswith(f"forklore: {told}")


ALONE = """\
import logging, os, resource, signal, socket, sys, time
from forklore_local.server import processes
from forklore_local.server.log import show_lines_of
from forklore_local.server.manager import Manager

show_lines_of(logging.getLogger("forklore"), verbose=False, form="json")
{work}
listener = socket.create_server(("127.0.0.1", 0))
ready = lambda: os.write(1, b"ready\\n")
sys.exit(processes.Processes(2, listener, work, ready, lambda: None, Manager({{}})).run())
"""


@contextmanager
def alone(work: str) -> Iterator[subprocess.Popen[str]]:
    """Start a server of two workers that only do `work`. All are killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", ALONE.format(work=work)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_the_first_worker_ends_after_the_others() -> None:
    """It tells the events of what they write."""
    with alone("""
def work(given):
    given.channel.send(b".")
    given.channel.recv(1)
    if given.is_first:
        given.wait_for_others()
    else:
        time.sleep(0.3)
    print("first" if given.is_first else "other", flush=True)
    return 0
""") as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        printed, errors = process.communicate(timeout=STOPS_WITHIN_SECONDS)
        assert (process.returncode, printed, errors) == (0, "other\nfirst\n", "")


@pytest.mark.parametrize(
    ("works_s", "again", "ended"), [(0.3, signal.SIGTERM, 2), (600, signal.SIGINT, 0), (600, None, 0)]
)
def test_a_second_ctrl_c_or_a_long_wait_ends_the_workers_at_once(
    works_s: float, again: signal.Signals | None, ended: int
) -> None:
    with alone(f"""
processes.STOP_SECONDS = {1 if again is None else 600}
def work(given):
    given.channel.send(b".")
    os.write(1, b"starts\\n")
    given.channel.recv(1)
    os.write(1, b"told\\n")
    time.sleep({works_s})
    os.write(1, b"ended\\n")
    return 0
""") as process:
        assert process.stdout
        assert sorted(process.stdout.readline() for _ in range(3)) == ["ready\n", "starts\n", "starts\n"]
        process.send_signal(signal.SIGTERM)
        if again is not None:
            assert [process.stdout.readline() for _ in range(2)] == ["told\n"] * 2
            process.send_signal(again)
        printed, errors = process.communicate(timeout=STOPS_WITHIN_SECONDS)
        assert (process.returncode, printed.count("ended\n"), errors) == (0, ended, "")


def test_a_worker_may_have_as_many_open_files_as_the_system_lets_it() -> None:
    with alone("""
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
def work(given):
    print(resource.getrlimit(resource.RLIMIT_NOFILE) == (min(hard, processes.OPEN_FILES), hard), flush=True)
    return 3
""") as process:
        assert (process.communicate(timeout=STOPS_WITHIN_SECONDS), process.returncode) == (("True\n", ""), 3)


@pytest.mark.failure("killed-worker")
def test_a_process_that_cannot_be_started_now_is_started_later() -> None:
    with alone("""
processes.PAUSE_SECONDS = 0.01
forks = iter([os.fork, None, os.fork])
def fork():
    if start := next(forks):
        return start()
    raise BlockingIOError(11, "too many processes")
os.fork = fork
def work(given):
    given.channel.send(b".")
    if not given.is_first:
        print("other", flush=True)
    given.channel.recv(1)
    return 0
""") as process:
        assert process.stdout
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "other\n"]
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=STOPS_WITHIN_SECONDS)
        told = [json.loads(line) for line in errors.splitlines()]
        assert [line["message"] for line in told] == ["cannot_start_a_process", "worker_ended"]
        assert (process.returncode, told[0]["reason"]) == (0, "too many processes")


@pytest.mark.failure("killed-worker")
def test_a_worker_that_ends_at_once_is_started_after_longer_and_longer_pauses() -> None:
    with alone("""
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as some programs do that start others
processes.PAUSE_SECONDS, processes.PAUSE_SECONDS_MAX, processes.STEADY_SECONDS = 0.01, 0.04, 600.0
def work(given):
    if given.is_first:
        given.channel.send(b".")
        given.channel.recv(1)
        return 0
    raise RuntimeError("a secret text")
""") as process:
        assert process.stderr
        pauses: list[float] = []
        while len(pauses) < 4:
            line = process.stderr.readline()
            assert "secret" not in line
            if "worker_ended" in line:
                pauses.append(json.loads(line)["startsInSeconds"])
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=STOPS_WITHIN_SECONDS)
        assert (process.returncode, pauses) == (0, [0.01, 0.02, 0.04, 0.04])


@pytest.mark.parametrize(("bound", "cores"), [("50000 100000", 1), ("200000 100000", 2), ("max 100000", 8)])
def test_there_are_as_many_workers_as_a_container_has_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, cores: int
) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(bound)
    monkeypatch.setattr(processes, "CORES", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8))

    assert processes.usual_number() == min(cores, processes.USUAL_MAX)


def test_large_handles_are_waited_for() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    mine, other = socket.socketpair()
    with mine, other:
        handle = fcntl.fcntl(mine, fcntl.F_DUPFD, 2000)
        try:
            assert processes._readable([handle], 0) == []
            other.send(b"x")
            assert processes._readable([handle], 60) == [handle]
        finally:
            os.close(handle)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
