"""What is made of pip-audit's report."""

import sys
from pathlib import Path

import pytest

from tests.deployment.audit import audit, main, read_report

GOOD = {"name": "good", "version": "1.0", "vulns": []}
WEAK = {
    "name": "weak",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}, {"id": "PYSEC-2"}],
}
UNKNOWN = {"name": "unknown", "skip_reason": "not found: unknown (3.0)"}


def says(folder: Path, text: str, *, error: str = "", status: int = 0) -> str:
    """Return a pip-audit that prints `text`."""
    command = folder / "pip-audit"
    command.write_text(
        f"#!{sys.executable}\nimport sys\nprint({text!r})\n"
        f"print({error!r}, file=sys.stderr)\nsys.exit({status})\n"
    )
    command.chmod(0o755)
    return str(command)


def test_each_package_is_weak_or_unknown_or_audited() -> None:
    assert read_report({"dependencies": [GOOD, UNKNOWN, WEAK, GOOD]}) == [
        "WEAK: weak 2.0: PYSEC-1, PYSEC-2",
        "NOT AUDITED: not found: unknown (3.0)",
        "audited: good 1.0, good 1.0",
    ]


def test_a_service_that_does_not_answer_has_audited_nothing(tmp_path: Path) -> None:
    command = says(tmp_path, "", error="Traceback …\nConnectionError: no such host", status=1)

    assert audit([command, "some.txt"]) == ["NOT AUDITED: some.txt: ConnectionError: no such host"]


@pytest.mark.parametrize(("package", "status"), [(WEAK, 1), (UNKNOWN, 0), (GOOD, 0)])
def test_a_weakness_fails_and_what_could_not_be_asked_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], package: dict[str, object], status: int
) -> None:
    command = says(tmp_path, f'{{"dependencies": [{str(package).replace(chr(39), chr(34))}]}}')

    assert main(command, ["one.txt", "two.txt"]) == status
    assert len(capsys.readouterr().out.splitlines()) == 2
