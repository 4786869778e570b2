"""What holds for the sessions of every agent program."""

import json
from pathlib import Path
from typing import Any

import pytest

from forklore.importing.foreign_trees import ImportReport
from tests.clients.importing.formats.shapes import branches, tree_of, trees_of
from tests.clients.importing.formats.writing import FORMATS, Said, branches_of, line, paths, talk
from tests.support.growth import takes_at_most

FORKED = talk(None, 0, 1, 2, 1, 4, 5, 4)
"""A talk with three ends."""


@pytest.mark.parametrize("name", FORMATS)
def test_a_session_is_read_with_its_times_and_without_a_loss(name: str, tmp_path: Path) -> None:
    report = ImportReport()
    FORMATS[name].write(tmp_path, {"0001": line(5)})
    tree = tree_of(tmp_path, report)

    assert tree.source == name
    assert branches(tree) == branches_of(line(5))
    assert [tree.messages[one].role for one in range(2)] == ["USER", "AI"]
    assert not report.lines()


@pytest.mark.parametrize("name", [name for name, one in FORMATS.items() if one.has_branches])
def test_the_branches_of_a_session_are_read(name: str, tmp_path: Path) -> None:
    FORMATS[name].write(tmp_path, {"0001": FORKED})
    tree = tree_of(tmp_path)

    assert sorted(branches(tree)) == branches_of(FORKED)
    assert branches(tree)[0] == [f"{one.by}: {one.text}" for one in [*paths(FORKED)][-1]]


@pytest.mark.parametrize("name", ["codex", "pi", "copilot-cli", "goose", "cline", "kimi-code"])
def test_an_id_that_comes_again_with_other_words_is_another_message(name: str, tmp_path: Path) -> None:
    said = [
        Said(number, parent, by, text)
        for number, parent, by, text in (
            (0, None, "user", "One."),
            (1, 0, "assistant", "Two."),
            (0, 1, "user", "Three."),
            (1, 0, "assistant", "Four."),
        )
    ]
    FORMATS[name].write(tmp_path, {"0001": said})

    assert branches(tree_of(tmp_path)) == [[f"{one.by}: {one.text}" for one in said]]


@pytest.mark.parametrize("name", FORMATS)
def test_reading_takes_time_in_proportion_to_the_length(name: str, tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    FORMATS[name].write(few, {"0001": line(250)})
    FORMATS[name].write(many, {"0001": line(2000)})

    assert takes_at_most(16, lambda: trees_of(many), than=lambda: trees_of(few))


@pytest.mark.parametrize("summary", ["<state_snapshot>Deep.</state_snapshot>", "Deep."])
def test_what_gemini_cli_keeps_beside_a_summary_is_not_there_twice(tmp_path: Path, summary: str) -> None:
    def row(name: str, kind: str, text: str) -> dict[str, Any]:
        return {"id": name, "type": kind, "timestamp": "2026-11-29T16:00:00Z", "content": [{"text": text}]}

    words = ["How deep?", "Twelve.", "Paint.", "Blue."]
    said = [row(str(at), ("user", "gemini")[at % 2], one) for at, one in enumerate(words)]
    taken = row("t", "gemini", "Got it. Thanks for the additional context!")
    copies = [{**one, "id": f"copy {one['id']}"} for one in said[2:]]
    held = [row("h", "user", "<session_context>"), row("s", "user", summary), taken, *copies]
    head = {"sessionId": "1", "projectHash": "p"}
    rows = [head, *said, *[{"$set": {"messages": held}}] * 2, row("4", "user", "Now?")]
    path = tmp_path / "session-1.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in rows))

    tree = tree_of(path)

    assert [one.text for one in tree.messages] == [*words, summary, "Now?"]
    assert [one.is_summary for one in tree.messages] == [False] * 4 + [True, False]
    assert tree.messages[4].kept == (2, 3)
