"""Command lines at the edge: what is closed, empty, wrong or interrupted, as a process meets it."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

import forklore
from tests.clients.cli.running import Forklore
from tests.clients.cli.test_process import RUN_S, ran, started, variables


def test_without_a_standard_output_it_is_one_line() -> None:
    done = ran("$F --data :memory: ls >&-")

    assert (done.returncode, done.stderr) == (2, "forklore: standard output is closed\n")


def test_without_the_other_streams_it_works() -> None:
    assert ran("$F --data :memory: say trip hello <&- 2>&-").stdout.endswith("user hello\n")


def test_a_full_disk_is_one_line() -> None:
    done = ran("$F --help > /dev/full")

    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "No space left" in done.stderr


def test_ctrl_c_while_modules_are_imported_is_130_and_silent() -> None:
    slow = (
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'typer':\n"
        "            print('now', flush=True)\n"
        "            time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from forklore.cli.main import main\n"
        "main()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", slow],
        env=variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=RUN_S)

    assert (process.returncode, errors) == (130, "")


def test_a_mistake_of_forklores_is_one_line_and_70(run: Forklore) -> None:
    with mock.patch.object(forklore.Forklore, "close", side_effect=ZeroDivisionError("secret")):
        plain = run("ls")
        debugged = run("ls", FORKLORE_DEBUG="1")

    said = "forklore: an error of forklore: ZeroDivisionError (FORKLORE_DEBUG=1 shows more)\n"
    assert (plain.code, plain.err) == (70, said)
    assert debugged.code == 70
    assert debugged.err.startswith("Traceback")
    assert debugged.err.endswith(said)


def test_without_a_command_the_help_is_all_that_is_said(run: Forklore) -> None:
    shown = Forklore()("")

    assert (shown.code, shown.err) == (2, "")
    assert shown.out.strip() == run("--help").out.strip()


@pytest.mark.parametrize("line", ["--token '' ls", "ls --url ''", "ls --data ''", "--client-key '' ls"])
def test_an_empty_option_is_refused(line: str, home: Path) -> None:
    found = Forklore((), {"XDG_CONFIG_HOME": str(home)})(line)

    assert found.code == 2
    assert found.err.endswith(" is empty\n")


def test_an_empty_text_is_refused_either_way(run: Forklore) -> None:
    assert (run("say trip ''").code, run("say trip ''").err) == (2, "forklore: the text is empty\n")
    assert (run("say trip -").code, run("say trip -").err) == (2, "forklore: standard input is empty\n")


def test_a_text_that_begins_like_an_option_is_told_how_to_be_one(run: Forklore) -> None:
    refused = run("say trip -1")

    assert refused.code == 2
    assert "-- before a text lets it begin with -" in refused.err
    assert run("say trip -- -1").code == 0


@pytest.mark.parametrize(
    "url", ["http://[", "http://127.0.0.1:99999", "http://u:s3cret/x@h", "ftp://u:s3cret@h"]
)
@pytest.mark.parametrize("command", ["ls", "explore"])
def test_what_is_no_address_is_2_at_once_and_no_password_is_shown(url: str, command: str, home: Path) -> None:
    found = Forklore((), {"XDG_CONFIG_HOME": str(home)})(f"--url '{url}' --token ann {command}")

    assert (found.code, len(found.err.splitlines()), found.out) == (2, 1, "")
    assert "s3cret" not in found.err
    assert "attempts" not in found.err, "it was tried again and again"


def test_explore_never_shows_a_password(url: str, home: Path) -> None:
    found = Forklore((), {"XDG_CONFIG_HOME": str(home)})(
        f"--url {url.replace('//', '//ann:s3cret@')} explore --json"
    )

    assert found.code == 2
    assert "s3cret" not in found.out + found.err


def test_an_address_with_a_wrong_path_is_2(url: str) -> None:
    done = Forklore()(f"--url {url}/wrong --token ann ls")

    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "the address may be wrong" in done.err


@pytest.mark.parametrize("more", ["", "--token ann --client-key wr0ng"])
def test_who_is_not_known_is_told_the_options_that_say_it(url: str, home: Path, more: str) -> None:
    found = Forklore((), {"XDG_CONFIG_HOME": str(home)})(f"ls --url {url} {more}")

    assert (found.code, len(found.err.splitlines())) == (4, 1)
    assert found.err.endswith(" (here --token, --client-key)\n")
    assert "wr0ng" not in found.err


def test_reading_does_not_make_a_folder(tmp_path: Path, home: Path) -> None:
    here = Forklore(("--data", str(tmp_path / "d")), {"XDG_CONFIG_HOME": str(home)})

    for line in ("ls", "log trip", "grep x", "branch trip"):
        assert here(line).code == 2
    assert not (tmp_path / "d").exists()
    assert here("say trip hello").code == 0
    assert here("ls").code == 0


@pytest.mark.parametrize("place", ["before", "environment"])
def test_serve_keeps_the_folder_wherever_it_is_named(tmp_path: Path, place: str) -> None:
    folder = str(tmp_path / "d")
    before = ["--data", folder] if place == "before" else []
    more = {"FORKLORE_DATA": folder} if place == "environment" else {}
    after = ["--client", "planner=secret"]
    with started(*before, "serve", "--port", "0", *after, PYTHONUNBUFFERED="1", **more) as server:
        assert server.stdout is not None
        banner = "".join(next(iter(server.stdout)) for _ in range(8))
        [address] = re.findall(r"listens on (\S+)", banner)
        with forklore.Forklore(address, token="ann", client_key="secret") as planner:
            said = planner.named("trip").say("user", "Hello")
        os.kill(server.pid, signal.SIGINT)
        server.wait(timeout=RUN_S)

    assert said.client_id == "planner"
    assert f"keeps the data in {folder}." in banner
    assert any((tmp_path / "d").iterdir())


@pytest.mark.long
def test_serve_on_a_port_in_use_is_2(url: str) -> None:
    port = ran(f"$F serve --port {url.rsplit(':', 1)[1]}")

    assert (port.returncode, len(port.stderr.splitlines())) == (2, 1)


@pytest.mark.long
def test_what_serve_does_not_take_is_refused_with_the_usage_of_the_command_that_was_called() -> None:
    refused = ran("$F serve --event-content everything")

    assert refused.returncode == 2
    assert refused.stderr.startswith("usage: forklore serve ")
    assert "choose from 'none', 'history'" in refused.stderr or "choose from none, history" in refused.stderr


def test_a_fork_does_not_take_a_name_in_use(run: Forklore) -> None:
    run("say trip hello")
    run("say other hello")
    before = run.id_of("other")

    assert run("fork trip --name other").code == 4
    assert run.id_of("other") == before
    assert run("fork trip --move-name").code == 0
    assert run("fork trip --name new").code == 0


def test_a_name_that_points_nowhere_can_go(run: Forklore) -> None:
    run("say trip hello")
    run(f"branch {run.id_of('trip')} -d --yes")

    gone = run("branch trip -d --yes")

    assert gone.code == 0
    assert "the name trip points to nothing" in gone.err
    assert run("ls --names").out == ""
    assert run("branch trip -d --yes").code == 3


@pytest.mark.parametrize("pager", ["/nonexistent/pager", "exit 126"])
@pytest.mark.parametrize("size", [10, 150_000])
def test_a_pager_that_cannot_run_loses_nothing(run: Forklore, pager: str, size: int) -> None:
    for number in range(3):
        assert run("say trip -", stdin=f"{number}{'x' * size}".encode()).code == 0

    shown = run("log trip --no-color", is_terminal=True, FORKLORE_PAGER=pager)

    assert shown.code == 0
    assert shown.out == run("log trip --no-color --no-pager", is_terminal=True).out
    assert shown.out.count("x") >= 3 * size
