"""Sessions that real agent programs wrote come out as what a person said and saw."""

import json
import shutil
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.clients.cli.running import Forklore
from tests.clients.importing.formats.shapes import database_of
from tests.clients.importing.stores import Line, lines, rows, trees

PROGRAMS = Path(__file__).parent / "programs"
READ = ("claude-code", "codex", "llm")
"""The programs in whose files a session goes on from another one, so that an import joins them."""


def sessions(program: str, target: Path) -> Path:
    """Copy what a program wrote; its databases become databases."""
    shutil.copytree(PROGRAMS / program, target)
    (target / "expected.json").unlink()
    for script in target.rglob("*.sql"):
        database_of(script, script.with_suffix(".db"))
        script.unlink()
    return target


def is_as(found: Sequence[Line], expected: Sequence[Sequence[str]]) -> bool:
    """Tell whether a branch shows what is expected. The program's own words may stand between."""
    rest = list(found)
    for what, some in groupby(expected, key=lambda one: "user" if one[0] == "image" else one[0]):
        together = [*some]
        while rest and rest[0][0] == "system" and not (what == "summary" and together[0][1] in rest[0][1]):
            rest.pop(0)
        said, rest = rest[: len(together)], rest[len(together) :]
        for kind, words in said:
            one = next((one for one in together if _is_line(kind, words, one)), None)
            if one is None:
                return False
            together.remove(one)
        if together:
            return False
    return all(kind == "system" for kind, _ in rest)


def _is_line(kind: str, words: str, expected: Sequence[str]) -> bool:
    match expected:
        case ("result", some):
            return kind == "result" and (some in words or "(cut)" in words)
        case ("summary", some):
            return some in words
        case ("interrupted", some):
            return kind == "assistant" and words.startswith(some)
        case ("call", name):
            return kind == "call" and name.endswith(words)
        case ("image", _):
            return kind == "image"
    return [kind, words] == [*expected]


def branches_as(run: Forklore, found: Sequence[dict[str, Any]], expected: dict[str, Any]) -> list[str]:
    """Return the names of a tree's branches, the current one first; an empty one for no name."""
    shown = [lines(run, branch["id"]) for branch in found]
    return [next((name for name, one in expected.items() if is_as(lines, one)), "") for lines in shown]


@pytest.fixture(params=["folder", "files", "backwards"])
def importing(request: pytest.FixtureRequest) -> Any:
    """Import a folder at once, or its files one by one, in both orders."""

    def bring(run: Forklore, folder: Path) -> None:
        files = sorted(one for one in folder.rglob("*") if one.is_file())
        paths = {"folder": [folder], "files": files, "backwards": files[::-1]}[request.param]
        for path in paths:
            found = run(f"import '{path}'")
            assert found.code == 0 or len(paths) > 1, found.err

    return bring


@pytest.mark.parametrize("program", READ)
def test_what_a_program_wrote_is_as_it_was_said(
    run: Forklore, tmp_path: Path, program: str, importing: Any
) -> None:
    expected = json.loads((PROGRAMS / program / "expected.json").read_text())
    folder = sessions(program, tmp_path / "sessions")

    importing(run, folder)

    found = trees(run)
    children = [one for one in found if one[0].get("startedByConversationId")]
    named = [
        next((names for one in expected["trees"] if (names := branches_as(run, tree, one))[0]), [])
        for tree in found
        if tree not in children
    ]
    assert sorted(map(sorted, named)) == sorted(sorted(one) for one in expected["trees"])
    assert {names[0] for names in named} == {next(iter(one)) for one in expected["trees"]}
    assert len(children) == len(expected["children"])
    for [child], one in zip(children, expected["children"].values(), strict=True):
        assert is_as(lines(run, child["id"]), one)
    before = [row["metrics"]["entries"] for row in rows(run)]
    assert run(f"import '{folder}'").code == 0
    assert [row["metrics"]["entries"] for row in rows(run)] == before
