"""A run of a check, or of a part of a check, by pytest in a process of its own."""

import os
import shlex
import subprocess  # nosec B404 # pytest
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.gate.checks import Check, How
from tools.gate.results import Result, read_report

PROJECT = Path(__file__).parents[2]
ALL_PASSED, SOME_FAILED = 0, 1
"""The exit codes of pytest after a run that was not interrupted."""


@dataclass(frozen=True)
class Run:
    """A run of a check, or of a part of it. figures: `ci` or `gate`. folder: of its result."""

    check: Check
    part: int | None
    figures: str
    seed: int
    folder: Path

    def __str__(self) -> str:
        return f"{self.check.name}-{self.part}" if self.part else self.check.name

    @property
    def report(self) -> Path:
        """The path of pytest's report of a run that was not interrupted."""
        return self.folder / f"{self}.xml"

    @property
    def kept(self) -> Result:
        """The result in its report."""
        return read_report(self.report)

    def result(self) -> Result:
        """Return the kept result if all its tests passed; otherwise run the check."""
        result = self.kept
        if result.is_good:
            print(f"{self}: was done before", flush=True)
            return result
        print(f"{self}: {self.check.shows} ...", flush=True)
        environment = {"FORKLORE_FIGURES": self.figures, "FORKLORE_TEST_SEED": str(self.seed)}
        environment |= {"FORKLORE_PART": str(self.part)} if self.part else {}
        environment |= {"FORKLORE_TEST_ENGINE": self.check.engine} if self.check.engine else {}
        log = self.report.with_suffix(".log")
        self._run(log, environment)
        result = self.kept
        told = (
            f"{result.tests} tests, {result.failed} failed, {result.skipped} skipped, {result.seconds:.0f} s"
        )
        print(f"{self}: {told}", flush=True)
        if not result.is_good:
            again = shlex.join(f"{name}={value}" for name, value in environment.items())
            paths = shlex.join(self.check.paths)
            print(f"{self}: see {log}; again: {again} python -m pytest {paths}", flush=True)
        return result

    def _run(self, log: Path, environment: Mapping[str, str]) -> None:
        """Run pytest, and keep its report unless it was interrupted."""
        unfinished = self.report.with_suffix(".unfinished")
        command = [sys.executable, "-m", "pytest", "--quiet", f"--junitxml={unfinished}"]
        command += ["--override-ini=junit_family=xunit1", "--override-ini=junit_logging=no"]
        command += ["--numprocesses=auto", "--dist=worksteal"] if self.check.how is How.WIDE else []
        self.report.unlink(missing_ok=True)
        with log.open("w") as output:
            done = subprocess.run(  # nosec B603 # our own tests
                [*command, *self.check.paths],
                cwd=PROJECT,
                env=os.environ | environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode in (ALL_PASSED, SOME_FAILED):  # not interrupted
            unfinished.rename(self.report)
