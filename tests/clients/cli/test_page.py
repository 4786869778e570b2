"""The page and the help: each example does what it says."""

import re
import shutil
from pathlib import Path

import pytest
from typer.main import get_command

from forklore.cli.app import make_app
from forklore.cli.exits import BROKEN_PIPE, DONE, INTERRUPTED, NO, NO_ANSWER, REFUSED
from tests.clients.cli.page import PATH, comparable, examples, output_of, shell_lines
from tests.clients.cli.running import Forklore
from tools.harness.local_server import ROOT

TEXT = PATH.read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = get_command(make_app()).commands  # type: ignore[attr-defined]
EXAMPLE = re.compile(r"Example: forklore (.*)")
STORY = (
    "say trip 'Two nights in Lisbon?' --key asked",
    "say trip Alfama --as ai",
    "fork trip --before -1 --name trip-by-train",
    "say trip-by-train 'By train'",
    "share trip bob reader",
)
ELSEWHERE = {
    "sessions",
    "collect",
    "resume",
    "watch",
    "serve",
    "mcp",
    "backup",
    "restore",
    "copy-table",
    "fsck",
    "explore",
    "user",
    "erase-user",
    "retention",
    "link",
    "links",
    "notes",
    "unlink",
    "undelete",
    "undo",
    "help",
}
"""What the examples of the page and the help do not run: see test_process.py, test_explore.py."""


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a folder with the files that the examples read."""
    place = tmp_path / "place"
    shutil.copytree(ROOT / "examples", place / "examples")
    shutil.copy(ROOT / "examples" / "trees.jsonl", place / "conversations.json")
    monkeypatch.chdir(place)


@pytest.fixture
def ann(folder: Path, home: Path) -> Forklore:
    """Ann, whom no other test uses."""
    variables = {"FORKLORE_DATA": str(folder), "FORKLORE_USER": "ann", "XDG_CONFIG_HOME": str(home)}
    return Forklore(variables=variables)


def test_each_example_of_the_page_prints_what_the_page_shows(ann: Forklore) -> None:
    shown, printed = "", ""
    for example in examples(TEXT):
        shown += f"$ {example.line}\n{example.output}"
        printed += f"$ {example.line}\n{output_of(ann, example.line)}"

    assert comparable(printed) == comparable(shown)


def test_the_lines_of_the_readme_work(run: Forklore) -> None:
    [block] = re.findall(r"^export FORKLORE_TOKEN.*\n((?:forklore .*\n)+)", README, re.MULTILINE)

    codes = [run(line.removeprefix("forklore ")).code for line in block.splitlines()]

    assert codes == [DONE, DONE, DONE, DONE, NO]


def test_the_page_has_every_command() -> None:
    tried = {example.line.split("forklore ", 1)[1].split()[0] for example in examples(TEXT)}

    assert {f"## {name}" for name in COMMANDS} <= set(TEXT.splitlines())
    assert set(COMMANDS) <= tried | ELSEWHERE


def test_the_lines_of_the_page_that_are_not_run_have_options_that_there_are(run: Forklore) -> None:
    lines = [line.partition("#")[0] for line in shell_lines(TEXT) if line.startswith("forklore ")]
    everywhere = run("--help").out

    assert len(lines) >= len(ELSEWHERE)
    for line in lines:
        name = line.split()[1]
        known = everywhere + ("" if name.startswith("--") else run(f"{name} --help").out)
        assert [option for option in re.findall(r" (--[a-z-]+)", line) if option not in known] == []


def test_the_page_has_every_exit_code() -> None:
    rows = [int(number) for number in re.findall(r"^\| (\d+) \| ", TEXT, re.MULTILINE)]

    assert rows == [0, 1, 2, 3, REFUSED, NO_ANSWER, 70, INTERRUPTED, BROKEN_PIPE]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_of_a_command_hides_another_one(name: str) -> None:
    flags = [flag for one in COMMANDS[name].params for flag in (*one.opts, *one.secondary_opts)]

    assert sorted(flags) == sorted(set(flags))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_json_and_an_example_that_works(run: Forklore, name: str) -> None:
    shown = run(f"{name} --help", COLUMNS="200")
    [example] = EXAMPLE.findall(shown.out)

    assert shown.code == 0
    assert "--json" in shown.out or name in ("serve", "help")
    assert example.startswith(f"{name} ")
    if name not in ELSEWHERE:
        for line in STORY:
            assert run(line).code == 0
        assert run(example).code == (NO if name == "diff" else DONE)


def test_help_shows_what_the_option_shows(run: Forklore) -> None:
    assert run("help log").out == run("log --help").out
    assert run("help").out == run("--help").out
    assert (run("help lgo").code, run("help lgo").err) == (2, run("lgo").err)
