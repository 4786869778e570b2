"""Compare the adapters with other packages; write the tables into docs/performance/ecosystem.md.

python -m tools.bench.ecosystem [--lengths 10 100 1000] [--runs 9] [--each 50] [--bytes 200]

docs/performance.md explains the tables. `make bench-adapters` makes the environment.
"""

import argparse
import logging
import os
import platform
import random
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from unittest import mock

from tools.bench.ecosystem.contenders import FORKLORE, Contender, contenders
from tools.bench.ecosystem.measuring import STEPS, Measured, Writers, long_session, measure, two_writers
from tools.bench.local import local_dynamodb
from tools.bench.markdown import table
from tools.bench.shapes import Texts
from tools.harness.amazons_local import VERSION

PROJECT = Path(__file__).parents[3]
PAGE = PROJECT / "docs" / "performance" / "ecosystem.md"
READ_DOLLARS, WRITE_DOLLARS = 0.125, 0.625
"""Of a million units on demand in us-east-1."""
COLUMNS = (
    "messages", "store", "requests", "read units", "write units",
    "$ a million", "ms", "forklore: $", "forklore: ms",
)  # fmt: skip
WRITERS = ("framework", "store", "sent", "kept", "lost", "doubled", "refused", "error")
HEAD = """\
# Adapters beside other packages

`make bench-adapters` writes this page; do not edit it.
[performance.md](../performance.md#beside-other-packages) explains it. The last two columns are
forklore's figure divided by that of the row.
"""


def main() -> int:
    """Return 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=[10, 100, 1000], help="messages of a session"
    )
    parser.add_argument("--runs", type=int, default=9, help="timed runs of each step (default: 9)")
    parser.add_argument("--each", type=int, default=50, help="messages of each of two writers (default: 50)")
    parser.add_argument("--bytes", type=int, default=200, help="of a message (default: 200)")
    parser.add_argument("--long", type=int, default=1000, help="messages of 1 KB in the long session")
    options = parser.parse_args()
    texts = Texts(random.Random(1))
    with local_dynamodb() as endpoint:
        sections = compared(
            endpoint,
            [[texts.of(options.bytes) for _ in range(length)] for length in options.lengths],
            runs=options.runs,
            each=options.each,
            long=[texts.of(1000) for _ in range(options.long)],
        )
    machine = (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({platform.machine()}), {platform.system()}, "
        f"Python {platform.python_version()}, botocore {version('botocore')}, DynamoDB Local {VERSION}. "
        f"Messages of {options.bytes} bytes; medians of {options.runs} runs."
    )
    parts = [HEAD, machine, *(f"\n## {name}\n\n{text}" for name, text in sections.items()), ""]
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    print(PAGE.relative_to(PROJECT))
    return 0


def compared(
    endpoint: str, sessions: Sequence[Sequence[str]], *, runs: int, each: int, long: Sequence[str]
) -> dict[str, str]:
    """Return the tables by their title.

    sessions: the texts of each length. each: messages of each of two writers. long: the texts of a
    session that some stores cannot keep.
    """
    addresses = {"AWS_ENDPOINT_URL_DYNAMODB": endpoint}
    logging.getLogger("langgraph_dynamodb").setLevel(logging.WARNING)
    sections: dict[str, str] = {}
    writers: list[list[str]] = []
    lengths: list[list[str]] = []
    with mock.patch.dict(os.environ, addresses), contenders(endpoint) as frameworks:
        for framework, stores in frameworks.items():
            stored = [one for one in stores if one.in_dynamodb]
            found = {}
            for texts in sessions:
                print(f"{framework}, {len(texts)} messages", file=sys.stderr)
                found[len(texts)] = measure(stored, texts, runs=runs)
            for step in STEPS:
                sections[f"{framework}: {step}"] = table(COLUMNS, _rows(found, stored, step))
            lengths += [[framework, one.name, long_session(one, long)] for one in stored]
            writers += [_writers_row(framework, one.name, two_writers(one, each=each)) for one in stores]
    return sections | {
        f"A session of {len(long)} messages of 1 KB": table(("framework", "store", "result"), lengths),
        "Two writers": table(WRITERS, writers),
    }


def _rows(
    found: Mapping[int, Mapping[str, Mapping[str, Measured]]], stores: Sequence[Contender], step: str
) -> list[list[str]]:
    return [
        _row(length, one.name, of_length[one.name][step], of_length[FORKLORE][step])
        for length, of_length in found.items()
        for one in stores
    ]


def _row(length: int, name: str, measured: Measured, ours: Measured) -> list[str]:
    if measured.cost is None or not measured.ms:
        return [str(length), name, measured.error or "cannot", *[""] * 6]
    ratios = ["", ""]
    if measured is not ours and ours.cost is not None and ours.ms:
        mine, other = dollars(ours), dollars(measured)
        ratios = [f"{mine / other:.2f}" if other else "", f"{ours.median_ms / measured.median_ms:.2f}"]
    cost = measured.cost
    return [
        str(length),
        name,
        str(cost.requests),
        f"{cost.read_units:g}",
        f"{cost.write_units:g}",
        f"{dollars(measured):.2f}",
        f"{measured.median_ms:.1f}",
        *ratios,
    ]


def dollars(measured: Measured) -> float:
    """Return what a million such steps cost on DynamoDB, on demand."""
    assert measured.cost is not None
    return measured.cost.read_units * READ_DOLLARS + measured.cost.write_units * WRITE_DOLLARS


def _writers_row(framework: str, name: str, found: Writers) -> list[str]:
    counts = [found.sent, found.kept, found.lost, found.doubled, found.refused]
    return [framework, name, *map(str, counts), ", ".join(sorted(found.errors)) or "none"]


if __name__ == "__main__":
    sys.exit(main())
