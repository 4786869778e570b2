"""Run the checks of docs/reliability.md, and print one table.

Results are kept in a folder for each size and state of the source. If a run was interrupted, the
next run continues where it stopped, and runs failed checks again. The gate runs the first part of
each long check.
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

from tools.gate.checks import CHECKS, Check, How
from tools.gate.results import Result, table
from tools.gate.runs import PROJECT, Run

SOURCES = ("layers", "functions", "tools", "tests")
FILES = ("template.yaml", "requirements/dev.txt", "pyproject.toml", "docs/openapi.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks that the arguments name; return 0 if all passed."""
    asked = _parser().parse_args(arguments)
    chosen = _chosen(asked.only)
    figures = "ci" if asked.size == "ci" else "gate"
    folder, seed = _folder(Path(asked.folder) / figures / _state_of_source(), asked.seed)
    print(f"FORKLORE_TEST_SEED={seed} FORKLORE_FIGURES={figures}; results are kept in {folder}")
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
    print(f"\n{text}\n\nThis table is in {written}.md")
    return 0 if all(result.is_good for _, _, result in rows) else 1


def _chosen(only: Sequence[str] | None) -> list[Check]:
    """Return the requested checks."""
    return [check for check in CHECKS if not only or check.name in only]


def _do(runs: Sequence[Run]) -> None:
    """Run what was not run before. The checks that can run at the same time come first."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(Run.result, [run for run in runs if run.check.how is How.BESIDE]))
    for run in runs:
        if run.check.how is not How.BESIDE:
            run.result()


def _parts(check: Check, size: str) -> Sequence[int | None]:
    """Return the numbers of the parts to run; [None]: the check is not divided into parts."""
    if size == "ci" or check.parts == 1:
        return [None]
    return range(1, 1 + (check.parts if size == "long" else 1))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.gate", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("--size", choices=["ci", "gate", "long"], default="gate", help="size of each check")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="CHECK",
        help="names of checks, such as many-writers (default: all)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        help="seed of all random choices; if none is given, that of the last run or a new one",
    )
    parser.add_argument("--folder", default=".gate", help="folder of the results (default: .gate)")
    return parser


def _folder(of_source: Path, asked: int | None) -> tuple[Path, int]:
    """Return the folder of a seed, and the seed: the given one, the last run's, or a new one."""
    of_source.mkdir(parents=True, exist_ok=True)
    kept = of_source / "seed"
    if asked is None:
        asked = int(kept.read_text()) if kept.is_file() else secrets.randbits(32)
    kept.write_text(str(asked))
    folder = of_source / str(asked)
    folder.mkdir(exist_ok=True)
    return folder, asked


def _state_of_source() -> str:
    """Return a hash of the files that are tested and of the Python version."""
    digest = hashlib.sha256(sys.version.encode())
    files = [PROJECT / name for name in FILES]
    for source in SOURCES:
        files += sorted((PROJECT / source).rglob("*.py")) + sorted((PROJECT / source).rglob("*.txt"))
    for file in files:
        digest.update(file.relative_to(PROJECT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(main())
