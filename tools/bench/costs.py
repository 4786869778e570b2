"""What each operation costs on trees of several shapes: rounds / read units / write units.

python -m tools.bench.costs [--write | --shape entries=10000]

Prints the measured costs. costs.txt has those that are accepted, and this fails where they differ;
--write writes them anew. --shape measures a tree of another shape. Rounds are requests that had to
follow one another. Units are computed by AWS's rules from the items before and after each request
(tools/bench/units.py). No figure depends on the load of the machine.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from forklore_service.domain.model import Caller
from forklore_service.domain.rate import UNCOUNTED_MAX, window_of
from forklore_service.storage.cache import ConversationCache
from forklore_service.storage.embedded_texts import EmbeddedTexts
from forklore_service.storage.queue import Queue
from forklore_service.storage.schema import DIMENSIONS
from forklore_service.usecases.background import worker
from forklore_service.usecases.background.embedding import embed
from tools.bench.cases import CASES, Case, Knows
from tools.bench.local import local_dynamodb
from tools.bench.meter import Meter
from tools.bench.shapes import ANN, BASE, Shape, World, world
from tools.harness.service import Process

ACCEPTED = Path(__file__).parent / "costs.txt"
SHAPES = {
    "base": BASE,
    "800 entries": replace(BASE, entries=800),
    "60 forks": replace(BASE, forks=60),
    "chain of 12": replace(BASE, forks=0, chain=12),
}
HEAD = f"""\
# What each operation costs: rounds / read units / write units. `python -m tools.bench.costs --write`
# writes this file. base: {BASE}.
"""
UNITS_OFF_MAX = 1 / 50
NEARNESS = EmbeddedTexts(lambda texts: [[1.0] * DIMENSIONS for _ in texts], "a model")
EMBED = "vectors of an append, the function"
"""What is added to an append by recall on AWS, after its answer, in a process that knows the
conversation. The function may make the vectors of several appends together."""
COUNT = "count a user's requests"
"""What is added to one of UNCOUNTED_MAX requests of a user, if the deployment has a limit."""


def costs_of(endpoint: str | None, shape: Shape) -> dict[str, str]:
    """Return what every case costs on a shape.

    Cases that change nothing come first, and the tree's deletion last.
    """
    chosen = [(name, case) for name, case in CASES.items() if case.suits(shape)]
    chosen.sort(key=lambda named: (named[1].is_end, not named[1].is_read))
    with world(endpoint, shape) as of:
        counting = _Counting(of)
        found = {name: counting.case(name, case) for name, case in chosen}
        found |= {EMBED: counting.embed(), COUNT: counting.count(), "delete, the worker": counting.cascade()}
    order = [*CASES, *found]
    return {name: found[name] for name in sorted(found, key=order.index)}


class _Counting:
    """A process whose requests are counted. At first it knows nothing but the time."""

    def __init__(self, of: World) -> None:
        self._world = of
        self._process = Process(of.store)
        self._process.ask("getConversation", Caller("nobody"), conversationId=of.new_id())
        self._meter = Meter(of.store, self._process.table)

    def case(self, name: str, case: Case) -> str:
        """Return the cost of a case. It sends the same texts, whichever cases were run before."""
        self._world.random.seed(name)
        given = dict(case.given(self._world))
        self._process.table.cache = ConversationCache()
        if case.knows is Knows.READ:
            self._ask("getConversation", case.caller, conversationId=given["conversationId"])
        if case.knows is Knows.DONE:
            self._ask(case.operation, case.caller, **given)
            given = dict(case.given(self._world))
        if case.key:
            given["idempotency_key"] = self._world.new_id()
        self._process.deleted_days = case.days
        self._meter.begin()
        self._ask(case.operation, case.caller, **given)
        return str(self._meter.end())

    def _ask(self, operation: str, caller: Caller, **given: Any) -> None:
        answer = self._process.ask(operation, caller, **given)
        assert answer.status < 300, (operation, answer)

    def embed(self) -> str:
        """Return the cost of the vectors of one more entry. It is the same in any tree."""
        root, table = self._world.ask("createConversation", ANN).id, self._process.table
        table.by_meaning = True
        for begin in (None, self._meter.begin):
            self._world.ask("appendEntry", ANN, conversationId=root, **self._world.said())
            if begin is not None:
                begin()
            embed(table, NEARNESS, root, {root})
        return str(self._meter.end())

    def count(self) -> str:
        """Return the cost of counting requests of a user, when some of the minute are counted."""
        table = self._process.table
        minute_s = window_of(table.now_s())
        table.count_requests(ANN.user_id, minute_s, by=UNCOUNTED_MAX)
        self._meter.begin()
        table.count_requests(ANN.user_id, minute_s, by=UNCOUNTED_MAX)
        return str(self._meter.end())

    def cascade(self) -> str:
        """Return the cost of the worker that deletes the tree, as was requested before."""
        self._meter.begin()
        message = worker.JobMessage(self._world.root)
        while not worker.go_on(self._process.table, Queue(None, None), message, wait_s=0):
            pass
        return str(self._meter.end())


def accepted(text: str) -> dict[str, dict[str, str]]:
    """Return what costs.txt says: of each shape, by its name, the cost of each case on it."""
    head, *rows = (line.split("|") for line in text.splitlines() if not line.startswith("#"))
    return {
        name.strip(): {row[0].strip(): row[at].strip() for row in rows if row[at].strip()}
        for at, name in enumerate(head)
        if at
    }


def differing(measured: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    """Return the cases of one shape that do not cost what is expected, with both costs.

    Rounds must be equal. Units may differ by 1 in 50, because each version of zlib compresses a
    large body a little differently.
    """
    pairs = {name: (measured.get(name), expected.get(name)) for name in {**measured, **expected}}
    return [f"{name}: {one}, not {other}" for name, (one, other) in pairs.items() if not _is_near(one, other)]


def _is_near(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return False
    (rounds, *units), (of_rounds, *of_units) = (map(float, cost.split("/")) for cost in (one, other))
    near = (abs(here - there) <= UNITS_OFF_MAX * there for here, there in zip(units, of_units, strict=True))
    return rounds == of_rounds and all(near)


def written(costs: Mapping[str, Mapping[str, str]]) -> str:
    """Return the costs of several shapes as a table."""
    names = dict.fromkeys(name for of_shape in costs.values() for name in of_shape)
    rows = [["", *costs], *([name, *(one.get(name, "") for one in costs.values())] for name in names)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(" | ".join(map(str.ljust, row, widths)).rstrip(" ") + "\n" for row in rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 if a cost is not the accepted one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write costs.txt")
    parser.add_argument(
        "--shape", metavar="AXIS=SIZE", help="entries, forks, chain or entry_bytes, and a size"
    )
    asked = parser.parse_args(arguments)
    shapes = SHAPES
    if asked.shape:
        axis, size = asked.shape.split("=")
        shapes = {
            asked.shape: replace(BASE, **{"forks": 0 if axis == "chain" else BASE.forks, axis: int(size)})
        }
    with local_dynamodb() as endpoint:
        each = track(shapes.items(), "Shapes", console=Console(stderr=True))
        measured = {name: costs_of(endpoint, shape) for name, shape in each}
    print(text := written(measured))
    if asked.shape:
        return 0
    if asked.write:
        ACCEPTED.write_text(HEAD + text)
    expected = accepted(ACCEPTED.read_text())
    return int(any(differing(costs, expected[name]) for name, costs in measured.items()))


if __name__ == "__main__":
    sys.exit(main())
