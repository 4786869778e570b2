"""Measure everything, write the tables into .cache/bench.md, and judge them.

python -m tools.bench [--runs 20] [--build FOLDER]

docs/performance.md explains the tables and has the figures that matter; it is written by hand. A
run takes about ten minutes, in which nothing else should run.
"""

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import track

from tools.bench.cost import COLUMNS, Row, cells_of, in_order, rows_of
from tools.bench.growth import growth_table
from tools.bench.judging import unexplained
from tools.bench.limits import limits_table
from tools.bench.local import local_dynamodb
from tools.bench.markdown import table
from tools.bench.money import Function, Month, Prices, tables
from tools.bench.shapes import AXES, BASE, Shape
from tools.harness.amazons_local import VERSION

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / ".cache" / "bench.md"
RUNS_ELSEWHERE = 3
"""How often a case is run for its times on the shapes other than the base."""
HEAD = """\
# Benchmark tables

`make bench` writes this page. docs/performance.md explains it.
A cost such as `3 / 17 / 0` is 3 rounds, 17 read units and 0 write units.
"""
NOT_MEASURED = "Not measured, because there was no build."


def main() -> int:
    """Return 0, or 1 if a cost or a time misses its target without an accepted reason."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20, help="runs of each case for its times (default: 20)")
    parser.add_argument(
        "--build", type=Path, help="a build, for the cold starts; without it they are left out"
    )
    options = parser.parse_args()
    console = Console(stderr=True)
    rows = _costs(options.runs, console)
    by_axis = {axis: [rows[shape] for shape in shapes] for axis, shapes in AXES.items()}
    sections = {
        "Costs and their limits": limits_table(rows[BASE]),
        "Every operation": table(COLUMNS, [cells_of(row) for row in rows[BASE]]),
        **{f"Growth by {axis.replace('_', ' ')}": growth_table(axis, by_axis[axis]) for axis in AXES},
        "Cold start": NOT_MEASURED,
        "Warm path": _printed("tools.bench.warm_path"),
        "Money": tables(rows[BASE], Prices(), Function(), Month()),
    }
    if options.build:
        sections["Cold start"] = _printed("tools.bench.cold_start", "--build", str(options.build))
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(_machine(), sections), encoding="utf-8")
    wrong = unexplained(sections, console)
    if not options.build:
        console.print("not measured: cold start (--build)", style="yellow")
    console.print(PAGE.relative_to(PROJECT))
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
    """Run a benchmark in a process of its own; return what it prints. Its progress is shown."""
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=True).stdout


def page(machine: str, sections: Mapping[str, str]) -> str:
    """Return the page in Markdown."""
    return "\n".join(
        [HEAD, machine, *(f"\n## {name}\n\n{text.strip()}" for name, text in sections.items()), ""]
    )


if __name__ == "__main__":
    sys.exit(main())
