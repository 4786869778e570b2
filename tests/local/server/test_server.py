"""The real server in its own process, on a free port of 127.0.0.1."""

import http.client
import json
import os
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3
import httpx
import pytest

from forklore import Forklore
from forklore_local.server.identity import clients_by_hash
from forklore_local.server.server import CANNOT_START, warn_of
from forklore_local.server.user_tokens import add_user
from tests.local.server.project import write_project
from tools.harness.dynamodb import engine_server
from tools.harness.ports import wait_until_it_listens

ROOT = Path(__file__).parents[3]
SAMPLE = "tests.local.server.serve"
STARTS_WITHIN_SECONDS = STOPS_WITHIN_SECONDS = 120


@dataclass(frozen=True)
class Running:
    """A server, its printed address, and everything that it printed before it was ready."""

    process: subprocess.Popen[str]
    url: str
    banner: str

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send the signal; return the exit code and the standard error."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=STOPS_WITHIN_SECONDS)
        return self.process.returncode, errors


def start(*arguments: str, module: str = "forklore_local.server", **environ: str) -> subprocess.Popen[str]:
    known = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=known | environ,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@contextmanager
def running(*arguments: str, last_line: str, **options: str) -> Iterator[Running]:
    """Start a server and wait until it has printed `last_line`. It is always stopped at the end."""
    process = start(*arguments, **options)
    try:
        assert process.stdout
        banner = ""
        while last_line not in banner:
            line = process.stdout.readline()
            assert line, process.communicate(timeout=STARTS_WITHIN_SECONDS)
            banner += line
        url = next(word for word in banner.split() if word.startswith("http://127.0.0.")).rstrip("/")
        yield Running(process, url, banner)
    finally:
        process.kill()
        process.communicate()


@contextmanager
def server(folder: Path, *arguments: str, **environ: str) -> Iterator[Running]:
    if not (folder / "sample_functions").exists():
        write_project(folder)
    options = {"PORT": "0"} | environ
    with running(str(folder), *arguments, module=SAMPLE, last_line="Ctrl+C", **options) as started:
        yield started


def test_the_command_that_the_server_prints_works(tmp_path: Path) -> None:
    with server(tmp_path) as local:
        [line] = [line for line in local.banner.splitlines() if "curl" in line]
        words = shlex.split(line)
        url = words[words.index("POST") + 1]
        headers = [word.split(": ", 1) for word in words if ": " in word]
        response = httpx.post(url, headers=dict(headers), content=words[words.index("-d") + 1])

        event = response.json()
        assert event["routeKey"] == "POST /v1/conversations"
        assert json.loads(event["body"]) == {"title": "Hello"}
        assert event["requestContext"]["authorizer"]["lambda"]["userId"] == "alice"
        assert local.banner.splitlines()[0] == f"see the conversations at {local.url}/"
        assert f"{local.url}/docs" in local.banner
        assert "To keep it: --data ./data" in local.banner
        assert httpx.get(f"{local.url}/docs").status_code == 200
        assert httpx.get(f"{local.url}/").headers["forklore-page"] == "explorer"
        assert local.stop() == (0, "")


def test_an_event_over_http_has_the_fields_of_api_gateway(tmp_path: Path) -> None:
    with server(tmp_path) as local:
        request = (
            b"PUT /echo/a%40b%20c?x=1&x=2+3 HTTP/1.1\r\nHost: localhost\r\nX-Twice: 1\r\nx-tWICE: 2\r\n"
            b"Authorization: Bearer zo\xc3\xab\r\nCookie: a=b; c=d\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
        )
        event = json.loads(exchange(local.url, request).partition(b"\r\n\r\n")[2])

        assert event["rawQueryString"] == "x=1&x=2+3"
        assert event["pathParameters"] == {"name": "a@b c"}
        assert event["headers"]["x-twice"] == "1,2"
        assert event["headers"]["content-length"] == "2"
        assert event["cookies"] == ["a=b", "c=d"]
        assert event["body"] == "{}"
        assert event["requestContext"]["http"]["sourceIp"] == "127.0.0.1"
        assert event["requestContext"]["authorizer"]["lambda"]["userId"] == "zoë"


def exchange(url: str, request: bytes) -> bytes:
    """Send the bytes; return everything that comes back until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])), timeout=60) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_page_on_another_port_of_this_machine_may_call(tmp_path: Path) -> None:
    with server(tmp_path) as local:
        page = {"Origin": "http://localhost:3000"}
        answer = httpx.get(f"{local.url}/echo/a", headers=page)
        assert answer.headers["access-control-allow-origin"] == page["Origin"]
        other = httpx.get(f"{local.url}/echo/a", headers={"Origin": "http://evil.example"})
        assert "access-control-allow-origin" not in other.headers


def test_head_has_the_headers_of_the_answer_and_no_body(tmp_path: Path) -> None:
    with server(tmp_path) as local:
        head = exchange(local.url, b"HEAD /echo/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

        assert head.startswith(b"HTTP/1.1 200 ")
        assert b"content-type: application/json" in head
        assert head.endswith(b"\r\n\r\n")


def test_a_connection_stays_open_after_a_413(tmp_path: Path) -> None:
    with server(tmp_path) as local:
        connection = http.client.HTTPConnection(local.url.removeprefix("http://"), timeout=60)
        connection.request("POST", "/v1/conversations", body=b"x" * (12 * 1024 * 1024))
        response = connection.getresponse()
        assert (response.status, response.read()) == (413, b'{"message":"Request Entity Too Large"}')
        connection.request("GET", "/echo/a")
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_with_0_even_with_an_open_connection(tmp_path: Path, number: int) -> None:
    with server(tmp_path) as local, httpx.Client() as client:
        assert client.get(f"{local.url}/echo/a").status_code == 200

        assert local.stop(number) == (0, "")


def test_a_reader_that_leaves_after_a_line_does_not_stop_the_server(tmp_path: Path) -> None:
    with server(tmp_path) as local:
        assert local.process.stdout
        assert local.process.stderr
        local.process.stdout.close()
        local.process.stderr.close()
        for _ in range(3):
            failed = httpx.get(f"{local.url}/odd/fail", timeout=60)  # which writes a line
            assert failed.status_code == 500
        local.process.send_signal(signal.SIGTERM)

        assert local.process.wait(STOPS_WITHIN_SECONDS) == 0


def test_a_banner_that_nobody_reads_does_not_keep_the_server_from_serving(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    read, written = os.pipe()
    os.close(read)
    process = subprocess.Popen(
        [sys.executable, "-m", "forklore_local.server", "--port", str(port)], cwd=ROOT, stdout=written
    )
    os.close(written)
    try:
        wait_until_it_listens(process, port, seconds=STARTS_WITHIN_SECONDS)
        assert httpx.get(f"http://127.0.0.1:{port}/v1/health", timeout=60).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOPS_WITHIN_SECONDS) == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("module", ["forklore_local.server.openapi", "forklore_local.server.token --keys"])
def test_a_program_whose_reader_leaves_ends_in_silence(module: str) -> None:
    line = f"{shlex.quote(sys.executable)} -m {module} | true"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.stdout, done.stderr) == ("", "")


def test_a_handler_that_hangs_does_not_keep_the_server_running(tmp_path: Path) -> None:
    with server(tmp_path) as local:
        response = httpx.post(f"{local.url}/v1/conversations", content="sleep", timeout=60)
        assert response.status_code == 500  # the function's timeout; its thread still sleeps
        code, errors = local.stop()

        assert code == 0
        late, answered = errors.splitlines()
        assert ' ERROR not_in_time logger=forklore function=Echo route="POST /v1/conversations"' in late
        assert " status=500 " in answered


def test_a_server_that_cannot_end_is_ended_all_the_same(tmp_path: Path) -> None:
    """What hangs would go on for five times as long as this test waits."""
    code = f"""
import sys, time
from forklore_local.server import server
server.STOP_SECONDS = 1
server.Events.stop = lambda self: time.sleep({5 * STOPS_WITHIN_SECONDS})
sys.exit(server.main(arguments=["--port", "0"]))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env={"HOME": str(tmp_path)}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        assert any("Ctrl+C" in line for line in process.stdout)
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOPS_WITHIN_SECONDS) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.long
def test_an_idle_connection_is_kept_longer_than_clients_keep_it(tmp_path: Path) -> None:
    """httpx closes one after 5 s. If the server did so too, it could reset a new request."""
    with server(tmp_path) as local:
        connection = http.client.HTTPConnection(local.url.removeprefix("http://"), timeout=60)
        for pause in (5.5, 0):
            connection.request("GET", "/echo/a")
            response = connection.getresponse()
            assert (response.status, bool(response.read())) == (200, True)
            time.sleep(pause)
        connection.close()


def test_a_line_per_request_is_written_only_on_request_and_without_content(tmp_path: Path) -> None:
    with server(tmp_path, "--verbose") as local:
        httpx.get(f"{local.url}/echo/secret?secret", headers={"Authorization": "Bearer secret"})
        _, errors = local.stop()

        assert (
            ' INFO answered logger=forklore.access method=GET route="ANY /echo/{name}" status=200 ms='
            in errors
        )
        assert len(errors.splitlines()) == 1
        assert "secret" not in errors


def test_a_functions_own_warnings_are_shown_with_their_fields(tmp_path: Path) -> None:
    with server(tmp_path, "--log", "json") as local:
        for what in ("info", "warn"):
            httpx.get(f"{local.url}/odd/{what}")
        _, errors = local.stop()

        [line] = [json.loads(line) for line in errors.splitlines()]
        assert (line["level"], line["message"], line["who"]) == ("WARNING", "warned", "ann")


def test_a_functions_other_lines_are_shown_on_request(tmp_path: Path) -> None:
    with server(tmp_path, "--verbose", "--log", "json") as local:
        httpx.get(f"{local.url}/odd/info")
        _, errors = local.stop()

        told, answered = map(json.loads, errors.splitlines())
        assert told["status"] == "200"
        assert (answered["route"], answered["status"]) == ("GET /odd/{what}", 200)


@pytest.mark.parametrize(
    ("host", "is_warned"),
    [
        *[(host, False) for host in ("127.0.0.1", "127.0.0.9", "::1", "localhost")],
        *[(host, True) for host in ("0.0.0.0", "::", "", "192.168.0.4", "box")],
    ],
)
def test_a_server_that_others_reach_warns_that_nobody_verifies_tokens(
    caplog: pytest.LogCaptureFixture, host: str, is_warned: bool
) -> None:
    warn_of(host)

    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert told == ([("WARNING", "tokens_are_not_verified")] if is_warned else [])


def test_a_server_that_would_let_in_the_wrong_ones_does_not_start(tmp_path: Path) -> None:
    open_to_all = "nobody verifies it; use --issuer or --token-file, or say --insecure"
    refused = {
        ("--host", "0.0.0.0"): open_to_all,
        ("--host", ""): open_to_all,
        ("--issuer", "https://login.example", "--token-file", "f"): "choose one",
        ("--issuer", "https://login.example"): "set FORKLORE_AUDIENCE",
        ("--audience", "us"): "audience needs --issuer",
        ("--token-file", "f"): "f is missing; make it: forklore user add NAME --token-file f",
    }
    started = [start("--port", "0", *options, HOME=str(tmp_path)) for options in refused]
    for told, process in zip(refused.values(), started, strict=True):
        output, errors = process.communicate(timeout=STARTS_WITHIN_SECONDS)
        assert (process.returncode, output) == (CANNOT_START, "")
        assert told in errors


def test_with_a_file_of_tokens_only_its_users_come_in_also_to_the_tools(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    token = add_user(file, "ann")
    options = ["serve", "--port", "0", "--token-file", str(file), "--mcp"]
    with running(*options, module="forklore.cli", last_line="Ctrl+C") as local:

        def ask(bearer: str) -> list[httpx.Response]:
            headers = {"Authorization": f"Bearer {bearer}", "Accept": "application/json, text/event-stream"}
            call = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            listed = httpx.get(f"{local.url}/v1/conversations", headers=headers)
            return [listed, httpx.post(f"{local.url}/mcp", headers=headers, json=call)]

        assert [answer.status_code for answer in ask(token)] == [200, 200]
        assert [answer.status_code for answer in ask("ann")] == [401, 401]
        assert "Bearer alice" not in ask("ann")[0].text + local.banner
        assert httpx.head(f"{local.url}/").headers["forklore-stage"] == local.url
        assert [answer.status_code for answer in ask(add_user(file, "bob"))] == [200, 200]
        file.unlink()  # nobody is told that a good token is bad
        assert [(one.status_code, "retry-after" in one.headers) for one in ask(token)] == [(503, True)] * 2


def test_a_server_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    """Each of these takes 10 MB or more of each process."""
    code = """
import sys
from forklore_local.in_process.opened import Opened
import forklore_local.server.server
with __import__("contextlib").closing(Opened(None, name="t", sweeps=True)):
    print(*{"jwt", "cryptography", "numpy", "botocore", "boto3", "h11", "prometheus_client"} & {*sys.modules})
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, text=True, cwd=tmp_path
    )

    assert (run.stdout, run.stderr) == ("\n", "")


def test_a_port_in_use_is_one_line_and_2(tmp_path: Path) -> None:
    write_project(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = start(str(tmp_path), "--port", str(port), module=SAMPLE)
        output, errors = refused.communicate(timeout=STARTS_WITHIN_SECONDS)

    assert (refused.returncode, output) == (2, "")
    assert errors == (
        f"forklore: cannot listen on 127.0.0.1 port {port}: [Errno 98] Address already in use\n"
    )


@pytest.mark.parametrize(
    "environ",
    [
        {"FORKLORE_DYNAMODB_ENDPOINT": "nonsense"},
        {"FORKLORE_API_KEYS": "nonsense"},
        {"HOST": "not a host"},
    ],
    ids=lambda environ: next(iter(environ)),
)
def test_a_setting_that_cannot_work_is_one_line_and_2(tmp_path: Path, environ: dict[str, str]) -> None:
    write_project(tmp_path)
    refused = start(str(tmp_path), module=SAMPLE, **{"PORT": "0"} | environ)
    _, errors = refused.communicate(timeout=STARTS_WITHIN_SECONDS)

    assert refused.returncode == 2
    assert errors.startswith("forklore: ")
    assert errors.count("\n") == 1


def test_with_an_endpoint_the_data_outlives_the_server() -> None:
    made = "00000001-0000-4000-8000-000000000000"
    ann = {"Authorization": "Bearer ann"}
    with engine_server() as endpoint:
        for status in (201, 409):
            with running("--port", "0", last_line="Ctrl+C", FORKLORE_DYNAMODB_ENDPOINT=endpoint) as local:
                answer = httpx.post(f"{local.url}/v1/conversations", json={"id": made}, headers=ann)
                assert answer.status_code == status
        with running("--port", "0", last_line="Ctrl+C") as local:
            assert httpx.get(f"{local.url}/v1/conversations/{made}", headers=ann).status_code == 404


def test_a_deleted_tree_is_removed_in_the_background_also_with_an_endpoint() -> None:
    made = "00000001-0000-4000-8000-000000000000"
    ann = {"Authorization": "Bearer ann"}
    with engine_server() as endpoint:
        client = boto3.client(
            "dynamodb",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        environ = {
            "FORKLORE_DYNAMODB_ENDPOINT": endpoint,
            "FORKLORE_DELETE_WAIT_SECONDS": "0",
            "FORKLORE_DELETED_DAYS": "0",
        }
        with running("--port", "0", last_line="Ctrl+C", **environ) as local:
            conversations = f"{local.url}/v1/conversations"
            assert "the token is the user id" in httpx.get(conversations).json()["details"]["message"]
            assert httpx.post(conversations, json={"id": made}, headers=ann).status_code == 201
            deleted = httpx.delete(f"{conversations}/{made}", headers=ann)
            assert (deleted.status_code, deleted.content) == (204, b"")
            assert httpx.delete(f"{conversations}/{made}", headers=ann).status_code == 404
            give_up_at = time.monotonic() + 60
            while len(left := client.scan(TableName="forklore")["Items"]) > 1:
                assert time.monotonic() < give_up_at, [item["SK"] for item in left]
                time.sleep(0.1)
            assert local.stop() == (0, "")
        client.close()

    assert [item["PK"]["S"] for item in left] == [f"PTR#{made}"]


def test_an_agent_finds_its_name_and_memory_in_a_folder_that_it_has_written_in_process(
    tmp_path: Path,
) -> None:
    data = str(tmp_path / "data")
    with Forklore.local(user="ann", client="planner", data=data) as fl:
        fl.named("holiday").turn("user", "Lisbon?", context=["Lisbon"])
    clients = ["--client", "planner=secret=1", "--client", "coder=other"]
    with running("--port", "0", "--data", data, *clients, last_line="Ctrl+C") as local:
        for key, expected in (("secret=1", ["Lisbon"]), ("other", [])):
            with Forklore(local.url, token="ann", client_key=key) as fl:
                assert fl.named("holiday").context.latest() == expected


@pytest.mark.parametrize("clients", [["planner"], ["=key"], ["a=local-key"], ["a=1", "b=1"]])
def test_a_client_without_a_name_and_a_key_of_its_own_is_refused(clients: list[str]) -> None:
    with pytest.raises(ValueError, match=r"^--client number"):
        clients_by_hash({}, clients)


def test_a_server_recalls_over_all_trees_by_the_index_of_vectors(tmp_path: Path) -> None:
    data, model = str(tmp_path / "data"), "tests.support.meaning:vectors_of"
    options = ["--port", "0", "--data", data, "--workers", "1", "--recall", model]
    with running(*options, last_line="Ctrl+C") as local, Forklore(local.url, token="ann") as fl:
        fl.named("trip").say("user", "a quiet hotel")
        fl.named("food").say("user", "a good soup")
        [hit] = fl.recall("a calm inn", limit=1)
        assert hit.conversation_title == "a quiet hotel"
    with closing(sqlite3.connect(tmp_path / "data" / "forklore.db")) as database:
        [found] = database.execute("SELECT count(*) FROM item WHERE SK = 'SHELF'")
    assert found == (1,)  # made when its trees were put into the index
