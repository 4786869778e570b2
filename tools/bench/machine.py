"""What one machine takes: CPU and wall time over HTTP and in process, and memory.

python -m tools.bench.machine [--against CHECKOUT] [--workers 1 2] [--rounds 5]

With another checkout, which has a `.venv` of its own, both run at once and take turns, round by
round, so that what else the machine does affects both alike. The figures are medians of the rounds,
and the ratios are medians of each round's. CPU time is that of all the server's processes. A text
has 500 bytes, a conversation 1,000 entries where nothing else is said.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from tools.bench.in_process import FORKS, FORKS_AT_ONCE
from tools.bench.workers import ENTRY, Connection, children_of, memory_of

ROOT = Path(__file__).parents[2]
IN_PROCESS = Path(__file__).with_name("in_process.py")
ENTRIES, AT_ONCE, WRITERS = 1_000, 50, 8
STARTED_WITHIN_S = 60
Taken = tuple[float, float]
"""Milliseconds of CPU and of wall time of one request; or two figures of the memory in MB."""
Row = Callable[[int], Awaitable[Taken]]
"""Measures so many requests."""
Opened = Callable[[Path], AbstractAsyncContextManager[Mapping[str, Row]]]
"""What is measured of a checkout, by name."""


def python_of(checkout: Path) -> str:
    return str(checkout / ".venv" / "bin" / "python")


@asynccontextmanager
async def in_process(checkout: Path) -> AsyncIterator[Mapping[str, Row]]:
    """Open a new folder with the code of a checkout; yield what is measured there."""
    command = [python_of(checkout), "-P", str(IN_PROCESS)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=checkout, stdin=pipe, stdout=pipe, text=True) as process:  # noqa: ASYNC220
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answered = process.stdin, process.stdout

        def row(named: str) -> Row:
            async def measure(times: int) -> Taken:
                print(json.dumps([named, times]), file=asked, flush=True)
                cpu_ms, wall_ms = json.loads(answered.readline())
                return cpu_ms, wall_ms

            return measure

        yield {named: row(named) for named in json.loads(answered.readline())}


class Processes:
    """A server's processes. first: the one that was started."""

    def __init__(self, first: int) -> None:
        self._first = first

    def all(self) -> list[int]:
        return [self._first, *children_of(self._first)]

    def cpu_ms(self) -> float:
        """Return the CPU time of all of them until now. Linux numbers a process's clock so."""
        return sum(time.clock_gettime_ns((~one << 3) | 2) for one in self.all()) / 1e6

    def memory_mb(self) -> float:
        return sum(map(memory_of, self.all())) / 1000


@contextmanager
def server_of(
    checkout: Path, workers: int, *, data: Path | None = None, port: int = 0, **variables: str
) -> Iterator[tuple[str, Processes]]:
    """Run the server of a checkout; yield its address and its processes.

    data: its folder; None: a new one. port: 0: any free one.
    """
    with tempfile.TemporaryDirectory() as made:
        options = ["--port", str(port), "--workers", str(workers), "--data", str(data or made)]
        command = [python_of(checkout), "-m", "forklore_local.server", *options]
        environ = os.environ | variables
        with subprocess.Popen(
            command, cwd=checkout, stdout=subprocess.PIPE, text=True, env=environ
        ) as process:
            try:
                assert process.stdout is not None
                found = (re.search(r"listens on (\S+)", line) for line in process.stdout)
                url, processes = next(one[1] for one in found if one), Processes(process.pid)
                until = time.monotonic() + STARTED_WITHIN_S
                while len(processes.all()) < workers + (workers > 1) and time.monotonic() < until:
                    time.sleep(0.1)
                time.sleep(1)  # the last one opens the folder
                yield url, processes
            finally:
                process.terminate()


@asynccontextmanager
async def over_http(checkout: Path, workers: int) -> AsyncIterator[Mapping[str, Row]]:
    """Start a server, make what the requests need, and yield what is measured.

    Requests come one after another, but for those of the writers.
    """
    with server_of(checkout, workers) as (url, processes):
        at_start_mb, ann = processes.memory_mb(), await Connection.to(url)

        async def conversation(entries: int) -> str:
            path = await ann.conversation()
            for _ in range(entries // AT_ONCE):
                await ann.ask("POST", path, {"entries": [ENTRY] * AT_ONCE})
            for _ in range(entries % AT_ONCE):
                await ann.ask("POST", path, ENTRY)
            return path

        async def forked() -> str:
            made = json.loads(await ann.ask("POST", tree.replace("/entries", "/fork"), {}))
            return f"/v1/conversations/{made['id']}/entries"

        async def all_by_200() -> None:
            cursor: str | None = ""
            while cursor is not None:
                page = json.loads(await ann.ask("GET", f"{long}?limit=200{cursor}"))
                cursor = page["afterCursor"] and f"&afterCursor={page['afterCursor']}"

        async def fork_and_append() -> None:
            await ann.ask("POST", await forked(), ENTRY)

        async def all_write() -> None:
            await asyncio.gather(*(one.ask("POST", short, ENTRY) for one in writers))

        async def memory(_times: int) -> Taken:
            return at_start_mb, processes.memory_mb()

        def row(ask: Callable[[], Awaitable[object]], *, requests: int = 1) -> Row:
            async def measure(times: int) -> Taken:
                cpu, wall = processes.cpu_ms(), time.perf_counter()
                for _ in range(times):
                    await ask()
                wall_ms = (time.perf_counter() - wall) * 1000
                return (processes.cpu_ms() - cpu) / times / requests, wall_ms / times / requests

            return measure

        short, long, tree = await conversation(10), await conversation(ENTRIES), await conversation(150)
        for _ in range(FORKS // FORKS_AT_ONCE):
            await ann.ask("POST", tree.replace("/entries", "/fork"), {"count": FORKS_AT_ONCE})
        fork, writers = await forked(), [await Connection.to(url) for _ in range(WRITERS)]
        forks = f"{tree.replace('/entries', '/forks')}?limit=200"
        yield {
            "append, conversation of 10": row(lambda: ann.ask("POST", short, ENTRY)),
            f"append, conversation of {ENTRIES:,}": row(lambda: ann.ask("POST", long, ENTRY)),
            f"newest 50 of {ENTRIES:,}": row(lambda: ann.ask("GET", f"{long}?tail=true&limit=50")),
            f"newest 50 of a fork with {FORKS} siblings": row(
                lambda: ann.ask("GET", f"{fork}?tail=true&limit=50")
            ),
            f"all of {ENTRIES:,} by 200": row(all_by_200),
            f"list of 200 of {FORKS + 2} forks": row(lambda: ann.ask("GET", forks)),
            f"fork + append, {FORKS} forks": row(fork_and_append),
            f"append, {WRITERS} writers of one conversation": row(all_write, requests=WRITERS),
            "memory in MB: at the start, now": memory,
        }


TIMES = {"all": 4, "list": 8, "memory": 1, "append, 8": 10, "fork": 20}
"""How often a round asks for a row, by how its name begins."""
USUAL_TIMES = 40


async def rounds_of(
    opened: Opened, checkouts: Sequence[Path], *, rounds: int
) -> Mapping[str, Sequence[Sequence[Taken]]]:
    """Return what each checkout takes in each round, by the names of the rows."""
    found: dict[str, list[list[Taken]]] = {}
    async with AsyncExitStack() as stack:
        places = [await stack.enter_async_context(opened(checkout)) for checkout in checkouts]
        for named in places[0]:
            times = next((many for start, many in TIMES.items() if named.startswith(start)), USUAL_TIMES)
            for place in places:
                await place[named](times // 4 + 1)  # warm
            found[named] = [[await place[named](times) for place in places] for _ in range(rounds)]
    return found


def table(found: Mapping[str, Sequence[Sequence[Taken]]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield "| | CPU ms | wall ms | ratio of CPU | of wall |"
    yield "|---|---|---|---|---|"
    for named, rounds in found.items():
        ours = [statistics.median(one[0][at] for one in rounds) for at in (0, 1)]
        ratios = [statistics.median(one[0][at] / one[-1][at] for one in rounds) for at in (0, 1)]
        yield f"| {named} | {' | '.join(f'{one:.2f}' for one in (*ours, *ratios))} |"


def main() -> None:
    """Print a table of what needs no server, and one for each number of processes.

    Without another checkout a ratio is 1.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout with its .venv")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="processes (default: 1 2)")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    checkouts = [ROOT, *([chosen.against.resolve()] if chosen.against else [])]
    measured: list[tuple[str, Callable[[Path], AbstractAsyncContextManager[Mapping[str, Row]]]]]
    measured = [("In process", in_process)]
    measured += [
        (f"Over HTTP, processes: {workers}", partial(over_http, workers=workers))
        for workers in chosen.workers
    ]
    for title, opened in measured:
        found = asyncio.run(rounds_of(opened, checkouts, rounds=chosen.rounds))
        print(title, "", *table(found), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
