"""docs/reliability.md and the tests agree: each failure has a test, and each check is run."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.failure_model import PAGE, Proof, by_failure, checks, failures, proofs, table
from tests.test_layering import PARTS

PROJECT = Path(__file__).parents[1]


def in_code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


PATHS_OF: Mapping[str, Sequence[str]] = {name: in_code(row[1]) for name, row in checks().items()}


@pytest.fixture(scope="module")
def proven() -> Mapping[str, list[Proof]]:
    """Return the tests of each failure. All test files are read for it, once."""
    return by_failure(proofs())


def test_the_tests_name_exactly_the_failures_of_the_page(proven: Mapping[str, list[Proof]]) -> None:
    assert sorted(proven) == sorted(failures())


@pytest.mark.parametrize("failure", failures())
def test_each_place_that_the_page_names_for_a_failure_has_a_test_with_its_marker(
    proven: Mapping[str, list[Proof]], failure: str
) -> None:
    files = [f"tests/{proof.file}" for proof in proven[failure]]
    places = in_code(failures()[failure][2])

    assert places
    for place in places:
        assert any(file.startswith(path) for path in PATHS_OF.get(place, [place]) for file in files), place


def test_the_code_that_the_page_names_for_a_failure_exists() -> None:
    rooms = [PROJECT, *(PROJECT / base / part for part, base in PARTS.items())]
    named = {word for row in failures().values() for word in in_code(row[1]) if "/" in word}

    assert [word for word in sorted(named) if not any((room / word).exists() for room in rooms)] == []


def test_the_tests_that_the_page_names_about_recall_exist() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("### What is shown about recall\n")[2]
    lines = [line for line in section.partition("\n## ")[0].splitlines() if "tests/" in line]

    assert len(lines) >= 10
    for line in lines:
        told = in_code(line.split(" | ")[1])
        text = "".join((PROJECT / one).read_text() for one in told if "/" in one)
        assert [one for one in told if "/" not in one and one not in text] == []


def test_the_gate_runs_every_check_of_the_page_but_the_template() -> None:
    told = subprocess.run(
        ["make", "--dry-run", "gate"], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout
    on_engine = next(line for line in told.splitlines() if "FORKLORE_TEST_ENGINE=embedded" in line)

    assert len(PATHS_OF) > 20
    for name, paths in PATHS_OF.items():
        for path in paths:
            assert (PROJECT / path).exists(), path
            words = (on_engine if name == "own-engine" else told).split()
            assert name == "template" or any(path.startswith(word) for word in words), path


def test_only_the_markers_of_tests_name_failures(tmp_path: Path) -> None:
    file = tmp_path / "some" / "test_it.py"
    file.parent.mkdir()
    file.write_text(
        '@pytest.mark.failure("a", "b")\ndef test_two(): pass\n'
        '@pytest.mark.failure("b")\n@pytest.mark.parametrize("c", "d")\ndef test_one(c): pass\n'
        '@pytest.mark.failure("e")\ndef helper(): pass\n'
        'def test_none():\n    "f"\n'
        'class TestIt:\n    @pytest.mark.failure("g")\n    def test_inside(self): pass\n',
        encoding="utf-8",
    )
    named = by_failure(proofs(tmp_path))

    assert {failure: [proof.name for proof in found] for failure, found in named.items()} == {
        "a": ["test_two"],
        "b": ["test_two", "test_one"],
        "g": ["test_inside"],
    }
    assert list(table(named))[2] == "| `a` | `some/test_it.py`: two |"
