"""The gate runs checks, keeps their results, and adds up what they counted."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability.figures import Measure
from tools.gate.checks import Check
from tools.gate.results import Result, read_report, table
from tools.gate.runs import Run

PROJECT = Path(__file__).parents[3]
REPORT = """<testsuites><testsuite errors="0" failures="{failures}" skipped="{skipped}" tests="2" time="1.5">
<testcase name="one"><properties><property name="seed" value="7"/><property name="count appends" value="40"/>
</properties></testcase>
<testcase name="two"><properties><property name="count appends" value="2"/></properties></testcase>
</testsuite></testsuites>"""


def report(folder: Path, *, failures: int = 0, skipped: int = 0) -> Path:
    path = folder / "report.xml"
    path.write_text(REPORT.format(failures=failures, skipped=skipped))
    return path


def test_counts_of_all_tests_are_added_up(tmp_path: Path) -> None:
    result = read_report(report(tmp_path))

    assert result.is_good
    assert (dict(result.counts), result.tests, result.seconds) == ({"appends": 42}, 2, 1.5)
    assert (result + result).counts["appends"] == 84


@pytest.mark.parametrize("wrong", [{"failures": 1}, {"skipped": 1}])
def test_what_failed_or_was_skipped_is_not_good_and_the_table_says_so(
    tmp_path: Path, wrong: dict[str, int]
) -> None:
    result = read_report(report(tmp_path, **wrong))

    assert not result.is_good
    assert "**1 " in table([("many-writers", "appends", result)])[-1]


def test_what_was_not_run_is_not_good(tmp_path: Path) -> None:
    assert not read_report(tmp_path / "none.xml").is_good
    assert "**not run**" in table([("many-writers", "appends", Result())])[-1]


@pytest.mark.long
def test_a_check_is_run_kept_and_not_run_again(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.gate", "--size", "ci", "--only", "canaries", "--seed", "7"]

    for told in ("canaries: canaries in", "canaries: was done before"):
        done = subprocess.run(
            [*command, "--folder", str(tmp_path)], cwd=PROJECT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert told in done.stdout
        assert "| canaries |" in done.stdout
    [kept] = tmp_path.glob("ci/*/7/table-ci-canaries.md")
    assert "seed 7" in kept.read_text()


@pytest.mark.long
def test_a_run_that_was_broken_off_is_not_kept_though_it_left_a_report(tmp_path: Path) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text(
        "def test_one(): pass\ndef test_two(): raise KeyboardInterrupt\ndef test_three(): pass\n"
    )
    run = Run(Check("nothing", "nothing at all", [str(tests)]), None, "ci", 7, tmp_path)

    result = run.result()

    assert not result.is_good
    assert not run.report.exists()
    assert read_report(run.report.with_suffix(".unfinished")).tests == 1


@pytest.mark.long
def test_each_part_has_a_seed_and_a_report_of_its_own(tmp_path: Path) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text(
        "import os\ndef test_one(record_property):\n"
        "    record_property('count part', os.environ['FORKLORE_PART'])\n"
        "    assert os.environ['FORKLORE_TEST_SEED'] == '7'\n"
    )
    check = Check("nothing", "nothing at all", [str(tests)], parts=3)

    results = [Run(check, part, "gate", 7, tmp_path).result() for part in (1, 3)]

    assert [dict(result.counts) for result in results] == [{"part": 1}, {"part": 3}]
    assert sorted(path.name for path in tmp_path.glob("*.xml")) == ["nothing-1.xml", "nothing-3.xml"]
    assert Measure("nothing", "gate", 7, part=1).seed != Measure("nothing", "gate", 7, part=3).seed


def test_ci_does_a_part_of_the_tests_and_another_one_with_another_seed() -> None:
    names = [f"test_it[{number}]" for number in range(1_000)]

    def tried(size: str, seed: int) -> set[str]:
        return {name for name in names if Measure(name, size, seed).is_tried(ci=1 / 2)}

    assert tried("gate", 7) == set(names)
    assert 400 < len(tried("ci", 7)) < 600
    assert tried("ci", 7) == tried("ci", 7)
    assert len(tried("ci", 7) | tried("ci", 8)) > 650


def test_a_check_of_another_engine_is_run_on_it(tmp_path: Path) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text(
        "import os\ndef test_one():\n    assert os.environ['FORKLORE_TEST_ENGINE'] == 'embedded'\n"
    )
    check = Check("nothing", "nothing at all", [str(tests)], engine="embedded")

    assert Run(check, None, "ci", 7, tmp_path).result().is_good


def test_help_says_what_it_does() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "tools.gate", "--help"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert "--only" in told
    assert "--seed" in told
