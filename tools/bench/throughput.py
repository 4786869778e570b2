"""How many appends a second one process makes, with 1, 8 and 32 clients.

python -m tools.bench.throughput [--seconds 3] [--latency-ms 10]

The clients append to one conversation, to 32 forks of one tree, and to 32 trees. They do so in
three ways: through the use cases; through the use cases with injected conflicts; over HTTP through
the local server. In addition, 100 clients fork one conversation at once.

DynamoDB Local runs one transaction at a time and refuses none. To behave like AWS, this benchmark
makes each transaction last longer and refuses one that overlaps with another on the same item.
"""

import argparse
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

import httpx
from rich.console import Console
from rich.progress import track

from forklore.domain.keys import Key
from forklore.storage import items
from forklore.storage.table import Table
from tools.bench.local import local_dynamodb
from tools.bench.markdown import table
from tools.bench.shapes import ANN, Texts, conversation_id
from tools.harness.local_server import local_server
from tools.harness.service import Process
from tools.harness.tables import Store, fresh_store
from tools.harness.wire import Request, Wire, cancelled

CLIENTS = (1, 8, 32)
BURST = 100
"""How many clients fork one conversation at the same moment."""
MANY = 32
TEXT_BYTES = 1024
CREATED, BUSY = 201, 503

Append = Callable[[str, str], int]
"""Appends a text to a conversation; returns the HTTP status."""


class Conflicts:
    """Refuses a transaction on an item that is in another running transaction, as AWS does.

    latency_s: how much longer each transaction lasts than on the emulator. count: refused so far.
    Source: DynamoDB developer guide, "Transaction conflict handling".
    """

    def __init__(self, table: Table, latency_s: float) -> None:
        self.count = 0
        self._held: set[Key] = set()
        self._lock = threading.Lock()
        self._latency_s = latency_s
        wire = Wire.of(table)
        wire.before(self._leaves)
        wire.after(self._arrives)

    def _leaves(self, request: Request) -> Mapping[str, Any] | None:
        if request.operation != "TransactWriteItems":
            return None
        wanted = _keys_of(request)
        with self._lock:
            is_refused = bool(wanted & self._held)
            if is_refused:
                self.count += 1
            else:
                self._held |= wanted
                request.scratch["held"] = wanted
        time.sleep(self._latency_s)
        return cancelled(*["TransactionConflict"] * len(wanted)) if is_refused else None

    def _arrives(self, request: Request, _parsed: dict[str, Any]) -> None:
        with self._lock:
            self._held -= request.scratch.pop("held", set())


def _keys_of(request: Request) -> set[Key]:
    parts = (part for one in request.body["TransactItems"] for part in one.values())
    return {items.key(part.get("Item") or part["Key"]) for part in parts}


@dataclass(frozen=True)
class Measured:
    """The result of a run.

    busy: answers 503. conflicts: how many were injected; None: not in this way.
    """

    appends: int
    busy: int
    seconds: float
    latencies_ms: Sequence[float]
    conflicts: int | None

    @property
    def rate(self) -> float:
        return self.appends / self.seconds


def measure(append: Append, targets: Sequence[str], clients: int, seconds: float) -> Measured:
    """Let clients append as fast as they can, each to its own targets if there are enough."""
    texts = [Texts(Random(6)).of(TEXT_BYTES) for _ in range(8)]
    statuses: list[int] = []
    latencies: list[float] = []
    until = time.perf_counter() + seconds

    def work(client: int) -> None:
        for number in count(client, clients):
            began = time.perf_counter()
            if began >= until:
                return
            status = append(targets[number % len(targets)], texts[number % len(texts)])
            statuses.append(status)
            if status == CREATED:
                latencies.append((time.perf_counter() - began) * 1000)

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        list(threads.map(work, range(clients)))
    taken = time.perf_counter() - began
    assert set(statuses) <= {CREATED, BUSY}, set(statuses)
    return Measured(statuses.count(CREATED), statuses.count(BUSY), taken, latencies, None)


def burst_of_forks(store: Store, source: str, latency_s: float) -> Measured:
    """Let BURST clients fork one conversation at the same moment, once each, with conflicts."""
    process = _that_sleeps(store)
    conflicts = Conflicts(process.table, latency_s)
    began = time.perf_counter()

    def fork(_client: int) -> tuple[int, float]:
        status = process.ask("forkConversation", ANN, conversationId=source).status
        return status, (time.perf_counter() - began) * 1000

    with ThreadPoolExecutor(BURST) as threads:
        answers = list(threads.map(fork, range(BURST)))
    assert {status for status, _ in answers} <= {CREATED, BUSY}, answers
    taken = [at for status, at in answers if status == CREATED]
    return Measured(len(taken), BURST - len(taken), max(taken) / 1000, taken, conflicts.count)


def make_targets(store: Store, random: Random) -> dict[str, list[str]]:
    """Make the conversations to append to; return their ids by the name of the target."""
    process = Process(store)
    ids = [conversation_id(random) for _ in range(1 + 2 * MANY)]
    one, forks, trees = ids[0], ids[1 : 1 + MANY], ids[1 + MANY :]
    for root in (one, *trees):
        assert process.ask("createConversation", ANN, id=root, title="a title").status == CREATED
    for fork in forks:
        assert process.ask("forkConversation", ANN, conversationId=one, id=fork).status == CREATED
    return {"one conversation": [one], f"{MANY} forks of one tree": forks, f"{MANY} trees": trees}


def direct(process: Process) -> Append:
    def append(conversation: str, text: str) -> int:
        content = [{"role": "USER", "text": text}]
        given: dict[str, Any] = {"contentType": "history", "content": content}
        return process.ask("appendEntry", ANN, conversationId=conversation, **given).status

    return append


@contextmanager
def over_http(store: Store) -> Iterator[Append]:
    """Yield a function that appends through a local server in a process of its own."""
    assert store.endpoint is not None
    variables = {"FORKLORE_DYNAMODB_ENDPOINT": store.endpoint, "FORKLORE_TABLE": store.name}
    limits = httpx.Limits(max_connections=2 * MANY)
    with (
        local_server(**variables) as url,
        httpx.Client(base_url=url, headers={"Authorization": "Bearer ann"}, limits=limits) as client,
    ):

        def append(conversation: str, text: str) -> int:
            body = {"contentType": "history", "content": [{"role": "USER", "text": text}]}
            return client.post(f"/v1/conversations/{conversation}/entries", json=body).status_code

        yield append


def rows(endpoint: str, seconds: float, latency_s: float) -> Iterator[tuple[str, str, int, Measured]]:
    """Yield the way, the target, the number of clients, and the result."""
    with fresh_store(endpoint=endpoint) as store:
        targets = make_targets(store, Random(6))
        for name, conversations in targets.items():
            for clients in CLIENTS:
                process = Process(store)
                yield "use cases", name, clients, measure(direct(process), conversations, clients, seconds)
        for name, conversations in targets.items():
            for clients in CLIENTS:
                process = _that_sleeps(store)
                conflicts = Conflicts(process.table, latency_s)
                plain = measure(direct(process), conversations, clients, seconds)
                refused = Measured(
                    plain.appends, plain.busy, plain.seconds, plain.latencies_ms, conflicts.count
                )
                yield "use cases, conflicts", name, clients, refused
        one = targets["one conversation"][0]
        forked = burst_of_forks(store, one, latency_s)
        yield "use cases, conflicts", f"{BURST} forks at once", BURST, forked
        with over_http(store) as append:
            for name, conversations in targets.items():
                for clients in CLIENTS:
                    yield "HTTP", name, clients, measure(append, conversations, clients, seconds)


def _that_sleeps(store: Store) -> Process:
    """Return a process whose retries wait as they do on AWS."""
    process = Process(store)
    process.table = store.process(sleep=time.sleep)
    return process


def table_of(measured: Sequence[tuple[str, str, int, Measured]]) -> str:
    """Return a table of the results in Markdown."""
    cells = []
    for by, name, clients, one in measured:
        median = statistics.median(one.latencies_ms)
        late = statistics.quantiles(one.latencies_ms, n=20)[-1]
        refused = "–" if one.conflicts is None else f"{one.conflicts / max(one.appends, 1):.2f}"
        figures = [f"{one.rate:.0f}", f"{median:.0f}", f"{late:.0f}", refused, str(one.busy)]
        cells.append([by, name, str(clients), *figures])
    names = [
        "by",
        "appends to",
        "clients",
        "a second",
        "median, ms",
        "95 %, ms",
        "conflicts an append",
        "503",
    ]
    return table(names, cells)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3, help="seconds of each run (default: 3)")
    parser.add_argument(
        "--latency-ms", type=float, default=10, help="milliseconds of a transaction on AWS (default: 10)"
    )
    options = parser.parse_args()
    with local_dynamodb() as endpoint:
        runs = rows(endpoint, options.seconds, options.latency_ms / 1000)
        console = Console(stderr=True)
        measured = list(track(runs, "Appending", total=3 * 3 * len(CLIENTS) + 1, console=console))
    print(table_of(measured))


if __name__ == "__main__":
    main()
