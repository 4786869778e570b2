"""What readers make of the sessions that real agent programs wrote, as their scripts tell it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from forklore.importing.foreign_trees import ForeignTree
from tests.clients.importing.formats.shapes import branches, database_of, lines_of, said, trees_of

PROGRAMS = Path(__file__).parents[1] / "programs"
READ = ["cline", "continue", "copilot", "goose", "kimi-code", "opencode", "openhands", "pi", "qwen-code"]
Line = tuple[str, str]
_ANY_ORDER = (("result",), ("user", "image"))
"""Lines of these kinds that follow each other may come in any order."""


def stored(program: str, folder: Path) -> Path:
    """Return where the sessions of a program are, as it stores them."""
    for sql in (PROGRAMS / program).rglob("*.sql"):
        database_of(sql, folder / f"{sql.stem}.db")
    return folder if any(folder.iterdir()) else PROGRAMS / program


def lines_in(branch: list[str]) -> list[Line]:
    """Return the lines of a branch, each as what it is and its words."""
    split = [line.split(": ", 1) if ": " in line else [*line.split(" ", 1), ""][:2] for line in branch]
    return [(what, words) for what, words in split if what not in ("compaction", "extracted_text")]


def is_of(line: Line, told: Line) -> bool:
    """Tell whether a line that was read is one that the script tells."""
    what, (expected, some) = line[0], told
    words = line[1].removesuffix(" (cut)")
    some = some[: len(words)] if words != line[1] else some
    if expected == "interrupted":
        return what == "assistant" and words.startswith(some)
    if expected == "summary":
        return what in ("summary", "system") and some in words
    if expected == "image":
        return what in ("image", "file")
    if expected == "user":
        return what == "user" and re.fullmatch(rf"(@\S+ )?{re.escape(some)} ?", words) is not None
    if what == "result":
        is_cut = words != line[1]  # what is told may stand behind the cut
        return what == expected and (some in words or is_cut)
    return what == expected and some == words


def are_of(lines: list[Line], told: list[Line]) -> bool:
    """Tell whether lines are those that the script tells."""
    if len(lines) != len(told):
        return False
    for at, line in enumerate(lines):
        last = at
        free = next((kinds for kinds in _ANY_ORDER if told[at][0] in kinds), ())
        while last + 1 < len(told) and told[last + 1][0] in free:
            last += 1
        first = at
        while first > 0 and told[first - 1][0] in free:
            first -= 1
        if not any(is_of(line, one) for one in told[first : last + 1]):
            return False
    return True


def all_of(trees: list[ForeignTree]) -> list[list[Line]]:
    return [lines_in(branch) for tree in trees for branch in (lines_of(tree), *branches(tree))]


@pytest.mark.parametrize("program", READ)
def test_all_that_a_person_said_and_saw_is_read(program: str, tmp_path: Path) -> None:
    expected: dict[str, Any] = json.loads((PROGRAMS / program / "expected.json").read_text(encoding="utf-8"))
    trees = trees_of(stored(program, tmp_path))
    found = all_of(trees)

    for tree in expected["trees"]:
        for name, branch in tree.items():
            told = [(what, words) for what, words in branch]
            assert any(are_of(one, told) for one in found), (name, told, found)
    for told in expected["children"].values():
        assert any(are_of(one[: len(told)], [*map(tuple, told)]) for one in found), (told, found)
    if expected["title"]:
        assert expected["title"] in [tree.title for tree in trees]


def test_a_model_and_its_tokens_are_read() -> None:
    [tree, *_] = trees_of(PROGRAMS / "pi")
    sources = [message.content["source"] for message in tree.messages if message.role == "AI"]

    assert {source["model"] for source in sources} == {"stand-in"}
    assert all({"input_tokens", "output_tokens"} <= source["usage"].keys() for source in sources)
    assert said(tree.messages[0]) == ["user: How deep is the harbour?"]
