"""What each operation costs, beside the floor: the smallest cost of the same result on DynamoDB.

python -m tools.bench.cost [--axes forks entries …] [--runs 20]

Requests, rounds and bytes are counted. Units are computed by AWS's rules from the items before and
after each request (tools/bench/units.py). Times are those of this machine and DynamoDB Local,
without HTTP.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import track

from forklore.domain.model import Caller
from forklore.domain.rate import UNCOUNTED_MAX, window_of
from forklore.fsck.shapes import Kind, kind_of
from forklore.storage.cache import ConversationCache
from forklore.storage.queue import Queue
from forklore.usecases.cascade import run_deletion
from tools.bench import units
from tools.bench.cases import CASES, Case, Knows
from tools.bench.local import local_dynamodb
from tools.bench.markdown import table
from tools.bench.meter import Cost, Meter, Touched
from tools.bench.moving import EXPORT, IMPORT, move
from tools.bench.shapes import ANN, AXES, BASE, Shape, World, world
from tools.harness.service import Answer, Process

CASCADE = "delete, the worker"
COUNT = "count a user's requests"
"""What is added to one of UNCOUNTED_MAX requests of a user, if the deployment has a limit."""
NANO = 1_000_000
COLUMNS = (
    *("operation", "requests", "rounds", "read units", "write units", "copies once", "sent, KB"),
    "received, KB",
    *("CPU, ms", "wall, ms", "floor: requests", "read", "write", "ratio"),
)


@dataclass(frozen=True)
class Times:
    """Milliseconds of one run. cpu: of all threads of this process, botocore included."""

    cpu: float
    wall: float


@dataclass(frozen=True)
class Row:
    """What a case costs on a shape.

    least: the cost of the floor. times: medians; None: not measured.
    """

    name: str
    shape: Shape
    cost: Cost
    least: Cost
    times: Times | None


def least_of(case: Case, cost: Cost, answer: Answer) -> Cost:
    """Return the cost of a case's floor, from the items that the case has read and written."""
    text = json.dumps(answer.body, default=str, ensure_ascii=False)
    wrote = [
        units.units_of_write(one.before, one.after, in_transaction=False)
        for one in cost.touched
        if one.is_write and one.kind in case.floor.writes and one.before != one.after
    ]
    found = {one.key: one.size for one in cost.touched if not one.is_write and _is_shown(one, text)}
    read = [size for key, size in found.items() if kind_of(key) in case.floor.reads]
    return Cost(
        requests=case.floor.requests,
        rounds=min(case.floor.requests, 1),
        read_units=units.units_of_query(read) if case.floor.reads else 0.0,
        write_units=sum(wrote),
    )


def _is_shown(read: Touched, answer: str) -> bool:
    if read.after is None:
        return False
    match read.kind:
        case Kind.MEM:
            named = read.after["userId"]["S"]
        case Kind.XFER:
            named = read.after["id"]["S"] if "id" in read.after else read.key.sort[-36:]
        case _:
            named = read.key.sort[-36:]
    return f'"{named}"' in answer


class Asking:
    """A process that makes the requests of the cases. At first it knows nothing but the time."""

    def __init__(self, of: World) -> None:
        self._world = of
        self.process = Process(of.store)
        self.process.ask("getConversation", Caller("nobody"), conversationId=of.new_id())

    def prepared(self, case: Case) -> Mapping[str, Any]:
        """Do what the process has done before the case; return the fields of the request."""
        given = dict(case.given(self._world))
        self.process.table.cache = ConversationCache()
        if case.knows is Knows.READ:
            shown = {"conversationId": given["conversationId"]}
            _done(case, self.process.ask("getConversation", case.caller, **shown))
        if case.knows is Knows.DONE:
            _done(case, self.process.ask(case.operation, case.caller, **given))
            given = dict(case.given(self._world))
        return given | ({"idempotency_key": self._world.new_id()} if case.key else {})


class Counting(Asking):
    """Counts the cost of each case, once."""

    def __init__(self, of: World) -> None:
        super().__init__(of)
        self._meter = Meter(of.store, self.process.table)

    def row(self, name: str, case: Case, times: Times | None) -> Row:
        """Return the cost of a case, with its times, which are measured elsewhere.

        The case sends the same texts on every shape, whichever cases were run before.
        """
        self._world.random.seed(name)
        given = self.prepared(case)
        self._meter.begin()
        answer = _done(case, self.process.ask(case.operation, case.caller, **given))
        cost = self._meter.end()
        return Row(name, self._world.shape, cost, least_of(case, cost, answer), times)

    def count(self) -> Row:
        """Return the cost of counting requests of a user, when some of the minute are counted."""
        table = self.process.table
        minute_s = window_of(table.now_s())
        table.count_requests(ANN.user_id, minute_s, by=UNCOUNTED_MAX)
        self._meter.begin()
        table.count_requests(ANN.user_id, minute_s, by=UNCOUNTED_MAX)
        cost = self._meter.end()
        return Row(COUNT, self._world.shape, cost, Cost(requests=1, rounds=1, write_units=1), None)

    def cascade(self) -> Row:
        """Return the cost of the worker that deletes the tree.

        The deletion was requested before.
        """
        self._meter.begin()
        table, queue = self.process.table, Queue(None, None)
        while not run_deletion(table, queue, self._world.root, wait_s=0):
            pass
        cost = self._meter.end()
        gone = [one for one in cost.touched if one.is_write and one.before and not one.after]
        least = Cost(
            requests=-(-len(gone) // 25),
            rounds=1,
            write_units=sum(units.units_of_write(one.before, None, in_transaction=False) for one in gone),
        )
        return Row(CASCADE, self._world.shape, cost, least, None)


class Timing(Asking):
    """Measures the time of each case, several times."""

    def median(self, case: Case, runs: int) -> Times | None:
        """Return the medians of the runs; None if there were none, or the case deletes the tree."""
        taken = [] if case.is_end else [self._time(case) for _ in range(runs)]
        if not taken:
            return None
        return Times(statistics.median(t.cpu for t in taken), statistics.median(t.wall for t in taken))

    def _time(self, case: Case) -> Times:
        given = self.prepared(case)
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        answer = self.process.ask(case.operation, case.caller, **given)
        taken = Times((time.process_time_ns() - cpu) / NANO, (time.perf_counter_ns() - wall) / NANO)
        _done(case, answer)
        return taken


def _done(case: Case, answer: Answer) -> Answer:
    assert answer.status < 300, (case.operation, answer)
    return answer


def rows_of(endpoint: str | None, shape: Shape, runs: int) -> Iterator[Row]:
    """Yield what every case costs on a shape.

    Cases that change nothing come first, and the tree's deletion last. Times are measured on
    another tree, because many runs change its shape. runs: how many; 0: no times are measured.
    """
    chosen = [(name, case) for name, case in CASES.items() if case.suits(shape)]
    chosen.sort(key=lambda named: (named[1].is_end, not named[1].is_read))
    times: dict[str, Times | None] = {}
    if runs:
        with world(endpoint, shape) as of:
            timing = Timing(of)
            times = {name: timing.median(case, runs) for name, case in chosen}
    with world(endpoint, shape) as of:
        if shape == BASE:  # a tree is read and written whole, so its size alone decides
            for name, cost, least in move(of):
                yield Row(name, shape, cost, least, None)
        counting = Counting(of)
        for name, case in chosen:
            yield counting.row(name, case, times.get(name))
        yield counting.count()
        yield counting.cascade()


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows in the order of the cases."""
    order = [*CASES, COUNT, CASCADE, EXPORT, IMPORT]
    return sorted(rows, key=lambda row: order.index(row.name))


def cells_of(row: Row) -> list[str]:
    """Return the cells of a row, one for each of COLUMNS."""
    cost, least = row.cost, row.least
    times = [f"{row.times.cpu:.1f}", f"{row.times.wall:.1f}"] if row.times else ["–", "–"]
    return [
        *(row.name, str(cost.requests), str(cost.rounds), f"{cost.read_units:g}", str(cost.write_units)),
        *(str(cost.write_units_once), f"{cost.sent / 1000:.1f}", f"{cost.received / 1000:.1f}", *times),
        *(str(least.requests), f"{least.read_units:g}", str(least.write_units), ratio(row)),
    ]


def ratio(row: Row) -> str:
    """Return the cost divided by the floor's.

    A write unit weighs five read units, as their prices do.
    """

    def weighed(cost: Cost) -> float:
        return cost.read_units + 5 * cost.write_units

    return f"{weighed(row.cost) / weighed(row.least):.1f}" if weighed(row.least) else "–"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--axes", nargs="*", choices=list(AXES), default=[], help="also measure the shapes of these axes"
    )
    parser.add_argument("--runs", type=int, default=20, help="runs of each case for its times (default: 20)")
    options = parser.parse_args()
    shapes = list(dict.fromkeys([BASE, *(shape for axis in options.axes for shape in AXES[axis])]))
    console = Console(stderr=True)
    with local_dynamodb() as endpoint:
        for shape in track(shapes, "Shapes", console=console):
            rows = in_order(rows_of(endpoint, shape, options.runs))
            print(f"\n{shape}\n", table(COLUMNS, [cells_of(row) for row in rows]), sep="\n")


if __name__ == "__main__":
    main()
