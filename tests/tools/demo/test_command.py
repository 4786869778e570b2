import json
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.cli.importing.builders import SOUP, answer, ask, line_of
from tools.demo.__main__ import main

ROOT = Path(__file__).parents[3]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "trees.jsonl"
    path.write_bytes(line_of(SOUP, tree_id="soup") + line_of(ask("hello", answer("hi")), tree_id="greeting"))
    return path


def forgetful(request: httpx2.Request) -> httpx2.Response:
    """Answer like a server that accepts everything and shows nothing."""
    if request.url.path == "/v1/health":
        return httpx2.Response(200, json={"status": "ok"})
    if request.method == "POST":
        entries = json.loads(request.content)["entries"]
        return httpx2.Response(201, json={"data": [{"id": entry["key"]} for entry in entries]})
    return httpx2.Response(200, json={"data": [], "afterCursor": None, "beforeCursor": None})


def refusing(request: httpx2.Request) -> httpx2.Response:
    if request.method == "POST":
        return httpx2.Response(403, json={"code": "forbidden", "details": {"message": "not you"}})
    return httpx2.Response(200, json={"status": "ok"})


def test_differences_exit_1_and_the_first_are_printed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(file), "--draw", "0"], transport=httpx2.MockTransport(forgetful)) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("DIFFERENT  soup: conversation ")
    assert "forward: 4 missing at the end, from USER 'flat soup?'" in out[0]
    assert len([line for line in out if line.startswith("DIFFERENT")]) == 10
    assert "… and 14 more differences" in out  # 6 paths x 3 ways, 6 missing conversations
    assert out[-1].split() == ["differences", "24"]
    assert "requests      27" in out  # 1 health, 6 appends, 6 x 3 reads, 2 fork lists


def test_no_more_trees_are_loaded_than_asked_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(file), "--limit-trees", "1", "--parallel", "1", "--draw", "0"]
    main(arguments, transport=httpx2.MockTransport(forgetful))

    assert "messages      11" in capsys.readouterr().out.splitlines()


def test_a_malformed_file_exits_2_with_the_number_of_the_line(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(file.read_bytes() + b'{"prompt": 5}\n')

    assert main([str(file)]) == 2
    assert capsys.readouterr() == ("", f"demo: {file}: line 3: no message under 'prompt'\n")


def test_a_file_that_cannot_be_read_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nothing")]) == 2
    assert main([str(tmp_path)]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"demo: {tmp_path / 'nothing'}: No such file or directory"
    assert second == f"demo: {tmp_path}: Is a directory"


def test_an_unreachable_server_exits_2_with_one_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

    assert main([str(file), "--url", url]) == 2
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 1
    assert err[0].startswith("demo: checkHealth was sent once and has no answer: ConnectError")


def test_a_server_that_refuses_an_append_exits_2_with_one_line(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(file)], transport=httpx2.MockTransport(refusing)) == 2
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 1
    assert err[0].endswith(": 403 not you")


def test_a_tree_to_draw_that_is_not_there_exits_2_before_anything_is_loaded(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(file), "--draw", "3"]) == 2
    assert capsys.readouterr().err == "demo: --draw 3: no such tree, there are 2\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--url", "example.test"],
        ["--url", "ftp://example.test"],
        ["--url", "http://"],
        ["--url", "http://[::"],
        ["--user", " "],
        ["--user", "zoë"],
        ["--limit-trees", "0"],
        ["--draw", "-1"],
        ["--parallel", "0"],
        ["--parallel", "65"],
        ["--parallel", "²"],
    ],
)
def test_bad_arguments_exit_2(file: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([str(file), *arguments] if arguments else [])
    assert caught.value.code == 2


def test_help_is_there_when_run_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.demo", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.startswith("usage: python -m tools.demo ")


@pytest.mark.parametrize(
    ("host", "port", "server"),
    [
        (None, None, "http://127.0.0.1:8080"),
        ("localhost", "9000", "http://localhost:9000"),
        ("0.0.0.0", "81", "http://127.0.0.1:81"),
        ("::1", "81", "http://[::1]:81"),
    ],
)
def test_it_looks_where_make_run_serves(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    host: str | None,
    port: str | None,
    server: str,
) -> None:
    for name, value in (("HOST", host), ("PORT", port)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)

    with pytest.raises(SystemExit):
        main(["--help"])

    assert f"({server})" in " ".join(capsys.readouterr().out.split())
