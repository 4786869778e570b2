"""The server is killed and started again: the page says so, comes back, and sends nothing twice."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from forklore import Forklore
from tests.web import steps
from tests.web.browser import Watch
from tools.harness.local_server import ROOT, environment

GONE = "ERR_CONNECTION_(REFUSED|RESET)|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED"
GONE += "|ERR_INCOMPLETE_CHUNKED|ERR_CONTENT_LENGTH_MISMATCH"  # it was in the middle of an answer
READY_S = 60
PORT_MAX = 32_768
BACK_MS = 60_000
"""Within this time the page has the server back. It asks every 5 s; a new server is slow."""


def kept_port() -> int:
    """Return a free port that nobody is given by chance while the server is down.

    Systems give ports from 32768 on to outgoing connections and to who asks for any port. Each
    worker of the tests begins at another place.
    """
    first = 20_000 + os.getpid() * 101 % 12_000
    for port in range(first, PORT_MAX):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


class Server:
    """A local server that keeps its data in a folder. It is always at the same address."""

    def __init__(self, data: Path) -> None:
        self._port = kept_port()
        self._command = [sys.executable, "-m", "forklore_local.server", "--port", str(self._port)]
        self._command += ["--data", str(data)]
        self.url = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL
        )
        until = time.monotonic() + READY_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
            except ConnectionRefusedError:
                assert self._process.poll() is None, "the server has ended"
                assert time.monotonic() < until, "the server does not listen"
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """Kill it, without any warning."""
        self._process.kill()
        self._process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "data")
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture
def url(server: Server) -> str:
    """The address of this test's own server."""
    return server.url


def test_a_page_says_that_the_server_is_gone_and_comes_back_with_it(
    blank: Page, api: Forklore, user: str, server: Server, watch: Watch
) -> None:
    watch.expect(GONE)
    made = steps.talk(api, "A asks", title="Lisbon")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "A asks")).to_be_visible()

    server.kill()
    expect(steps.said(page, steps.LOST)).to_be_visible()
    expect(steps.entry(page, "A asks")).to_be_visible()
    server.start()

    expect(steps.said(page, steps.LOST)).to_be_hidden(timeout=BACK_MS)
    expect(steps.said(page, "The server answers again.")).to_be_visible()
    made.say("ai", "B answers")
    steps.expect_messages(page, ["A asks", "B answers"])
    steps.send(page, "C asks on")


def test_a_message_is_there_once_though_the_server_is_killed_after_it_took_it(
    blank: Page, api: Forklore, user: str, server: Server, watch: Watch
) -> None:
    watch.expect(GONE)
    made = steps.talk(api, "A asks")
    page = steps.sign_in(blank, user, at=steps.at_conversation(made.id))
    expect(steps.entry(page, "A asks")).to_be_visible()
    done: list[int] = []

    def kill(route: Route) -> None:
        done.append(route.fetch().status)
        server.kill()
        route.abort("connectionreset")
        page.unroute(steps.APPENDS)

    page.route(steps.APPENDS, kill)

    steps.write(page, "B answers", role="AI")
    expect(steps.said(page, steps.LOST)).to_be_visible()
    server.start()

    expect(steps.said(page, steps.LOST)).to_be_hidden(timeout=BACK_MS)
    expect(steps.box(page)).to_have_value("")
    steps.expect_messages(page, ["A asks", "B answers"])
    assert done == [201]
    assert steps.stored(made) == ["USER: A asks", "AI: B answers"]


def test_who_comes_in_while_the_server_is_gone_is_told_so(
    blank: Page, user: str, server: Server, watch: Watch
) -> None:
    watch.expect(GONE)
    blank.goto("/")
    expect(blank.get_by_label("User id")).to_be_visible()
    server.kill()

    steps.fill_sign_in(blank, user)
    expect(blank.get_by_role("alert")).to_contain_text("The server does not answer. Is it running?")
    server.start()
    steps.fill_sign_in(blank, user)

    expect(steps.conversations(blank)).to_be_visible()
