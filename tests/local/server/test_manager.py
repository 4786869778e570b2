"""A server under a service manager: what it is given, and what it says."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from forklore_local.server.user_tokens import add_user
from tests.local.server.receiving import wait_until
from tests.local.server.test_server import ROOT, STARTS_WITHIN_SECONDS, running

AS_GIVEN = """\
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ["LISTEN_PID"] = os.environ["WATCHDOG_PID"] = str(os.getpid())
os.execv(sys.executable, [sys.executable, "-m", "forklore_local.server", *sys.argv[2:]])
"""
"""Becomes the server, whose process id stands in its variables."""


class Told:
    """Hears what a server says to its manager."""

    def __init__(self, place: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(place))
        self._socket.settimeout(STARTS_WITHIN_SECONDS)
        self.place = str(place)

    def until(self, text: str) -> list[str]:
        """Return what is said until a text comes, with it, without what only says that it lives."""
        heard = []
        while text not in heard:
            heard += self._socket.recv(1000).decode().splitlines()[:1]
        return [one for one in heard if one == text or one != "WATCHDOG=1"]

    def is_silent(self, seconds: float) -> bool:
        """Tell whether nothing is said for some seconds, after what was said already."""
        self._socket.settimeout(seconds)
        try:
            return not all(self._socket.recv(1000) for _ in range(20))
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(STARTS_WITHIN_SECONDS)

    def close(self) -> None:
        self._socket.close()


@contextmanager
def managed(
    folder: Path, *arguments: str, **environ: str
) -> Iterator[tuple[subprocess.Popen[str], Told, str]]:
    """Yield a server that is ready, what it tells, and the address that was opened for it."""
    told = Told(folder / "notify")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-c", AS_GIVEN, str(listener.fileno()), *arguments],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": told.place, "LISTEN_FDS": "1", **environ},
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[listener.fileno()],
        )
        try:
            assert told.until("READY=1") == ["READY=1"]
            yield process, told, url
        finally:
            process.kill()
            process.communicate()
            told.close()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_managed_server_takes_its_socket_and_says_how_it_goes(tmp_path: Path, workers: str) -> None:
    line = ("--data", str(tmp_path / "data"), "--workers", workers, "--port", "1")
    with managed(tmp_path, *line, WATCHDOG_USEC="200000") as (process, told, url):
        assert httpx.get(f"{url}/v1/health", timeout=60).status_code == 200
        for _ in range(2):
            told.until("WATCHDOG=1")
        process.send_signal(signal.SIGHUP)
        assert told.until("READY=1") == ["RELOADING=1", "READY=1"]
        process.send_signal(signal.SIGTERM)
        assert told.until("STOPPING=1") == ["STOPPING=1"]
        assert process.wait(STARTS_WITHIN_SECONDS) == 0


def test_a_server_whose_workers_all_hang_does_not_say_that_it_lives(tmp_path: Path) -> None:
    line = ("--data", str(tmp_path / "data"), "--workers", "2")
    with managed(tmp_path, *line, WATCHDOG_USEC="200000") as (process, told, url):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: len(children.read_text().split()) == 2)
        workers = [int(worker) for worker in children.read_text().split()]
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        waiting = [socket.create_connection(address) for _ in range(3)]
        try:
            assert told.is_silent(1)
        finally:
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
        told.until("WATCHDOG=1")  # others were started
        for one in waiting:
            one.close()


def test_a_socket_that_nobody_can_call_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other, socket.create_server(("127.0.0.1", 0)) as listener:
        other.bind(str(tmp_path / "s"))
        other.listen()
        for given, number, told in (
            (other, "1", "does not listen for TCP"),
            (listener, "2", "gives 2 sockets"),
        ):
            done = subprocess.run(
                [sys.executable, "-c", AS_GIVEN, str(given.fileno())],
                cwd=ROOT,
                env={"LISTEN_FDS": number},
                capture_output=True,
                text=True,
                check=False,
                pass_fds=[given.fileno()],
            )
            assert (done.returncode, told in done.stderr, done.stderr.count("\n")) == (2, True, 1), (
                done.stderr
            )


@pytest.mark.parametrize("workers", ["1", "2"])
def test_hup_reads_keys_tokens_and_the_file_anew_and_refuses_what_is_wrong(
    tmp_path: Path, workers: str
) -> None:
    file, tokens = tmp_path / "forklore.toml", tmp_path / "tokens"
    token, bobs = add_user(tokens, "ann"), add_user(tmp_path / "more", "bob")
    lines = f"data = 'data'\nworkers = {workers}\nport = 0\nlog = 'json'\n"
    file.write_text(f"{lines}token-file = 'tokens'\n")
    with running("--config", str(file), last_line="Ctrl+C") as local:

        def statuses(**headers: str) -> set[int]:
            """Return what each worker answers."""
            url = f"{local.url}/v1/conversations"
            return {httpx.get(url, headers=headers, timeout=60).status_code for _ in range(2)}

        as_ann, as_bob = ({"Authorization": f"Bearer {one}"} for one in (token, bobs))
        assert (statuses(**as_ann), statuses(**as_bob)) == ({200}, {401})
        file.write_text(f"{lines}token-file = 'more'\nclient = ['planner=key']\nverbose = true\n")
        local.process.send_signal(signal.SIGHUP)
        wait_until(lambda: statuses(**as_bob, **{"X-API-Key": "key"}) == {200})
        assert statuses(**as_ann) == {401}
        seen = ""
        for wrong in ("prot = 1", "token-file = 'more'\nclient = ['secret']", "insecure = true"):
            file.write_text(f"{lines}{wrong}\n")
            local.process.send_signal(signal.SIGHUP)
            assert local.process.stderr
            while "settings_refused" not in (line := local.process.stderr.readline()):
                seen += line
            seen += line
            assert statuses(**as_bob) == {200}
        assert local.stop() == (0, "")

    told = [json.loads(line) for line in seen.splitlines()]
    assert [(one["message"], one.get("options") or one.get("means")) for one in told] == [
        ("start_again_for", ["verbose"]),
        ("settings_refused", f"{file} has an unknown option prot; do you mean port?"),
        ("settings_refused", "FORKLORE_API_KEYS: pair 1 is not client=key"),
        ("settings_refused", "to verify tokens in another way, start the server again"),
    ]
