"""The local server with `--data`: the embedded store, and each engine that is installed."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which

import httpx
import pytest

from forklore.domain.model import Caller
from forklore.embedded.service import EmbeddedService
from forklore.local.dynamodb_local import CACHE, VERSION
from forklore.local.engines import EMBEDDED, ENGINES
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
PROGRAMS = {"dynoxide": "dynoxide", "dynamodb-local": "java"}
SERVERS = [pytest.param(one, marks=pytest.mark.long) if PROGRAMS[one] == "java" else one for one in ENGINES]
"""Java starts slowly, so `make test-reliability` tries it."""


def path_with(engine: str, tmp_path: Path) -> str:
    """Return a PATH with the program of an engine. Skip the test if it is not installed."""
    only = tmp_path / "programs"
    only.mkdir()
    if engine != EMBEDDED:
        program = which(PROGRAMS[engine])
        if program is None or (engine == "dynamodb-local" and not (CACHE / VERSION).is_dir()):
            pytest.skip(f"NOT TESTED with {engine}: it is not installed")
        (only / PROGRAMS[engine]).symlink_to(program)
    return str(only)


@pytest.fixture(params=[EMBEDDED, *SERVERS])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine, the embedded store among them."""
    chosen: str = request.param
    return chosen


@pytest.fixture(params=SERVERS)
def program(request: pytest.FixtureRequest) -> str:
    """Each engine that is a process of its own."""
    chosen: str = request.param
    return chosen


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """A function that starts a server with arguments. All servers use the same data folder."""
    opened = []
    paths: dict[str, str] = {}

    def begin(engine: str, *arguments: str) -> Running:
        if engine not in paths:
            paths[engine] = path_with(engine, tmp_path)
        usual = ("--port", "0", "--data", str(tmp_path / "da ta"), *arguments)
        context = running(*usual, last_line="Ctrl+C", PATH=paths[engine])
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
    keep: Callable[..., Running], engine: str, tmp_path: Path
) -> None:
    first = keep(engine, "--engine", engine)
    create(first)
    assert bool(engines_in(tmp_path / "da ta")) == (engine != EMBEDDED)
    assert str(tmp_path / "da ta") in first.banner
    assert "forgets" not in first.banner
    assert first.stop() == (0, "")
    assert not engines_in(tmp_path / "da ta")

    assert title(keep(engine)) == "kept"


def test_data_outlives_a_server_that_is_killed(keep: Callable[..., Running], engine: str) -> None:
    first = keep(engine, "--engine", engine)
    create(first)
    assert first.stop(signal.SIGKILL)[0] == -signal.SIGKILL

    assert title(keep(engine)) == "kept"  # this server waits until the database of the first one has ended


def test_a_new_folder_is_kept_by_the_embedded_store(keep: Callable[..., Running], tmp_path: Path) -> None:
    create(keep(EMBEDDED))

    assert (tmp_path / "da ta" / "forklore.db").exists()


def test_a_folder_is_opened_by_the_server_and_in_a_process_in_turn(
    keep: Callable[..., Running], tmp_path: Path
) -> None:
    folder, ann = tmp_path / "da ta", Caller("ann")
    with EmbeddedService.open(folder) as service:
        assert service.call("createConversation", {"id": MADE, "title": "kept"}, ann).status == 201
    first = keep(EMBEDDED)
    assert title(first) == "kept"
    assert httpx.patch(f"{first.url}/v1/conversations/{MADE}", json={"title": "new"}, headers=ANN).is_success
    assert first.stop() == (0, "")

    with EmbeddedService.open(folder) as service:
        shown = service.call("getConversation", {"conversationId": MADE}, ann)
        assert json.loads(shown.text)["title"] == "new"


def test_a_deletion_that_a_server_has_left_is_done_in_a_process(
    keep: Callable[..., Running], tmp_path: Path
) -> None:
    def stored() -> dict[str, int]:
        with sqlite3.connect(tmp_path / "da ta" / "forklore.db") as file:
            counted = dict(file.execute("SELECT partition, count(*) FROM item GROUP BY partition"))
        file.close()
        return counted

    server = keep(EMBEDDED)
    create(server)
    assert httpx.delete(f"{server.url}/v1/conversations/{MADE}", headers=ANN).status_code == 204
    assert server.stop() == (0, "")
    assert stored()["JOB"] == 1  # the server keeps the data for another half a minute

    with EmbeddedService.open(tmp_path / "da ta"):
        give_up_at = time.monotonic() + 60
        while "JOB" in stored():
            assert time.monotonic() < give_up_at
            time.sleep(0.1)
    assert stored() == {f"PTR#{MADE}": 1}


def test_a_database_ends_with_a_server_that_is_killed(
    keep: Callable[..., Running], program: str, tmp_path: Path
) -> None:
    local = keep(program, "--engine", program)
    assert engines_in(tmp_path / "da ta")
    local.process.kill()

    wait_until_none(tmp_path / "da ta")


def test_a_server_whose_database_has_ended_says_so_and_stops(
    keep: Callable[..., Running], program: str, tmp_path: Path
) -> None:
    local = keep(program, "--engine", program)
    for number in engines_in(tmp_path / "da ta"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    _, errors = local.process.communicate(timeout=STOPS_WITHIN_SECONDS)

    assert local.process.returncode == 1
    assert errors == "forklore: the database has ended, so the server stops\n"


def test_git_ignores_a_folder_that_the_server_has_created(
    keep: Callable[..., Running], engine: str, tmp_path: Path
) -> None:
    keep(engine, "--engine", engine)

    assert (tmp_path / "da ta" / ".gitignore").read_text() == "*\n"


def test_an_existing_folder_gets_no_gitignore(
    keep: Callable[..., Running], engine: str, tmp_path: Path
) -> None:
    (tmp_path / "da ta").mkdir()
    keep(engine, "--engine", engine)

    assert not (tmp_path / "da ta" / ".gitignore").exists()


@pytest.mark.long
def test_a_folder_in_use_prints_one_line_and_exits_with_2(
    keep: Callable[..., Running], engine: str, tmp_path: Path
) -> None:
    first = keep(engine, "--engine", engine)

    assert refused("--data", str(tmp_path / "da ta")) == (
        f"forklore: {tmp_path / 'da ta'} is in use by another process\n"
    )
    create(first)


def test_a_folder_with_data_goes_on_with_its_engine_or_not_at_all(
    keep: Callable[..., Running], program: str, tmp_path: Path
) -> None:
    first = keep(program, "--engine", program)
    create(first)
    first.stop()

    assert "holds data of" in refused("--data", str(tmp_path / "da ta"), "--engine", EMBEDDED)
    assert title(keep(program, "--engine", program)) == "kept"


def refused(*arguments: str, **environ: str) -> str:
    process = start("--port", "0", *arguments, **environ)
    output, errors = process.communicate(timeout=STARTS_WITHIN_SECONDS)
    assert (process.returncode, output, errors.count("\n")) == (2, "", 1), errors
    return errors


@pytest.mark.parametrize(
    ("name", "said"), [("dynoxide", "cargo install dynoxide-rs"), ("dynamodb-local", "java")]
)
def test_without_its_program_an_engine_says_what_to_install(tmp_path: Path, name: str, said: str) -> None:
    assert said in refused("--data", str(tmp_path / "data"), "--engine", name, PATH=str(tmp_path))


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


def test_data_of_two_engines_is_refused(tmp_path: Path) -> None:
    for file in ("dynoxide.db", "forklore.db"):
        (tmp_path / file).touch()

    assert "holds data of embedded and of dynoxide" in refused("--data", str(tmp_path))


def test_an_engine_without_a_folder_is_refused() -> None:
    assert "--engine needs --data" in refused("--engine", EMBEDDED)


@pytest.mark.long
def test_a_server_whose_disk_is_full_says_so_and_stops(keep: Callable[..., Running], tmp_path: Path) -> None:
    small = ("prlimit", "--fsize=400000")
    local = keep(EMBEDDED)
    limited = subprocess.run(
        [*small[:1], "--pid", str(local.process.pid), small[1]], capture_output=True, text=True, check=False
    )
    if limited.returncode:
        pytest.skip(f"NOT TESTED: {limited.stderr}")
    statuses = []
    with contextlib.suppress(httpx.HTTPError):
        for _ in range(1000):
            sent = {"metadata": {"note": "x" * 10_000}}
            statuses.append(
                httpx.post(f"{local.url}/v1/conversations", json=sent, headers=ANN, timeout=30).status_code
            )
            if statuses[-1] != 201:
                break
    _, errors = local.process.communicate(timeout=30)

    assert local.process.returncode == 1
    assert "forklore: the database has ended, so the server stops\n" in errors
    again = keep(EMBEDDED)
    listed = 0
    cursor = ""
    while True:
        page = httpx.get(f"{again.url}/v1/conversations?limit=100{cursor}", headers=ANN).json()
        listed += len(page["data"])
        if not page["afterCursor"]:
            break
        cursor = f"&afterCursor={page['afterCursor']}"
    assert listed == statuses.count(201) > 0


def test_a_data_folder_and_an_endpoint_together_are_refused(tmp_path: Path) -> None:
    errors = refused("--data", str(tmp_path), FORKLORE_DYNAMODB_ENDPOINT="http://127.0.0.1:8000")

    assert "FORKLORE_DYNAMODB_ENDPOINT" in errors


def test_a_folder_that_cannot_be_created_prints_one_line_and_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert "cannot keep data in" in refused("--data", str(tmp_path / "file" / "data"))


def test_a_database_that_ends_at_once_prints_one_line_and_exits_with_2(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "dynoxide").write_text("#!/bin/sh\necho error: it is broken\nexit 3\n")
    (programs / "dynoxide").chmod(0o755)

    errors = refused("--data", str(tmp_path / "data"), "--engine", "dynoxide", PATH=f"{programs}:/bin")

    assert errors == "forklore: dynoxide did not start: error: it is broken\n"


def test_make_run_passes_the_folder_and_the_receiver_to_the_server() -> None:
    given = ["RUN=nowhere", "DATA=./my data", "ALLOW_HOST=box", "ON_EVENT=agent:at_home"]
    done = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "run", *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    [*_, command] = done.stdout.splitlines()
    assert command == (
        'exec "nowhere/bin/python" -m forklore.local'
        ' --data "./my data" --allow-host "box" --on-event "agent:at_home"'
    )
