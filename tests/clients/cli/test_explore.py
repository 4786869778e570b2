"""`forklore explore`: a local server's own page, or a small server for a stage until Ctrl+C."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.clients.cli.exploring import answering, odd_stage
from tests.clients.cli.running import Forklore
from tests.clients.cli.test_process import RUN_S, ran, started
from tools.harness.local_server import environment

HEALTHY = answering(200, b'{"status":"ok"}')


@pytest.fixture
def anybody(home: Path) -> Forklore:
    """Nobody in particular, with no settings."""
    return Forklore((), {"XDG_CONFIG_HOME": str(home)})


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """The addresses that a browser was asked to open."""
    addresses: list[str] = []

    def take(address: str) -> bool:
        addresses.append(address)
        return True

    with mock.patch.object(webbrowser, "open", take):
        yield addresses


@contextlib.contextmanager
def exploring(*arguments: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command for a stage, without a browser: the process, and the address of its page."""
    with started("explore", "--no-browser", *arguments, **variables) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate(timeout=RUN_S)
        yield process, line.strip()


def get(address: str, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(address, headers=headers)
    with urllib.request.urlopen(request, timeout=RUN_S) as answer:
        return answer.status, answer.read().decode()


def test_the_page_of_a_local_server_is_opened_and_nothing_runs_on(
    anybody: Forklore, url: str, opened: list[str]
) -> None:
    for address in (url, f"{url}/"):
        found = anybody(f"--url {address} explore")
        assert (found.code, found.out, found.err) == (0, f"{url}/\n", "")

    assert opened == [f"{url}/"] * 2


def test_without_a_browser_the_address_is_only_written(
    anybody: Forklore, url: str, opened: list[str]
) -> None:
    assert anybody(f"--url {url} explore --no-browser").out == f"{url}/\n"
    assert anybody(f"--url {url} explore --no-browser --json").out == f'{{"url":"{url}/"}}\n'
    assert opened == []


def test_a_machine_without_a_browser_is_told_so(anybody: Forklore, url: str) -> None:
    with mock.patch.object(webbrowser, "open", return_value=False):
        found = anybody(f"--url {url} explore")

    assert (found.code, found.out) == (0, f"{url}/\n")
    assert found.err == "there is no browser here: open the address yourself\n"


def test_for_a_stage_the_page_is_served_here_until_ctrl_c() -> None:
    with odd_stage(HEALTHY) as (stage, seen), exploring("--url", f"{stage}/prod") as (process, page):
        assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/", page)
        assert "<html" in get(page)[1]
        assert get(f"{page}v1/health") == (200, '{"status":"ok"}')
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=RUN_S)

    assert (process.returncode, out) == (0, "")
    assert err == f"this page shows {stage}/prod until Ctrl+C\n"
    assert {path for _, path, _, _ in seen} == {"/prod/", "/prod/v1/health"}


def test_ctrl_c_does_not_wait_for_open_connections_and_running_requests() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(RUN_S)
        port = silent.getsockname()[1]
        with started(
            "explore", "--no-browser", "--port", "0", "--url", f"http://127.0.0.1:{port}"
        ) as process:
            taken, _ = silent.accept()
            with taken:  # the first question is whether a service is there
                taken.recv(10_000)
                taken.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            assert process.stdout is not None
            page = process.stdout.readline().strip()
            host = page.removeprefix("http://").rstrip("/")
            with socket.create_connection(("127.0.0.1", int(host.split(":")[1]))) as waiting:
                waiting.sendall(f"GET /v1/x HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                running, _ = silent.accept()
                os.kill(process.pid, signal.SIGINT)
                process.communicate(timeout=RUN_S / 4)
                running.close()

    assert process.returncode == 0


def test_the_settings_token_is_not_given_to_who_opens_the_page(url: str) -> None:
    with (
        exploring("--port", "0", "--url", url, "--token", "ann", "--client-key", "local-key") as (_, page),
        pytest.raises(urllib.error.HTTPError) as refused,
    ):
        get(f"{page}v1/conversations")

    assert refused.value.code == 401
    refused.value.close()


def test_a_port_is_chosen_and_one_in_use_is_refused(url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = ran(f"$F explore --no-browser --url {url} --port {port}")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"forklore: cannot listen on 127.0.0.1 port {port}: ")
    assert refused.stderr.count("\n") == 1

    with exploring("--url", url, "--port", str(port), "--json") as (_, line):
        assert json.loads(line) == {"url": f"http://127.0.0.1:{port}/"}
        assert get(f"http://127.0.0.1:{port}/v1/health")[0] == 200


def test_a_stage_opens_the_browser_once(tmp_path: Path) -> None:
    """The program that BROWSER names writes its address to a file."""
    told = tmp_path / "told"
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$1" >> "{told}"\n')
    program.chmod(0o755)
    with (
        odd_stage(HEALTHY) as (stage, _),
        started("explore", "--url", stage, BROWSER=str(program)) as process,
    ):
        assert process.stdout is not None
        page = process.stdout.readline()
        give_up_at = time.monotonic() + RUN_S
        while not (told.exists() and told.read_text().endswith("\n")):
            assert process.poll() is None
            assert time.monotonic() < give_up_at, "no browser was opened"
            time.sleep(0.05)
        time.sleep(0.5)  # for a second opening
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=RUN_S)

    assert told.read_text() == page


def test_an_address_where_no_service_is_is_refused(anybody: Forklore) -> None:
    with odd_stage(answering(403, b'{"message":"Forbidden"}')) as (stage, _):
        found = anybody(f"--url {stage}/wrong explore")

    said = f"no service of forklore is at {stage}/wrong (403: the address may be wrong)"
    assert (found.code, found.out, found.err) == (2, "", f"forklore: {said}\n")


@pytest.mark.parametrize(
    "origin",
    [
        "http://files.example.com",
        "https://a.example.com/path",
        "https://*.com",
        "https://a.b;",
        "*",
        "https://a b",
    ],
)
def test_an_address_of_attachments_that_is_no_safe_origin_is_refused(anybody: Forklore, origin: str) -> None:
    found = anybody(f"--url https://example.com explore --attachments '{origin}'")

    assert (found.code, found.out) == (2, "")
    assert found.err == f"forklore: {origin} is no https:// address without a path\n"


def test_a_redirect_of_the_address_is_not_followed(anybody: Forklore) -> None:
    with (
        odd_stage(HEALTHY) as (elsewhere, seen),
        odd_stage(answering(301, Location=f"{elsewhere}/v1/health")) as (stage, _),
    ):
        found = anybody(f"--url {stage} explore")

    assert (found.code, found.out) == (2, "")
    assert "(301: the address may be wrong)" in found.err
    assert seen == []


def test_a_stage_that_is_busy_is_explored_as_soon_as_it_answers_again() -> None:
    with odd_stage(answering(503)) as (stage, _), exploring("--url", stage) as (process, page):
        assert get(page)[0] == 200
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=RUN_S)

    assert process.returncode == 0


@pytest.mark.parametrize("address", ["http://127.0.0.1:{port}", "https://127.0.0.1:{port}"])
def test_a_service_that_is_not_there_is_5_in_one_line(anybody: Forklore, address: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        found = anybody(f"--url {address.format(port=unused.getsockname()[1])} explore")

    assert (found.code, found.out, len(found.err.splitlines())) == (5, "", 1)
    assert "Connection refused" in found.err


def test_an_address_without_encryption_is_2(anybody: Forklore) -> None:
    found = anybody("--url http://example.com explore")

    said = "http://example.com would get your token without encryption: give an https:// address"
    assert (found.code, found.out, found.err) == (2, "", f"forklore: {said}\n")


@pytest.mark.parametrize("options", ["--data :memory: --user ann", "--function F --user ann"])
def test_a_service_without_an_address_has_no_page(anybody: Forklore, options: str) -> None:
    found = anybody(f"{options} explore")

    assert (found.code, found.out) == (2, "")
    assert found.err == "forklore: the page needs a service at an address: see forklore serve\n"


def test_only_the_packages_of_the_command_line_are_needed() -> None:
    script = (
        "import sys\n"
        "for name in ('boto3', 'moto', 'pydantic', 'uvicorn', 'jwt', 'flask_swagger_ui'):\n"
        "    sys.modules[name] = None\n"
        "from forklore.cli.exploring.forwarder import Forwarder\n"
        "from forklore.cli.exploring.deployment import Stage\n"
        "with Forwarder(Stage('https://example.com')) as server:\n"
        "    print(sorted(server.files)[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("/\n", "")
