"""Run the checks of reliability one after another, and print one table.

What is done is kept in a folder, by size and state of the source: a run that was broken off goes on where it
stopped when it is started again, and a check that failed is run again.
"""

import argparse
import hashlib
import os
import secrets
import shlex
import subprocess  # nosec B404 # pytest, and git
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gate.checks import CHECKS, Check
from gate.results import Result, read_report, table

PROJECT = Path(__file__).parents[1]
SOURCES = ("layers", "functions", "local_server", "fsck", "gate", "tests")
FILES = ("template.yaml", "requirements-dev.txt", "pyproject.toml", "docs/openapi.json")
ALL_PASSED, SOME_FAILED = 0, 1
"""What pytest says of a run that came to its end."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; return 0 if every check is good."""
    asked = _parser().parse_args(arguments)
    chosen = [check for check in CHECKS if not asked.only or check.name in asked.only]
    folder, seed = _folder(Path(asked.folder) / asked.size / _state_of_source(), asked.seed)
    print(f"FORKLORE_TEST_SEED={seed} FORKLORE_FIGURES={asked.size}; what is done is kept in {folder}")
    began = time.monotonic()
    rows = []
    for number, check in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {check.name}: {check.shows}", flush=True)
        rows.append((check.name, check.shows, _run(check, asked.size, seed, folder)))
    minutes = sum(result.seconds for _, _, result in rows) / 60
    run = f"`FORKLORE_FIGURES={asked.size}`, seed {seed}, {os.cpu_count()} cores"
    head = f"{datetime.now(UTC):%Y-%m-%d}, {run}, {minutes:.0f} minutes of tests"
    text = "\n".join([head, "", *table(rows)])
    written = folder / "-".join(["table", *(asked.only or [])])
    written.with_suffix(".md").write_text(text + "\n")
    print(f"\n{text}\n\nin {(time.monotonic() - began) / 60:.0f} minutes; it is in {written}.md")
    return 0 if all(result.is_good for _, _, result in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gate", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--size", choices=["ci", "gate", "long"], default="gate", help="how much is done")
    parser.add_argument("--only", nargs="+", metavar="CHECK", help="such as C3; else all")
    parser.add_argument("--seed", type=int, help="of all that is made up; else one is made up, and kept")
    parser.add_argument("--folder", default=".gate", help="where what is done is kept (.gate)")
    return parser


def _run(check: Check, size: str, seed: int, folder: Path) -> Result:
    """Return the result of a check, whose parts that are done already are not run again."""
    parts = check.parts if size == "long" else 1
    whole = Result()
    for part in range(1, parts + 1):
        report = folder / f"{check.name}-{part}-of-{parts}.xml"
        result = read_report(report)
        if not result.is_good:
            result = run_part(check, size, seed, report, f"{part}/{parts}")
        else:
            print(f"  {part}/{parts} was done before")
        whole += result
    return whole


def run_part(check: Check, size: str, seed: int, report: Path, part: str) -> Result:
    """Run a part of a check, like 3/10; return its result. report: where it is kept if it came to its end."""
    unfinished = report.with_suffix(".unfinished")
    command = [sys.executable, "-m", "pytest", "--quiet", f"--junitxml={unfinished}"]
    command += ["--override-ini=junit_family=xunit1", "--override-ini=junit_logging=no"]
    command += ["--numprocesses=auto", "--dist=worksteal"] if check.is_wide else []
    environment = {"FORKLORE_FIGURES": size, "FORKLORE_TEST_SEED": str(seed), "FORKLORE_PART": part}
    report.unlink(missing_ok=True)
    log = report.with_suffix(".log")
    with log.open("w") as output:
        done = subprocess.run(  # nosec B603 # our own tests
            [*command, *check.paths],
            cwd=PROJECT,
            env=os.environ | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode in (ALL_PASSED, SOME_FAILED):  # else pytest was broken off, or did not begin
        unfinished.rename(report)
    result = read_report(report)
    told = f"{result.tests} tests, {result.failed} failed, {result.skipped} skipped, {result.seconds:.0f} s"
    print(f"  {part}: {told}", flush=True)
    if not result.is_good:
        again = shlex.join(f"{name}={value}" for name, value in environment.items())
        print(f"  see {log}; again: {again} python -m pytest {shlex.join(check.paths)}", flush=True)
    return result


def _folder(of_source: Path, asked: int | None) -> tuple[Path, int]:
    """Return the folder of a seed, and the seed: the one asked for, or that of the last run, or a new one."""
    of_source.mkdir(parents=True, exist_ok=True)
    kept = of_source / "seed"
    if asked is None:
        asked = int(kept.read_text()) if kept.is_file() else secrets.randbits(32)
    kept.write_text(str(asked))
    folder = of_source / str(asked)
    folder.mkdir(exist_ok=True)
    return folder, asked


def _state_of_source() -> str:
    """Return a name of what is tested: the same for the same files and Python, whatever their history."""
    digest = hashlib.sha256(sys.version.encode())
    files = [PROJECT / name for name in FILES]
    for source in SOURCES:
        files += sorted((PROJECT / source).rglob("*.py")) + sorted((PROJECT / source).rglob("*.txt"))
    for file in files:
        digest.update(file.relative_to(PROJECT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(main())
