"""Measure everything, and write it into docs/performance.md.

python -m tools.bench [--runs 20] [--seconds 3] [--build FOLDER]

What is written by hand there stays; each table stands between two marks that name it. docs/performance holds
every figure (costs.csv) and the pictures. It takes about ten minutes, in which nothing else should run.
"""

import argparse
import csv
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import track

from forklore.local.dynamodb_local import VERSION
from tools.bench.cost import COLUMNS, Row, cells_of, in_order, rows_of
from tools.bench.growth import COMPARED, growth_table
from tools.bench.judging import unexplained
from tools.bench.limits import limits_table
from tools.bench.local import local_dynamodb
from tools.bench.markdown import filled, table
from tools.bench.money import Function, Month, Prices, tables
from tools.bench.package_sizes import sizes_table
from tools.bench.plots import draw
from tools.bench.shapes import AXES, BASE, Shape

PROJECT = Path(__file__).parents[2]
PAGE, FOLDER = PROJECT / "docs" / "performance.md", PROJECT / "docs" / "performance"
RUNS_ELSEWHERE = 3
"""How often a case is run for its times on shapes beside the base."""


def main() -> int:
    """Return 0, or 1 if something costs or takes more than it should and than is accepted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20, help="how often each is run for its times (20)")
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement of throughput (3)")
    parser.add_argument(
        "--build", type=Path, help="what is built, for its sizes and the cold starts; else they are left"
    )
    options = parser.parse_args()
    console = Console(stderr=True)
    rows = _costs(options.runs, console)
    by_axis = {axis: [rows[shape] for shape in shapes] for axis, shapes in AXES.items()}
    blocks = {
        "machine": _machine(),
        "limits": limits_table(rows[BASE]),
        "costs": table(COLUMNS, [cells_of(row) for row in rows[BASE]]),
        **{f"growth {axis}": growth_table(axis, by_axis[axis]) for axis in COMPARED},
        "money": tables(rows[BASE], Prices(), Function(), Month()),
        "warm path": _printed("tools.bench.warm_path"),
        "throughput": _printed("tools.bench.throughput", "--seconds", str(options.seconds)),
    }
    if options.build:
        blocks["package sizes"] = sizes_table(options.build)
        blocks["cold start"] = _printed("tools.bench.cold_start", "--build", str(options.build))
    _write_all(FOLDER / "costs.csv", rows)
    pictures = draw(FOLDER, by_axis)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), blocks), encoding="utf-8")
    wrong = unexplained(blocks, console)
    if not options.build:
        console.print("not measured: cold start, package sizes (--build)", style="yellow")
    for written in (PAGE, FOLDER / "costs.csv", *pictures):
        console.print(written.relative_to(PROJECT))
    return 1 if wrong else 0


def _costs(runs: int, console: Console) -> dict[Shape, list[Row]]:
    shapes = list(dict.fromkeys([BASE, *(shape for axis in AXES.values() for shape in axis)]))
    with local_dynamodb() as endpoint:
        return {
            shape: in_order(rows_of(endpoint, shape, runs if shape == BASE else min(runs, RUNS_ELSEWHERE)))
            for shape in track(shapes, "Operations on all shapes", console=console)
        }


def _machine() -> str:
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({platform.machine()}), {platform.system()}, "
        f"Python {platform.python_version()}, botocore {version('botocore')}, DynamoDB Local {VERSION}."
    )


def _printed(module: str, *arguments: str) -> str:
    """Return what a benchmark of its own prints; its progress is shown."""
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=True).stdout


def _write_all(file: Path, rows: Mapping[Shape, Sequence[Row]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(["entries", "forks", "chain", "entry bytes", *COLUMNS])
        for shape, of_shape in rows.items():
            axes = [shape.entries, shape.forks, shape.chain, shape.entry_bytes]
            writer.writerows([[*axes, *cells_of(row)] for row in of_shape])


if __name__ == "__main__":
    sys.exit(main())
