"""The local server with `--data`, on each installed engine, and its message without one."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which

import httpx
import pytest

from forklore.local import engines
from forklore.local.dynamodb_local import CACHE, VERSION
from tests.local.test_server import (
    ROOT,
    STARTS_WITHIN_SECONDS,
    STOPS_WITHIN_SECONDS,
    Running,
    running,
    start,
)

ANN = {"Authorization": "Bearer ann"}
MADE = "00000001-0000-4000-8000-000000000000"
DYNOXIDE, DYNAMODB_LOCAL = (engine.name for engine in engines.ENGINES)
PROGRAMS = {DYNOXIDE: "dynoxide", DYNAMODB_LOCAL: "java"}


@pytest.fixture(params=[DYNOXIDE, DYNAMODB_LOCAL])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A PATH with one engine. Skips the test if the engine is not installed."""
    program = which(PROGRAMS[request.param])
    if program is None or (request.param == DYNAMODB_LOCAL and not (CACHE / VERSION).is_dir()):
        pytest.skip(f"NOT TESTED with {request.param}: it is not installed")
    only = tmp_path / "programs"
    only.mkdir()
    (only / PROGRAMS[request.param]).symlink_to(program)
    return str(only)


@pytest.fixture
def keep(path: str, tmp_path: Path) -> Iterator[Callable[[], Running]]:
    """A function that starts a server. All servers use the same data folder."""
    opened = []

    def begin() -> Running:
        context = running("--port", "0", "--data", str(tmp_path / "da ta"), last_line="Ctrl+C", PATH=path)
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


def engines_in(folder: Path) -> list[int]:
    """Return the processes with the folder in their command line, except local servers."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(str(folder).encode() in word for word in command) and b"forklore.local" not in command:
            found.append(int(process.name))
    return found


def wait_until_none(folder: Path) -> None:
    give_up_at = time.monotonic() + 20
    while engines_in(folder):
        assert time.monotonic() < give_up_at, "the database still runs"
        time.sleep(0.05)


def test_data_outlives_the_server_and_the_database_does_not(
    keep: Callable[[], Running], tmp_path: Path
) -> None:
    first = keep()
    create(first)
    assert engines_in(tmp_path / "da ta")
    assert str(tmp_path / "da ta") in first.banner
    assert "forgets" not in first.banner
    assert first.stop() == (0, "")
    assert not engines_in(tmp_path / "da ta")

    assert title(keep()) == "kept"


def test_data_outlives_a_server_that_is_killed(keep: Callable[[], Running], tmp_path: Path) -> None:
    first = keep()
    create(first)
    assert first.stop(signal.SIGKILL)[0] == -signal.SIGKILL

    assert title(keep()) == "kept"  # this server waits until the database of the first one has ended


def test_a_database_ends_with_a_server_that_is_killed(keep: Callable[[], Running], tmp_path: Path) -> None:
    local = keep()
    assert engines_in(tmp_path / "da ta")
    local.process.kill()

    wait_until_none(tmp_path / "da ta")


def test_a_server_whose_database_has_ended_says_so_and_stops(
    keep: Callable[[], Running], tmp_path: Path
) -> None:
    local = keep()
    for number in engines_in(tmp_path / "da ta"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    _, errors = local.process.communicate(timeout=STOPS_WITHIN_SECONDS)

    assert local.process.returncode == 1
    assert errors == "forklore: the database has ended, so the server stops\n"


def test_git_ignores_a_folder_that_the_server_has_created(
    keep: Callable[[], Running], tmp_path: Path
) -> None:
    keep()

    assert (tmp_path / "da ta" / ".gitignore").read_text() == "*\n"


def test_an_existing_folder_gets_no_gitignore(keep: Callable[[], Running], tmp_path: Path) -> None:
    (tmp_path / "da ta").mkdir()
    keep()

    assert not (tmp_path / "da ta" / ".gitignore").exists()


def test_a_folder_in_use_prints_one_line_and_exits_with_1(
    keep: Callable[[], Running], path: str, tmp_path: Path
) -> None:
    first = keep()
    second = start("--port", "0", "--data", str(tmp_path / "da ta"), PATH=path)
    _, errors = second.communicate(timeout=STARTS_WITHIN_SECONDS)

    assert second.returncode == 1
    assert errors == f"forklore: {tmp_path / 'da ta'} is in use by another server\n"
    create(first)


def refused(*arguments: str, **environ: str) -> str:
    process = start("--port", "0", *arguments, **environ)
    output, errors = process.communicate(timeout=STARTS_WITHIN_SECONDS)
    assert (process.returncode, output, errors.count("\n")) == (1, "", 1), errors
    return errors


def test_without_an_engine_the_server_says_what_to_install(tmp_path: Path) -> None:
    errors = refused("--data", str(tmp_path / "data"), PATH=str(tmp_path))

    assert "cargo install dynoxide-rs" in errors
    assert "java" in errors


@pytest.mark.parametrize(
    ("file", "program"), [("dynoxide.db", "dynoxide"), ("shared-local-instance.db", "java")]
)
def test_data_of_one_engine_is_not_opened_with_another(tmp_path: Path, file: str, program: str) -> None:
    for other in {"dynoxide", "java", "mvn"} - {program}:
        (tmp_path / other).symlink_to("/bin/true")
    data = tmp_path / "data"
    data.mkdir()
    (data / file).touch()

    errors = refused("--data", str(data), PATH=str(tmp_path))

    assert program in errors
    assert len({"cargo", "Maven"} & set(errors.replace("(", " ").split())) == 1


def test_a_data_folder_and_an_endpoint_together_are_refused(tmp_path: Path) -> None:
    errors = refused("--data", str(tmp_path), FORKLORE_DYNAMODB_ENDPOINT="http://127.0.0.1:8000")

    assert "FORKLORE_DYNAMODB_ENDPOINT" in errors


def test_a_folder_that_cannot_be_created_prints_one_line_and_exits_with_1(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert "cannot keep data in" in refused("--data", str(tmp_path / "file" / "data"))


def test_a_database_that_ends_at_once_prints_one_line_and_exits_with_1(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "dynoxide").write_text("#!/bin/sh\necho error: it is broken\nexit 3\n")
    (programs / "dynoxide").chmod(0o755)

    errors = refused("--data", str(tmp_path / "data"), PATH=f"{programs}:/bin")

    assert errors == "forklore: dynoxide did not start: error: it is broken\n"


def test_make_run_passes_the_folder_to_the_server() -> None:
    done = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "run", "RUN=nowhere", "DATA=./my data"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == '"nowhere/bin/python" -m forklore.local --data "./my data"'
