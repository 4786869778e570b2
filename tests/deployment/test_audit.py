"""How the audit reads pip-audit's report."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.deployment.audit import NOT_FOUND, audit, main, read_report

GOOD: dict[str, object] = {"name": "good", "version": "1.0", "vulns": []}
WEAK: dict[str, object] = {
    "name": "weak",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}, {"id": "PYSEC-2"}],
}
UNKNOWN: dict[str, object] = {"name": "unknown", "skip_reason": f"{NOT_FOUND}: unknown (3.0)"}
SKIPPED: dict[str, object] = {"name": "odd", "skip_reason": "odd: could not be resolved"}
UNREACHABLE = [
    "Traceback …\nrequests.exceptions.ConnectionError: no such host",
    "Traceback …\nrequests.exceptions.ProxyError: HTTPSConnectionPool(…)",
    "requests.exceptions.HTTPError: 503 Server Error\n…\npip_audit._service.interface.ServiceError",
    "ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed",
]
BROKEN = [
    "pip-audit: error: unrecognized arguments: --format",
    "Traceback …\nModuleNotFoundError: No module named 'requests'",
    "ERROR:pip_audit._cli:invalid requirements input: one.txt",
    "requests.exceptions.HTTPError: 403 Client Error\n…\npip_audit._service.interface.ServiceError",
    "",
]


def says(folder: Path, text: str, *, error: str = "", status: int = 0) -> str:
    """Return a pip-audit that prints `text`."""
    command = folder / "pip-audit"
    script = folder / "pip_audit.py"
    script.write_text(f"import sys\nprint({text!r})\nprint({error!r}, file=sys.stderr)\nsys.exit({status})\n")
    # The path of Python may hold a space, which the first line of a script cannot.
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n')
    command.chmod(0o755)
    return str(command)


def report(*packages: dict[str, object]) -> str:
    return json.dumps({"dependencies": packages})


def test_each_package_is_weak_or_unknown_or_audited() -> None:
    assert read_report({"dependencies": [GOOD, UNKNOWN, WEAK, GOOD]}) == [
        "WEAK: weak 2.0: PYSEC-1, PYSEC-2",
        f"NOT AUDITED: {NOT_FOUND}: unknown (3.0)",
        "audited: good 1.0, good 1.0",
    ]


@pytest.mark.parametrize("error", UNREACHABLE)
def test_if_the_service_does_not_answer_the_file_is_reported_as_not_audited(
    tmp_path: Path, error: str
) -> None:
    command = says(tmp_path, "", error=error, status=1)

    assert audit([command, "some.txt"]) == [f"NOT AUDITED: some.txt: {error.splitlines()[-1]}"]
    assert main(command, ["some.txt"]) == 0


@pytest.mark.parametrize("error", BROKEN)
@pytest.mark.parametrize("status", [0, 1, 2])
def test_an_audit_that_did_not_run_fails(tmp_path: Path, error: str, status: int) -> None:
    command = says(tmp_path, "", error=error, status=status)

    [line] = audit([command, "some.txt"])
    assert line.startswith("AUDIT FAILED: some.txt: ")
    assert main(command, ["some.txt"]) == 1


def test_a_pip_audit_that_is_not_there_fails(tmp_path: Path) -> None:
    assert main(str(tmp_path / "pip-audit"), ["some.txt"]) == 1


@pytest.mark.parametrize(
    "text", ["{}", "[]", "null", '{"dependencies": []}', '{"dependencies": [{}]}', "2.0"]
)
def test_a_report_of_another_shape_fails(tmp_path: Path, text: str) -> None:
    assert main(says(tmp_path, text), ["some.txt"]) == 1


@pytest.mark.parametrize(("package", "status"), [(WEAK, 1), (UNKNOWN, 0), (SKIPPED, 1), (GOOD, 0)])
def test_a_weakness_fails_and_unaudited_packages_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], package: dict[str, object], status: int
) -> None:
    assert main(says(tmp_path, report(package)), ["one.txt", "two.txt"]) == status
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_one_failure_among_good_reports_is_a_failure(tmp_path: Path) -> None:
    assert main(says(tmp_path, report(GOOD), status=1), ["some.txt"]) == 1
    assert main(says(tmp_path, report(WEAK), status=1), ["some.txt"]) == 1
