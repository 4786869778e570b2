"""What is written to a terminal, and what to a pipe."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import forklore
from tests.clients.cli.running import Forklore

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u2066\r[bold]x[/bold] :smile: end"
READING = (
    *(
        "log {}",
        "log {} --oneline",
        "log {} --reverse",
        "show {}",
        "show {} -1",
        "show {} @k",
        "ls",
        "ls --names",
    ),
    *("branch {}", "branch {} --names", "diff {} other", "grep end", "share {}", "fork {}", "merge {} other"),
    *("switch {}", "say {} again"),
)


@pytest.fixture
def hostile(run: Forklore, folder: Path) -> Forklore:
    """A conversation whose texts would do something to a terminal."""
    with forklore.Forklore.local(user=run.options[-1], data=folder) as client:
        chat = client.named("trip")
        chat.say("user", HOSTILE, key="k")
        chat.update(title=HOSTILE)
        chat.fork(before=chat.entry_of("k"), name="other").say("user", f"{HOSTILE}\nsecond")
        chat.append([{"text": HOSTILE, "role": "USER", "other\x1b": HOSTILE}])
    return run


@pytest.mark.parametrize("options", ["", "--json", "--no-color"])
def test_no_text_of_a_conversation_does_anything_to_a_terminal(hostile: Forklore, options: str) -> None:
    for line in READING:
        shown = hostile(f"{line.format('trip')} {options}", is_terminal=True)

        assert shown.code in (0, 1), (line, shown.err)
        for text in (shown.out if options else COLOUR.sub("", shown.out), shown.err):
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text), line
        assert ":smile:" in shown.out or "end" not in shown.out  # neither markup nor emoji codes are read


def test_an_error_does_nothing_to_a_terminal(run: Forklore) -> None:
    found = run("log '\x1b[2J\nx'", is_terminal=True)

    assert found.code in (2, 3)
    assert len(found.err.splitlines()) == 1
    assert "\x1b" not in found.err


def test_json_says_exactly_what_is_stored(hostile: Forklore) -> None:
    [entry] = [json.loads(line) for line in hostile("show trip @k --json").lines]

    assert entry["content"][0]["text"] == HOSTILE


@pytest.mark.parametrize(
    ("options", "variables", "is_terminal", "coloured"),
    [
        ("", {}, True, True),
        ("", {}, False, False),
        ("--no-color", {}, True, False),
        ("", {"NO_COLOR": "1"}, True, False),
        ("", {"NO_COLOR": ""}, True, True),
        ("", {"TERM": "dumb"}, True, False),
        ("--json", {}, True, False),
    ],
)
def test_colours_are_for_terminals_alone(
    run: Forklore, options: str, variables: dict[str, str], is_terminal: bool, coloured: bool
) -> None:
    run("say trip hello")

    shown = run(f"log trip {options}", variables, is_terminal=is_terminal)

    assert (shown.code, bool(COLOUR.search(shown.out))) == (0, coloured)


def test_colours_are_all_that_a_terminal_gets_more_in_a_log(run: Forklore) -> None:
    run("say trip hello")
    run("say trip '[bold]a long line that is wider than the terminal :smile: 日本語日本語日本語日本語'")

    coloured = run("log trip", is_terminal=True, COLUMNS="30").out

    assert COLOUR.sub("", coloured) == run("log trip").out


@pytest.mark.parametrize("columns", [30, 79, 200])
def test_a_table_is_aligned_and_fits_a_terminal(run: Forklore, columns: int) -> None:
    run("say ascii 'a title of many words that goes on and on until it is too long for any line'")
    run("say wide '日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語'")
    run("say short x")

    lines = run("ls --names --no-color", is_terminal=True, COLUMNS=str(columns)).lines
    [header, *body] = lines
    at = header.index("conversation")
    assert {line[at - 1] for line in body} == {" "}
    assert all(re.fullmatch("[0-9a-f-]{36}", line[at : at + 36]) for line in body)

    lines = run("ls --all --no-color", is_terminal=True, COLUMNS=str(columns)).lines
    titles = lines[0].index("title")
    assert all(cell_len(line) <= max(columns, titles + 12) for line in lines)
    assert [line for line in lines if line.endswith("…")] or columns == 200


def test_a_table_in_a_pipe_has_tabs_and_is_whole(run: Forklore) -> None:
    title = "a title of many words " * 9
    run(f"say trip '{title}'")

    [row] = run("ls", COLUMNS="30").lines

    assert row.split("\t")[0] == "*"
    assert len(row.split("\t")) == 5
    assert "…" not in row.split("\t")[1]


def test_long_output_goes_through_the_pager(run: Forklore, tmp_path: Path) -> None:
    run("say trip hello")
    held = tmp_path / "paged"

    shown = run("log trip", is_terminal=True, FORKLORE_PAGER=f"cat > '{held}'; echo $LESS >> '{held}'")

    assert shown.out == ""
    assert COLOUR.sub("", held.read_text()).splitlines()[-3:] == ["", "    hello", "FRX"]


@pytest.mark.parametrize(
    ("line", "variables"),
    [
        ("log trip --no-pager", {}),
        ("log trip", {"FORKLORE_PAGER": ""}),
        ("log trip", {"FORKLORE_PAGER": "cat"}),
        ("say trip more", {}),
    ],
)
def test_no_pager_is_started_where_none_is_wanted(
    run: Forklore, tmp_path: Path, line: str, variables: dict[str, str]
) -> None:
    run("say trip hello")

    shown = run(line, {"PAGER": f"cat > '{tmp_path}/paged'", **variables}, is_terminal=True)

    assert shown.out
    assert not (tmp_path / "paged").exists()


def test_no_pager_is_started_in_a_pipe_nor_for_an_error(run: Forklore, tmp_path: Path) -> None:
    run("say trip hello")
    pager = f"cat > '{tmp_path}/paged'"

    assert run("log trip", FORKLORE_PAGER=pager).out
    assert run("log nowhere", is_terminal=True, FORKLORE_PAGER=pager).code == 3
    assert not (tmp_path / "paged").exists()


def test_a_pager_that_ends_early_ends_the_command_in_silence(run: Forklore, folder: Path) -> None:
    with forklore.Forklore.local(user=run.options[-1], data=folder) as client:
        for _ in range(3):
            client.named("trip").say("user", "x" * 60_000)

    shown: Any = run("log trip", is_terminal=True, FORKLORE_PAGER="exit 0")

    assert (shown.code, shown.out, shown.err) == (0, "", "")
