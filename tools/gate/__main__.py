"""Run the checks of docs/reliability.md, and print one table.

Results are kept in a folder, by figures and state of the source. A run that was interrupted goes on where it
stopped when it is started again. A check that failed is run again. The gate's checks are the first part of
the long ones.
"""

import argparse
import hashlib
import os
import secrets
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from shutil import which

from tools.gate.checks import CHECKS, Check, How
from tools.gate.results import Result, table
from tools.gate.runs import PROJECT, Run

SOURCES = ("layers", "functions", "tools/gate", "tests")
FILES = ("template.yaml", "requirements/dev.txt", "pyproject.toml", "docs/openapi.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks that the arguments name; return 0 if every check is good."""
    asked = _parser().parse_args(arguments)
    chosen = _chosen(asked.only)
    figures = "ci" if asked.size == "ci" else "gate"
    folder, seed = _folder(Path(asked.folder) / figures / _state_of_source(), asked.seed)
    print(f"FORKLORE_TEST_SEED={seed} FORKLORE_FIGURES={figures}; what is done is kept in {folder}")
    began = time.monotonic()
    runs = [Run(check, part, figures, seed, folder) for check in chosen for part in _parts(check, asked.size)]
    _do(runs)
    rows = [
        (check.name, check.shows, sum((run.kept for run in runs if run.check is check), Result()))
        for check in chosen
    ]
    minutes = sum(result.seconds for _, _, result in rows) / 60
    head = f"{datetime.now(UTC):%Y-%m-%d}, `make gate{'-long' * (asked.size == 'long')}`, seed {seed}, "
    head += f"{os.cpu_count()} cores, {minutes:.0f} minutes of tests; "
    head += f"this run took {(time.monotonic() - began) / 60:.0f} minutes"
    text = "\n".join([head, "", *table(rows)])
    written = folder / "-".join(["table", asked.size, *(asked.only or [])])
    written.with_suffix(".md").write_text(text + "\n")
    print(f"\n{text}\n\nThis is in {written}.md")
    return 0 if all(result.is_good for _, _, result in rows) else 1


def _chosen(only: Sequence[str] | None) -> list[Check]:
    """Return the checks that are asked for and whose engine is here; print the names of the others."""
    asked = [check for check in CHECKS if not only or check.name in only]
    for check in asked:
        if check.engine and which(check.engine) is None:
            print(f"NOT RUN: {check.name}, {check.shows}: {check.engine} is not on the PATH")
    return [check for check in asked if not check.engine or which(check.engine)]


def _do(runs: Sequence[Run]) -> None:
    """Run what was not run before: first the checks that can run at the same time."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(Run.result, [run for run in runs if run.check.how is How.BESIDE]))
    for run in runs:
        if run.check.how is not How.BESIDE:
            run.result()


def _parts(check: Check, size: str) -> Sequence[int | None]:
    """Return the numbers of the parts of a check; [None] for a check that is run as a whole."""
    if size == "ci" or check.parts == 1:
        return [None]
    return range(1, 1 + (check.parts if size == "long" else 1))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.gate", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument(
        "--size", choices=["ci", "gate", "long"], default="gate", help="how much each check does"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="CHECK",
        help="names of checks, such as many-writers; all if none is given",
    )
    parser.add_argument(
        "--seed", type=int, help="of all random choices; without one, a new one is made and kept"
    )
    parser.add_argument("--folder", default=".gate", help="where results are kept (.gate)")
    return parser


def _folder(of_source: Path, asked: int | None) -> tuple[Path, int]:
    """Return the folder of a seed, and the seed: the given one, that of the last run, or a new one."""
    of_source.mkdir(parents=True, exist_ok=True)
    kept = of_source / "seed"
    if asked is None:
        asked = int(kept.read_text()) if kept.is_file() else secrets.randbits(32)
    kept.write_text(str(asked))
    folder = of_source / str(asked)
    folder.mkdir(exist_ok=True)
    return folder, asked


def _state_of_source() -> str:
    """Return a name of the source that is tested: the same for the same files and the same Python."""
    digest = hashlib.sha256(sys.version.encode())
    files = [PROJECT / name for name in FILES]
    for source in SOURCES:
        files += sorted((PROJECT / source).rglob("*.py")) + sorted((PROJECT / source).rglob("*.txt"))
    for file in files:
        digest.update(file.relative_to(PROJECT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(main())
