"""The command line as a process: the console script, pipes, signals, a server."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.cli.running import HOMES, Forklore
from tools.harness.local_server import ROOT, environment

COMMAND = [sys.executable, "-m", "forklore.cli"]
LINE = shlex.join(COMMAND)
RUN_S = 180
AT_ONCE_S = 15
"""Less than a request is held, and far more than a command takes to end."""
NOWHERE = "ls --url http://127.0.0.1:1"
MODULES_MAX = {"--help": 84, "log --help": 35, "import --help": 35, NOWHERE: 53}
"""Of forklore, for each command line. Each module costs about a millisecond."""
HEAVY = (
    "mcp",
    "boto3",
    "botocore",
    "moto",
    "httpx2",
    "uvicorn",
    "forklore_local.server",
    "forklore_local.embedded",
    "forklore_local.in_process",
    "forklore_service",
)


def variables(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in environment().items() if not name.startswith("FORKLORE_")}
    return kept | {HOMES[0]: "/nonexistent", HOMES[1]: os.devnull} | more


def ran(line: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a line in bash, where $F is forklore."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("$F", LINE)],
        cwd=ROOT,
        env=variables(**more),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )


@contextmanager
def started(*arguments: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=ROOT,
        env=variables(**more),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@pytest.fixture(scope="module")
def long(url: str) -> str:
    """The options for a server with a conversation of entries that are longer than a pipe."""
    options = f"--url {url} --token piper"
    for _ in range(3):
        assert Forklore()(f"{options} say long -", stdin=b"x" * 200_000).code == 0
    return options


@pytest.mark.parametrize("options", ["", "--json"])
def test_a_reader_that_leaves_ends_the_command_in_silence(long: str, options: str) -> None:
    done = ran(f"$F {long} log long {options} | head -c 5")

    assert (done.returncode, len(done.stdout), done.stderr) == (141, 5, "")


def test_a_reader_that_leaves_before_the_end_of_the_process_is_not_noticed_either(long: str) -> None:
    assert ran(f"$F {long} ls | true").stderr == ""


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_what_is_new_is_shown_at_once_until_the_command_is_interrupted(url: str) -> None:
    options = ("--url", url, "--token", "watcher")
    say = Forklore(options)
    assert [say(f"say followed {text}").code for text in ("one", "two")] == [0, 0]
    with started(*options, "log", "-f", "-n", "1", "followed", "--oneline") as process:
        assert line_of(process).endswith(" user two\n")
        for text in ("three", "four"):
            said = say(f"say followed {text} --as ai")
            assert line_of(process) == said.out
        os.kill(process.pid, signal.SIGINT)
        assert (*process.communicate(timeout=RUN_S), process.returncode) == ("", "", 130)


def test_a_watch_begins_with_what_is_new(url: str) -> None:
    options = ("--url", url, "--token", "watcher")
    say = Forklore(options)
    assert say("say watched before").code == 0
    with started(*options, "watch", "watched", "--json") as process, ThreadPoolExecutor(1) as threads:
        shown, said = threads.submit(line_of, process), list[str]()
        while not shown.done():
            said.append(say("say watched after").out.split()[0])
        assert json.loads(shown.result())["id"] in said
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=RUN_S)
    assert process.returncode == 130
    assert say("watch nothing").code == 3


def test_a_reader_that_leaves_while_nothing_is_new_ends_the_command_at_once(url: str) -> None:
    options = ("--url", url, "--token", "watcher")
    assert Forklore(options)("say left one").code == 0
    with started(*options, "log", "-f", "left", "--oneline") as process:
        assert line_of(process).endswith(" user one\n")
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(timeout=AT_ONCE_S) == 141
        assert process.stderr.read() == ""


def test_a_reader_of_the_help_that_has_gone_is_told_by_the_exit_code() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as gone:
        done = subprocess.run(
            [*COMMAND, "--help"],
            env=variables(),
            stdout=gone,
            stderr=subprocess.PIPE,
            timeout=RUN_S,
            check=False,
        )

    assert (done.returncode, done.stderr) == (141, b"")


@contextmanager
def silent_server() -> Iterator[tuple[str, socket.socket]]:
    """A server that takes requests and answers none."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(RUN_S)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", listener


def test_an_interrupted_command_ends_with_130_and_says_nothing() -> None:
    with silent_server() as (url, listener), started("--url", url, "ls") as process:
        taken, _ = listener.accept()
        taken.recv(10)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=RUN_S)
        taken.close()

    assert (process.returncode, out, err) == (130, "", "")


def test_a_service_that_is_not_there_is_said_in_one_line() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        done = Forklore()(f"--url http://127.0.0.1:{port} --token secret ls")

    assert (done.code, done.out, len(done.err.splitlines())) == (5, "", 1)
    start = f"`forklore serve --port {port}` starts a local server"
    assert done.err.startswith("forklore: there is no server: ConnectError ")  # and so it was asked once
    assert done.err.endswith(f"Connection refused (http://127.0.0.1:{port}: {start})\n")
    assert "secret" not in done.err


@pytest.mark.parametrize(
    "answer", ["HTTP/1.1 200 OK\r\n\r\nno json", "HTTP/1.1 401 No\r\n\r\n", "nonsense\r\n\r\n"]
)
def test_an_answer_that_is_not_forklores_is_one_line_without_the_token(answer: str) -> None:
    with silent_server() as (url, listener), ThreadPoolExecutor(1) as threads:
        running = threads.submit(Forklore(), f"--url {url} --token s3cret ls")
        listener.settimeout(0.05)
        while not running.done():
            try:
                taken, _ = listener.accept()
            except TimeoutError:
                continue
            with taken:
                taken.recv(10_000)
                taken.sendall(answer.encode())
        done = running.result()

    assert (done.code, done.out, len(done.err.splitlines())) == (4 if "401" in answer else 5, "", 1)
    assert "s3cret" not in done.err


def test_an_import_to_a_wrong_address_says_so(url: str) -> None:
    done = Forklore()(f"--url {url}/nowhere --token ann import examples/trees.jsonl")

    assert (done.code, done.out) == (2, "")
    assert "the address may be wrong" in done.err
    assert "deleted" not in done.err


def test_a_token_that_no_header_can_hold_is_refused_and_not_shown() -> None:
    done = Forklore()("--token 's3cret\n' ls")

    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "s3cret" not in done.err


def test_serve_and_a_folder_that_both_ways_share(tmp_path: Path) -> None:
    with started("serve", "--port", "0", "--data", str(tmp_path / "d"), PYTHONUNBUFFERED="1") as server:
        assert server.stdout is not None
        url = next(iter(server.stdout)).split()[-1]
        said = ran(f"$F --url {url} --token ann say trip hello")
        os.kill(server.pid, signal.SIGINT)
        server.wait(timeout=RUN_S)

    assert (said.returncode, said.stderr) == (0, "trip begins a new conversation\n")
    again = Forklore()(f"--data {tmp_path}/d --user ann log trip --oneline")
    assert (again.out, again.err) == (said.stdout, "")


def test_ending_make_run_by_its_pid_ends_the_server(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    for made in ("locked", "ready"):
        (tmp_path / made).touch()
    command = ["make", "--no-print-directory", "run", f"RUN={tmp_path}"]
    in_environment = variables(PORT="0", PYTHONUNBUFFERED="1")
    with subprocess.Popen(
        command, cwd=ROOT, env=in_environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as make:
        try:
            assert make.stdout is not None
            url = next(iter(make.stdout)).split()[-1].rstrip("/")
            make.terminate()
            make.communicate(timeout=RUN_S)  # the server holds the pipe until it ends, too
        except BaseException:
            os.killpg(make.pid, signal.SIGKILL)
            raise

    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))


def test_a_profile_file_is_read(tmp_path: Path, url: str) -> None:
    (tmp_path / "forklore").mkdir()
    file = tmp_path / "forklore" / "config.toml"
    file.write_text(f'[profiles.here]\nurl = "{url}"\ntoken = "ann"\n')

    run = Forklore((), {"XDG_CONFIG_HOME": str(tmp_path)})
    said, unknown = run("--profile here say profiled hello"), run("--profile there ls")
    file.write_bytes(b"\xff")
    broken = run("ls")

    assert (said.code, len(said.lines)) == (0, 1)
    assert (unknown.code, unknown.err) == (2, "forklore: the profile file has no profile 'there'\n")
    assert (broken.code, len(broken.err.splitlines())) == (2, 1)


def test_json_is_whole_where_the_output_is_not_utf_8(url: str) -> None:
    options = f"--url {url} --token ascii"
    assert Forklore()(f"{options} say trip 'Köln 😀 日本'").code == 0
    done = ran(f"$F {options} log trip --json; $F {options} log trip", PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout.splitlines()[0])["content"][0]["text"] == "Köln 😀 日本"
    assert "K\\xf6ln" in done.stdout


@pytest.mark.parametrize("line", MODULES_MAX)
def test_a_command_line_needs_nothing_heavy_and_few_modules(line: str) -> None:
    script = (
        "import sys\n"
        "from forklore.cli.app import make_app\n"
        f"try:\n    make_app()({line.split()}, prog_name='forklore')\n"
        f"except SystemExit as ended:\n    assert ended.code == {5 if line == NOWHERE else 0}\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=variables(),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=True,
    )

    modules = done.stderr.splitlines()[-1].split()
    assert set(modules) & set(HEAVY) == ({"httpx2"} if line == NOWHERE else set())
    assert sum(name.startswith("forklore.") for name in modules) < MODULES_MAX[line]


@pytest.mark.parametrize(
    ("missing", "extra", "line"),
    [
        ("typer", "cli", "ls"),
        ("boto3", "lambda", "--function F ls"),
    ],
)
def test_a_missing_extra_is_named_in_one_line(missing: str, extra: str, line: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; from forklore.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, *line.split()],
        env=variables(),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )

    said = f"forklore: {missing} is not installed: pip install 'forklore[{extra}]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_a_function_that_cannot_be_invoked_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "s3cret",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_ENDPOINT_URL_LAMBDA": "http://127.0.0.1:1",
    }
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    done = Forklore()("--function F ls", nowhere, AWS_DEFAULT_REGION="us-east-1")
    no_region = Forklore()("--function F ls", nowhere)

    assert (done.code, done.out, len(done.err.splitlines())) == (5, "", 1)
    assert (no_region.code, no_region.out, len(no_region.err.splitlines())) == (2, "", 1)
    assert "s3cret" not in done.err + no_region.err


def test_the_version_is_shown_and_completion_is_there() -> None:
    assert re.fullmatch(r"forklore \d[\d.]* \([0-9a-f]{12}\)\n", ran("$F --version").stdout)
    assert ran("$F", **at_tab("forklore br")).stdout.split() == ["branch"]


def at_tab(line: str) -> dict[str, str]:
    """Return the variables by which bash asks at the Tab key at the end of a line."""
    words = len(line.split(" ")) - 1
    return {"_FORKLORE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": f"{words}"}


def completed(line: str, **more: str) -> list[str]:
    done = Forklore()("", {**at_tab(line), **more})
    assert (done.code, done.err) == (0, "")
    return done.out.split()


def test_the_shell_completes_names_and_roles(url: str, tmp_path: Path) -> None:
    options = f"--url {url} --token completer"
    names = ("trip", "trip-by-train", "other", "trip;reboot", "tri p")
    assert [Forklore()(f"{options} say '{name}' hello").code for name in names] == [0] * len(names)

    assert completed(f"forklore {options} log tr") == ["trip", "trip-by-train"]
    assert completed("forklore diff trip o", FORKLORE_URL=url, FORKLORE_TOKEN="completer") == ["other"]
    assert completed(f"forklore merge {options} trip trip-") == ["trip-by-train"]
    assert completed("forklore say trip x --as s") == ["system"]
    assert completed("forklore help gr") == ["grep"]
    assert completed("forklore log tr", FORKLORE_URL="http://127.0.0.1:1") == []
    assert completed(f"forklore --data {tmp_path}/none log tr") == []


@pytest.mark.parametrize("options", ["--endpoint http://127.0.0.1:1", "--segments 0"])
def test_fsck_that_cannot_check_says_so_in_one_line(options: str) -> None:
    done = Forklore()(
        f"fsck --table none --region us-east-1 {options}",
        AWS_ACCESS_KEY_ID="x",
        AWS_SECRET_ACCESS_KEY="x",
        AWS_MAX_ATTEMPTS="1",
    )

    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert done.err.startswith("fsck: ")
