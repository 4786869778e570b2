"""Makes at the same time, killed makes, and a demo that is started before the server."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tools.make import once, wait_for_server

PROJECT = Path(__file__).parents[2]
WAIT_S = 120
"""How long a process may take on a busy machine before a test gives up."""


def once_started(target: Path, *command: str) -> subprocess.Popen[str]:
    """Start the program with a command. Its input is a pipe."""
    return subprocess.Popen(
        [sys.executable, once.__file__, str(target), "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_makes_at_once_make_an_environment_once_also_in_a_folder_with_a_blank(tmp_path: Path) -> None:
    checkout = tmp_path / "a checkout"
    (checkout / "requirements").mkdir(parents=True)
    for lock in ("run.txt", "pip.txt"):
        (checkout / "requirements" / lock).touch()  # nothing but the environment itself is installed
    shutil.copytree(PROJECT / "tools" / "make", checkout / "tools" / "make")
    shutil.copy(PROJECT / "Makefile", checkout)
    command = ["make", "--no-print-directory", f"PYTHON={sys.executable}", "RUN=.run", ".run/locked"]

    first = subprocess.Popen(command, cwd=checkout, stdout=subprocess.PIPE, text=True)
    with first:
        assert first.stdout is not None
        begun = first.stdout.readline()
        second = subprocess.run(
            command, cwd=checkout, capture_output=True, text=True, timeout=WAIT_S, check=False
        )
        rest, _ = first.communicate(timeout=WAIT_S)

    assert begun.startswith("Installing requirements/run.txt into .run")
    assert (first.returncode, rest) == (0, "")
    assert (second.returncode, second.stdout) == (0, "Waiting for another make, which makes .run.\n")
    assert (checkout / ".run" / "bin" / "pip").exists()


def test_what_a_killed_make_leaves_is_made_anew_when_its_command_has_ended(tmp_path: Path) -> None:
    target = tmp_path / "env" / "ready"
    with once_started(target, "sh", "-c", f"mkdir '{tmp_path}/env'; echo begun; read end") as killed:
        assert killed.stdout is not None
        assert killed.stdin is not None
        assert killed.stdout.readline() == "begun\n"
        killed.kill()
        killed.wait(WAIT_S)
        with once_started(target, "sh", "-c", "echo anew") as again:
            assert again.stdout is not None
            assert again.stdout.readline() == f"Waiting for another make, which makes {tmp_path}/env.\n"
            killed.stdin.close()  # ends `read`
            assert again.stdout.readline() == "anew\n"

    assert again.returncode == 0
    assert target.exists()


def test_a_failed_command_leaves_no_target(tmp_path: Path) -> None:
    target = tmp_path / "env" / "ready"

    assert once.main(target, [], ["sh", "-c", f"mkdir '{tmp_path}/env'; exit 7"]) == 7
    assert not target.exists()


def test_a_command_runs_again_only_for_a_newer_prerequisite(tmp_path: Path) -> None:
    target, needed, told = tmp_path / "env" / "ready", tmp_path / "lock.txt", tmp_path / "told"
    target.parent.mkdir()
    needed.touch()
    command = ["sh", "-c", f"echo made >> '{told}'"]

    assert [once.main(target, [needed], command) for _ in range(2)] == [0, 0]
    assert told.read_text() == "made\n"
    later = target.stat().st_mtime + 1
    os.utime(needed, (later, later))
    assert once.main(target, [needed], command) == 0
    assert told.read_text() == "made\nmade\n"


def test_nothing_is_made_through_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "env").symlink_to("mine")

    assert once.main(tmp_path / "env" / "ready", [], ["false"]) == 2
    assert f"{tmp_path}/env is a link to {tmp_path}/mine" in capsys.readouterr().err
    assert list((tmp_path / "mine").iterdir()) == []


def test_the_demo_waits_for_a_server_that_is_started_later() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    waiting = subprocess.Popen(
        [sys.executable, "-m", wait_for_server.__name__, f"http://127.0.0.1:{port}"],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with waiting:
        assert waiting.stdout is not None
        assert f"Waiting for a server at http://127.0.0.1:{port}" in waiting.stdout.readline()
        with socket.create_server(("127.0.0.1", port)):
            assert waiting.wait(WAIT_S) == 0


def test_the_wait_for_a_server_ends_and_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

    assert wait_for_server.main(f"http://127.0.0.1:{port}", seconds_max=0) == 1
    assert "Start it with `make run`" in capsys.readouterr().err
    assert wait_for_server.main("http://127.0.0.1:99999") == 0  # who calls it says what is wrong
