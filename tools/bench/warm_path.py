"""What a request costs a warm process: its CPU time, beside that of the same DynamoDB calls alone.

python -m tools.bench.warm_path [--runs 200]

Each request goes through a function's handler, as the event that API Gateway makes of it. The table
is on DynamoDB Local, a process of its own: its work counts in the wall times only.

After each request a plain boto3 client makes the same calls on a second table with the same items
("the same calls bare"). The last of these calls alone is the smallest possible request ("the last
one bare").

A second pass interrupts the requests about five times in a millisecond and notes which code runs.
Log lines are made and thrown away.
"""

import argparse
import gc
import json
import logging
import os
import platform
import random
import signal
import statistics
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import boto3
from botocore import xform_name
from rich.console import Console
from rich.progress import track

from forklore.aws.wiring import open_table
from forklore.local.deployment import Function
from forklore.local.invocation import LambdaContext, load_handler
from forklore.local.log import JsonLines
from tools.bench.judging import Target
from tools.bench.local import local_dynamodb
from tools.bench.markdown import table
from tools.bench.shapes import Texts
from tools.harness.functions import functions_on
from tools.harness.gateway import Gateway, credentials
from tools.harness.tables import fresh_store

TABLE, BARE_TABLE = "forklore", "bare"
WARM_UP_RUNS = 20
PAGES, PAGE_ENTRIES = 4, 50
SAMPLE_SECONDS = 0.0002

LAYERS = {
    "/forklore/storage/bodies.py": "forklore: zlib",
    "/forklore/domain/": "forklore: domain",
    "/forklore/storage/": "forklore: storage",
    "/forklore/usecases/": "forklore: usecases",
    "/forklore/api/": "forklore: api",
    "/forklore/aws/": "forklore: aws",
    "/functions/": "forklore: aws",
    "/local/log.py": "logging",
    "/aws_lambda_powertools/": "powertools",
    "/pydantic/": "pydantic",
    "/botocore/serialize.py": "botocore: serialise",
    "/botocore/validate.py": "botocore: serialise",
    "/botocore/parsers.py": "botocore: parse",
    "/botocore/auth.py": "botocore: sign",
    "/botocore/signers.py": "botocore: sign",
    "/botocore/regions.py": "botocore: endpoint",
    "/botocore/endpoint_provider.py": "botocore: endpoint",
    "/botocore/httpsession.py": "http",
    "/botocore/awsrequest.py": "http",
    "/urllib3/": "http",
    "/botocore/": "botocore: other",
}
"""The layer of a file, by a part of its path. The first that fits counts."""
OWN_LAYERS = {"/json/": "json", "/logging/": "logging"}
"""The same for the standard library where forklore calls it.

Other modules count for their caller.
"""
WAITS = {"readinto", "wait", "_worker"}
"""The functions of the standard library in which a thread waits."""


@dataclass(frozen=True)
class Case:
    """An operation to measure.

    event: makes its next request. target: of its CPU time in milliseconds.
    """

    name: str
    event: Callable[[], tuple[Function, dict[str, Any]]]
    target: Target | None = None


@dataclass
class Measured:
    """Milliseconds of each run. floor: CPU time of each bare call. samples: how many, by layer."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    floor: list[list[float]] = field(default_factory=list)
    samples: Counter[str] = field(default_factory=Counter)

    @property
    def calls(self) -> int:
        return max(map(len, self.floor))

    @property
    def floor_ms(self) -> float:
        return statistics.median(map(sum, self.floor))

    @property
    def last_call_ms(self) -> float:
        return statistics.median(times[-1] for times in self.floor)

    def share_ms(self, layer: str) -> float:
        """Return the part of the median CPU time that a layer takes."""
        return statistics.median(self.cpu) * self.samples[layer] / max(1, self.samples.total())


class Service:
    """A warm process with its table, and a plain client with a second table."""

    def __init__(self, gateway: Gateway, endpoint: str) -> None:
        self._gateway = gateway
        self._bare = boto3.client("dynamodb", endpoint_url=endpoint)
        self._made: list[tuple[str, dict[str, Any]]] = []
        events = open_table().connection.client.meta.events
        events.register("provide-client-params.dynamodb", self._note)

    def _note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self._made.append((model.name, params))

    def event(
        self, method: str, path: str, *, query: str = "", body: Any = None, headers: Sequence[str] = ()
    ) -> tuple[Function, dict[str, Any]]:
        """Return a request of the owner. headers: names and values in turn."""
        given = [*credentials("ann"), *zip(headers[::2], headers[1::2], strict=True)]
        sent = b"" if body is None else json.dumps(body).encode()
        typed = [("Content-Type", "application/json")] if sent else []
        return self._gateway.event(method, path, query=query, body=sent, headers=[*given, *typed])

    def answer(self, function: Function, event: dict[str, Any]) -> tuple[Any, float, float]:
        """Return the answer's body, and the milliseconds of CPU time and of wall time."""
        handler, context = load_handler(function), LambdaContext(function)
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        answer = handler(event, context)
        cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
        if answer["statusCode"] >= 300:
            raise SystemExit(f"nothing was measured: {answer['statusCode']} {answer['body']}")
        return json.loads(answer["body"]), cpu / 1e6, wall / 1e6

    def repeat_calls(self) -> list[float]:
        """Repeat the calls since the last time, bare; return the milliseconds of CPU of each."""
        times = []
        for name, given in self._made:
            params = _renamed(given, {TABLE: BARE_TABLE})
            params.pop(
                "ClientRequestToken", None
            )  # it belongs to the first of the two calls; boto3 makes another one
            call = getattr(self._bare, xform_name(name))
            cpu = time.process_time_ns()
            call(**params)
            times.append((time.process_time_ns() - cpu) / 1e6)
        self._made.clear()
        return times


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Return the value with texts and member names replaced as in `names`."""
    match value:
        case dict():
            return {names.get(name, name): _renamed(held, names) for name, held in value.items()}
        case list():
            return [_renamed(held, names) for held in value]
        case str():
            return names.get(value, value)
        case _:
            return value


def cases_of(service: Service) -> list[Case]:
    """Return the operations to measure. Makes the conversations that they need."""
    chance = random.Random(1)

    texts = Texts(chance)

    def entry(characters: int) -> dict[str, Any]:
        content = [{"role": "USER", "text": texts.of(characters)}]
        return {"channel": "history", "contentType": "history", "content": content}

    def conversation(characters: int) -> tuple[str, list[str]]:
        path, made = f"/v1/conversations/{uuid.uuid4()}", []
        for _ in range(PAGES):
            body = {"entries": [entry(characters) for _ in range(PAGE_ENTRIES)]}
            answer, _, _ = service.answer(*service.event("POST", f"{path}/entries", body=body))
            made += [one["id"] for one in answer["data"]]
            service.repeat_calls()
        return path, made

    def append(*headers: str) -> tuple[Function, dict[str, Any]]:
        return service.event("POST", f"{grown}/entries", body=entry(1_000), headers=headers)

    def page(path: str) -> tuple[Function, dict[str, Any]]:
        return service.event("GET", f"{path}/entries", query=f"tail=true&limit={PAGE_ENTRIES}")

    def fork() -> tuple[Function, dict[str, Any]]:
        return service.event("POST", f"{grown}/fork", body={"atEntryId": chance.choice(entries)})

    grown, entries = conversation(1_000)
    small, large = conversation(1_000)[0], conversation(4_000)[0]
    return [
        Case("append of 1 KB", append, Target(3.0)),
        Case("the same with an Idempotency-Key", lambda: append("Idempotency-Key", str(uuid.uuid4()))),
        Case("newest page of 50 × 1 KB", lambda: page(small), Target(8.0)),
        Case("newest page of 50 × 4 KB", lambda: page(large)),
        Case("get a conversation", lambda: service.event("GET", small)),
        Case("fork at an entry", fork),
    ]


def measure(service: Service, cases: Sequence[Case], *, runs: int, console: Console) -> dict[str, Measured]:
    """Return what each case took, by its name.

    The cases take turns, so that load affects all alike.
    """
    measured = {case.name: Measured() for case in cases}
    gc.freeze()
    for run in track(range(-WARM_UP_RUNS, runs), "Measuring", console=console, transient=True):
        for case in cases:
            _, cpu, wall = service.answer(*case.event())
            floor = service.repeat_calls()
            if run >= 0:
                of = measured[case.name]
                of.cpu.append(cpu)
                of.wall.append(wall)
                of.floor.append(floor)
    for _ in track(range(runs), "Sampling", console=console, transient=True):
        for case in cases:
            function, event = case.event()
            with sampled(measured[case.name].samples):
                service.answer(function, event)
            service.repeat_calls()
    return measured


@contextmanager
def sampled(samples: Counter[str]) -> Iterator[None]:
    """Count which layer's code runs in each thread, about every SAMPLE_SECONDS.

    Waits do not count.
    """
    main, running = threading.get_ident(), True

    def note(_signal: int, interrupted: FrameType | None) -> None:
        for thread, frame in sys._current_frames().items():
            layer = layer_of(interrupted if thread == main else frame)
            if layer is not None:
                samples[layer] += 1
        if running:
            start()

    def start() -> None:
        """Order one signal.

        With a regular one, a busy machine would get the next before it is handled.
        """
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.5, 1.5) * SAMPLE_SECONDS)

    before = signal.signal(signal.SIGALRM, note)
    start()
    try:
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def layer_of(frame: FrameType | None) -> str | None:
    """Return the layer of the innermost frame that has one; None for a thread that waits."""
    if frame is not None and frame.f_code.co_name in WAITS:
        return None
    own = None
    while frame is not None:
        path = frame.f_code.co_filename
        own = own or next((layer for part, layer in OWN_LAYERS.items() if part in path), None)
        found = next((layer for part, layer in LAYERS.items() if part in path), None)
        if found is not None:
            return own if own and found.startswith("forklore") else found
        frame = frame.f_back
    return "other"


@contextmanager
def logging_as_on_lambda() -> Iterator[None]:
    """Format forklore's log lines as Lambda's runtime does, and throw them away."""
    with Path(os.devnull).open("w") as nowhere:
        handler = logging.StreamHandler(nowhere)
        handler.setFormatter(JsonLines())
        log = logging.getLogger("forklore")
        with mock.patch.multiple(log, handlers=[handler], level=logging.INFO, propagate=False):
            yield


def report(cases: Sequence[Case], measured: dict[str, Measured], *, runs: int) -> str:
    """Return two tables in Markdown: the times, and the CPU time by layer."""
    machine = f"{os.cpu_count()} × {platform.machine()}"
    made_of = ", ".join(f"{name} {version(name)}" for name in ("botocore", "pydantic"))
    head = f"Medians of {runs} runs, milliseconds; {machine}, Python {platform.python_version()}, {made_of}."
    names = [
        "operation",
        "CPU",
        "target",
        "wall",
        "calls",
        "the same calls bare",
        "ratio",
        "the last one bare",
    ]
    cells = []
    for case in cases:
        of = measured[case.name]
        cpu = statistics.median(of.cpu)
        ours = [f"{cpu:.2f}", _said(case.target, cpu), f"{statistics.median(of.wall):.2f}", str(of.calls)]
        bare = [f"{of.floor_ms:.2f}", f"{cpu / of.floor_ms:.2f}", f"{of.last_call_ms:.2f}"]
        cells.append([case.name, *ours, *bare])
    layers = sorted({layer for of in measured.values() for layer in of.samples})
    shares = [[layer, *(f"{measured[case.name].share_ms(layer):.2f}" for case in cases)] for layer in layers]
    parts = table(["CPU, ms", *(case.name for case in cases)], shares)
    return "\n\n".join([head, table(names, cells), parts])


def _said(target: Target | None, cpu: float) -> str:
    if target is None:
        return ""
    said = target.verdict(cpu)
    return f"not {target.most:g}: {said}" if said else f"≤ {target.most:g}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200, help="runs of each operation (default: 200)")
    runs: int = parser.parse_args().runs
    console = Console(stderr=True)
    with (
        local_dynamodb() as endpoint,
        fresh_store(TABLE, endpoint=endpoint) as store,
        fresh_store(BARE_TABLE, endpoint=endpoint),
        functions_on(store) as template,
        logging_as_on_lambda(),
    ):
        service = Service(Gateway(template), endpoint)
        cases = cases_of(service)
        measured = measure(service, cases, runs=runs, console=console)
    print(report(cases, measured, runs=runs))


if __name__ == "__main__":
    main()
