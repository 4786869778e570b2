import json
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.tools.demo.builders import SOUP, answer, ask, line_of
from tools.demo.__main__ import main
from tools.demo.parallel import map_parallel

ROOT = Path(__file__).parents[3]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "trees.jsonl"
    path.write_bytes(line_of(SOUP, tree_id="soup") + line_of(ask("hello", answer("hi")), tree_id="greeting"))
    return path


def forgetful(request: httpx.Request) -> httpx.Response:
    """Answer like a server that accepts everything and shows nothing."""
    if request.method == "POST":
        return httpx.Response(201, json={"id": request.headers["Idempotency-Key"]})
    return httpx.Response(200, json={"data": [], "afterCursor": None, "beforeCursor": None})


def refusing(request: httpx.Request) -> httpx.Response:
    if request.method == "POST":
        return httpx.Response(401, json={"code": "unauthorized", "error": "unauthorized"})
    return httpx.Response(200, json={})


def single_message_server() -> httpx.MockTransport:
    """Return a server that supports only conversations of one message."""
    texts: dict[str, str] = {}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/health":
            return httpx.Response(200, json={"status": "ok"})
        conversation_id = request.url.path.split("/")[3]
        if request.method == "POST":
            texts[conversation_id] = json.loads(request.content)["content"][0]["text"]
            return httpx.Response(201, json={"id": conversation_id})
        entry = {"id": conversation_id, "content": [{"role": "USER", "text": texts[conversation_id]}]}
        item = entry if request.url.path.endswith("/entries") else {"conversationId": conversation_id}
        return httpx.Response(200, json={"data": [item], "afterCursor": None, "beforeCursor": None})

    return httpx.MockTransport(answer)


def test_everything_the_same_exits_0_with_a_plain_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trees.jsonl"
    path.write_bytes(line_of(ask("one"), tree_id="1") + line_of(ask("two"), tree_id="2"))

    assert main([str(path)], transport=single_message_server()) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == ["tree 1", "└── c0 USER one"]
    assert out[3].startswith("c0 ")
    assert out[3].endswith("  root")
    summary = dict(line.split(maxsplit=1) for line in out[5:])
    assert summary.pop("seconds").startswith("0.")
    assert summary == {
        "trees": "2",
        "messages": "2",
        "conversations": "2",
        "forks": "0",
        "paths": "2",
        "requests": "11",  # 1 health, 2 appends, 2 x 3 reads, 2 fork lists
        "differences": "0",
    }
    assert not any("\x1b" in line for line in out)


def test_differences_exit_1_and_the_first_are_printed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(file), "--draw", "0"], transport=httpx.MockTransport(forgetful)) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("DIFFERENT  soup: conversation ")
    assert "forward: 4 missing at the end, from USER 'flat soup?'" in out[0]
    assert len([line for line in out if line.startswith("DIFFERENT")]) == 10
    assert "… and 14 more differences" in out  # 6 paths x 3 ways, 6 missing conversations
    assert out[-1].split() == ["differences", "24"]


def test_the_drawn_tree_is_the_one_asked_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(file), "--draw", "2"], transport=httpx.MockTransport(forgetful))

    assert capsys.readouterr().out.splitlines()[:3] == [
        "tree greeting",
        "└── c0 USER hello",
        "    └── c0 AI   hi",
    ]


def test_no_more_trees_are_loaded_than_asked_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(file), "--limit-trees", "1", "--parallel", "1"], transport=httpx.MockTransport(forgetful))

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
    assert err[0].startswith(f"demo: no server at {url}: ")


def test_a_server_that_refuses_an_append_exits_2_with_one_line(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(file)], transport=httpx.MockTransport(refusing)) == 2
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 1
    assert err[0].endswith("401 unauthorized")


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


def test_parallel_work_gives_results_in_order_and_stops_at_the_first_error() -> None:
    stops: list[str] = []

    def halve(number: int) -> int:
        if number % 2:
            raise ValueError(number)
        return number // 2

    assert map_parallel(halve, [0, 2, 4], threads=2, stop=lambda: stops.append("stop")) == [0, 1, 2]
    assert map_parallel(halve, [], threads=2, stop=lambda: stops.append("stop")) == []
    assert stops == []
    with pytest.raises(ValueError, match="7"):
        map_parallel(halve, [0, 7, *range(0, 1000, 2)], threads=1, stop=lambda: stops.append("stop"))
    assert stops == ["stop"]


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
