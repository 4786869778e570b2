"""`forklore mcp` as a command: its start, its help, and the sessions of Claude Code."""

import json
import signal
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from forklore.cli.commands.mcp import registrations
from tests.clients.mcp.connecting import call, over_stdio, run
from tools.harness.local_server import environment

COMMAND = [sys.executable, "-m", "forklore.cli", "mcp"]
WITHOUT_THE_EXTRA = (
    "import sys; sys.modules['mcp'] = None; sys.argv = ['forklore', *sys.argv[1:]]; "
    "from forklore.cli.main import main; main()"
)


@pytest.mark.parametrize("line", [["mcp", "--data", ":memory:"], ["serve", "--mcp", "--port", "0"]])
def test_without_the_extra_the_error_names_it(line: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_EXTRA, *line],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    told = "forklore: mcp is not installed: pip install 'forklore[mcp]'\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", told)


@pytest.mark.parametrize("options", [[], ["--mcp"]])
def test_the_server_says_where_the_tools_are(options: list[str]) -> None:
    with subprocess.Popen(
        [*COMMAND[:-1], "serve", "--port", "0", *options],
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        banner = "".join(takewhile(lambda line: not line.startswith("Ctrl+C"), process.stdout))
        process.terminate()
    url = banner.partition("listens on ")[2].split()[0]
    assert (f"the tools for agents are at {url}/mcp\n" in banner) == bool(options)


def test_the_help_registers_the_program_that_was_started(tmp_path: Path) -> None:
    program = tmp_path / "forklore"
    program.touch()

    lines = registrations(str(program), tmp_path / "data").split("\n\n")

    claude, codex, gemini, qwen, cursor, code, openai = lines
    for line in (claude, codex, gemini, qwen):
        assert line.endswith(f" {program} mcp --data {tmp_path / 'data'}")
    for line in (cursor, openai, code):
        assert json.dumps(str(program)) in line
    found = json.loads(cursor.partition(": ")[2])["mcpServers"]["forklore"]
    assert found == {"command": str(program), "args": ["mcp", "--data", str(tmp_path / "data")]}
    assert "/forklore" not in registrations("/usr/lib/python/__main__.py", Path("data"))


def test_the_help_can_be_copied_also_from_a_narrow_window(tmp_path: Path) -> None:
    ended = subprocess.run(
        [*COMMAND, "--help"],
        env=environment(COLUMNS="40", HOME=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.stdout.endswith(f"\n{registrations('', tmp_path / 'forklore')}\n")


def test_it_ends_when_it_is_interrupted(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "--data", ":memory:"],
        env=environment(HOME=str(tmp_path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""


def rows(*texts: str) -> str:
    """Return a transcript of Claude Code in which a user says these texts."""
    made: list[dict[str, Any]] = [
        {
            "sessionId": "s",
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "type": "user",
            "message": {"role": "user", "content": text},
        }
        for number, text in enumerate(texts)
    ]
    return "".join(json.dumps(row) + "\n" for row in made)


def test_the_sessions_of_claude_code_are_brought_once_and_grow(tmp_path: Path) -> None:
    project = tmp_path / ".claude" / "projects" / "-work-app"
    project.mkdir(parents=True)
    session = project / "s.jsonl"
    options = ("--data", str(tmp_path / "data"), "--user", "ann", "--import-claude-code")

    async def story(client: Client) -> tuple[list[str], list[str]]:
        listed = (await call(client, "list_conversations"))["conversations"]
        found = (await call(client, "search_conversations", query="parser"))["found"]
        texts = []
        for one in listed:
            window = await call(client, "read_conversation", conversation_id=one["conversation_id"])
            texts += [entry["text"] for entry in window["entries"]]
        return texts, [one["conversation_id"] for one in found]

    def served() -> tuple[list[str], list[str]]:
        texts, found = run(story, over_stdio(*options, HOME=str(tmp_path)))
        return texts, found

    session.write_text(rows("Mend the parser"))
    first = served()
    session.write_text(rows("Mend the parser", "And its tests") + '{"uuid": "half wr')
    (project / "a.jsonl").write_text("no session\n")
    grown = served()

    assert first[0] == ["Mend the parser"]
    assert grown[0] == ["And its tests", "Mend the parser"]
    assert len(first[1]) == 1
    assert grown[1] == first[1]


def test_a_linked_folder_of_sessions_is_told_and_not_followed(tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects"
    for project in (projects / "-work-app", tmp_path / "elsewhere"):
        project.mkdir(parents=True)
        (project / "s.jsonl").write_text(rows(f"Mend {project.name}"))
    (projects / "linked").symlink_to(tmp_path / "elsewhere")
    options = ["--data", str(tmp_path / "data"), "--user", "ann", "--import-claude-code"]

    ended = subprocess.run(
        [*COMMAND, *options],
        env=environment(HOME=str(tmp_path)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert f"{projects}/linked: a link, which is not followed\n" in ended.stderr
    assert "-work-app: 1 tree, 1 entry" in ended.stderr
    assert "elsewhere" not in ended.stderr
