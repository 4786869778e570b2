"""The repository refers to no page outside itself: docs/ has every rule, names need no codes."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
BUILT = PROJECT / "web" / "built"
"""What is built of the explorer holds the words of its libraries."""
OUTSIDE = {
    "a page that is not in the repository": r"(?i)\bthe[\s_]+(contract|design)\b",
    "a section of such a page": r"(?i)\((contract|design)[,)]|\b(contract|design|reliability), (section|\d)",
    "a specification that is not in the repository": r"(?i)\bspecification's\b",
    "a folder beside the repository": r"\.\./shared\b|\bshared/\w+\.md\b",
    "a failure by a number": r"(?<![%\w])F\d\d(?!\w)",
    "a check by a number": r"(?<![%\w])C([1-9]|1\d)(?!\w)",
}
ALLOWED = {"pyproject.toml": r'"C\d",'}
"""Allowed exceptions: the rules of ruff."""


def files() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file of the project; with git, of tracked files only."""
    try:
        listed = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True)
        names = listed.stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = []
    for path in [PROJECT / name for name in names] or _walk(PROJECT):
        if path.is_file() and BUILT not in path.parents:
            try:
                yield path.relative_to(PROJECT).as_posix(), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def _walk(folder: Path) -> Iterator[Path]:
    """Yield all files except byte code and those in folders whose names begin with a dot."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith(".") and path.name != "__pycache__":
            yield from _walk(path)
        elif path.is_file():
            yield path


def places(pattern: str, name: str, text: str) -> Iterator[str]:
    """Yield each match of a pattern in a file, with its line, such as `docs/api.md:7: …`."""
    text = re.sub(ALLOWED[name], "", text) if name in ALLOWED else text
    for found in re.finditer(pattern, text):
        number = text.count("\n", 0, found.start()) + 1
        yield f"{name}:{number}: {text.splitlines()[number - 1].strip()}"


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    return list(files())


@pytest.mark.parametrize("what", OUTSIDE)
def test_nothing_refers_to_what_is_not_in_the_repository(what: str, texts: list[tuple[str, str]]) -> None:
    found = [place for name, text in texts for place in places(OUTSIDE[what], name, text)]

    assert not found, "\n".join([f"{what} is named here:", *found])


def test_the_patterns_find_such_references() -> None:
    text = "One.\nAs the \n contract says.\n"
    code = "F" + "01"

    assert list(places(OUTSIDE["a page that is not in the repository"], "a.md", text)) == ["a.md:2: As the"]
    assert list(places(OUTSIDE["a failure by a number"], "a.py", f'"""{code}."""')) == [
        f'a.py:1: """{code}."""'
    ]
    assert list(places(OUTSIDE["a failure by a number"], "a.py", f"x{code} {code}0 %{code}")) == []
