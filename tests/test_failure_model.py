"""Every row of the failure model has a test that says so."""

from pathlib import Path

from tests.failure_model import KNOWN, PAGE, by_row, proofs, rows, table


def test_every_row_of_the_failure_model_is_named_by_a_test() -> None:
    named = by_row(proofs())

    assert [row for row in rows() if row not in named] == []


def test_no_test_names_a_row_that_there_is_not() -> None:
    named = by_row(proofs())

    assert {row: named[row] for row in named if row not in rows()} == {}


def test_the_rows_known_here_are_those_of_the_page_where_it_is() -> None:
    assert not PAGE.is_file() or rows() == list(KNOWN)


def test_a_row_is_found_in_names_and_docstrings_of_tests_and_nowhere_else(tmp_path: Path) -> None:
    file = tmp_path / "some" / "test_it.py"
    file.parent.mkdir()
    file.write_text(
        "def test_F01_alone(): pass\n"
        'def test_two():\n    """F02.\n\n    And (F03)."""\n'
        'def test_none():\n    "F5, AF04, F060"\n    # F07\n    x = "F08"\n'
        'def helper():\n    """F09."""\n'
        'class TestIt:\n    def test_inside(self):\n        """F10."""\n',
        encoding="utf-8",
    )
    named = by_row(proofs(tmp_path))

    assert {row: [proof.name for proof in found] for row, found in named.items()} == {
        "F01": ["test_F01_alone"],
        "F02": ["test_two"],
        "F03": ["test_two"],
        "F10": ["test_inside"],
    }
    assert list(table(named))[2] == "| F01 | `some/test_it.py`: F01 alone |"
