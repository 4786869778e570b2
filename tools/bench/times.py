"""What a request costs a warm process: its CPU time, beside that of the same DynamoDB calls alone.

python -m tools.bench.times [--runs 200]

Each request goes through a function's handler, as the event that API Gateway makes of it. The table
is on DynamoDB Local, a process of its own, whose work does not count.

After each request a plain boto3 client makes the same calls on a second table with the same items
("bare"). Log lines are made and thrown away. Fails where a time misses its target.
"""

import argparse
import gc
import json
import logging
import os
import random
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import boto3
from botocore import xform_name
from rich.console import Console
from rich.progress import track

from forklore_local.server.invocation import LambdaContext, load_handler
from forklore_local.server.log import JsonLines
from forklore_local.server.routing import Function
from forklore_service.aws.wiring import open_table
from tools.bench.local import local_dynamodb
from tools.bench.shapes import Texts
from tools.harness.functions import functions_on
from tools.harness.gateway import Gateway, credentials
from tools.harness.tables import fresh_store

TABLE, BARE_TABLE = "forklore", "bare"
WARM_UP_RUNS = 20
PAGES, PAGE_ENTRIES = 4, 50


@dataclass(frozen=True)
class Timed:
    """An operation to measure.

    event: makes its next request. target_ms: the maximum of its CPU time.
    """

    name: str
    event: Callable[[], tuple[Function, dict[str, Any]]]
    target_ms: float | None = None


class TimedService:
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

    def answer(self, function: Function, event: dict[str, Any]) -> tuple[Any, float]:
        """Return the answer's body, and the milliseconds of CPU time."""
        handler, context = load_handler(function), LambdaContext(function)
        cpu = time.process_time_ns()
        answer = handler(event, context)
        cpu = time.process_time_ns() - cpu
        if answer["statusCode"] >= 300:
            raise SystemExit(f"nothing was measured: {answer['statusCode']} {answer['body']}")
        return json.loads(answer["body"]), cpu / 1e6

    def repeat_calls(self) -> float:
        """Repeat the calls since the last time, bare; return the milliseconds of CPU."""
        taken = 0
        for name, given in self._made:
            params = _renamed(given, {TABLE: BARE_TABLE})
            params.pop(
                "ClientRequestToken", None
            )  # it belongs to the first of the two calls; boto3 makes another one
            call = getattr(self._bare, xform_name(name))
            cpu = time.process_time_ns()
            call(**params)
            taken += time.process_time_ns() - cpu
        self._made.clear()
        return taken / 1e6


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


def cases_of(service: TimedService) -> list[Timed]:
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
            answer, _ = service.answer(*service.event("POST", f"{path}/entries", body=body))
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
        Timed("append of 1 KB", append, 3),
        Timed("the same with an Idempotency-Key", lambda: append("Idempotency-Key", str(uuid.uuid4()))),
        Timed("newest page of 50 × 1 KB", lambda: page(small), 8),
        Timed("newest page of 50 × 4 KB", lambda: page(large)),
        Timed("get a conversation", lambda: service.event("GET", small)),
        Timed("fork at an entry", fork),
    ]


def measure(service: TimedService, cases: Sequence[Timed], *, runs: int) -> dict[str, tuple[float, float]]:
    """Return the median milliseconds of each case, by its name, and those of the bare calls.

    The cases take turns, so that load affects all alike.
    """
    times: dict[str, list[tuple[float, float]]] = {case.name: [] for case in cases}
    gc.freeze()
    for run in track(range(-WARM_UP_RUNS, runs), "Measuring", console=Console(stderr=True), transient=True):
        for case in cases:
            _, cpu = service.answer(*case.event())
            bare = service.repeat_calls()
            if run >= 0:
                times[case.name].append((cpu, bare))
    return {name: tuple(map(statistics.median, zip(*taken, strict=True))) for name, taken in times.items()}


@contextmanager
def logging_as_on_lambda() -> Iterator[None]:
    """Format forklore's log lines as Lambda's runtime does, and throw them away."""
    with Path(os.devnull).open("w") as nowhere:
        handler = logging.StreamHandler(nowhere)
        handler.setFormatter(JsonLines())
        log = logging.getLogger("forklore")
        with mock.patch.multiple(log, handlers=[handler], level=logging.INFO, propagate=False):
            yield


def main() -> int:
    """Return 1 if a case takes longer than its target."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200, help="runs of each operation (default: 200)")
    runs: int = parser.parse_args().runs
    with (
        local_dynamodb() as endpoint,
        fresh_store(TABLE, endpoint=endpoint) as store,
        fresh_store(BARE_TABLE, endpoint=endpoint),
        functions_on(store) as template,
        logging_as_on_lambda(),
    ):
        service = TimedService(Gateway(template), endpoint)
        cases = cases_of(service)
        times = measure(service, cases, runs=runs)
    is_late = False
    print(f"{'ms CPU, medians':<34}  ours  bare  ratio  target")
    for case in cases:
        cpu, bare = times[case.name]
        target = "" if case.target_ms is None else f"{case.target_ms:6.1f}"
        late = case.target_ms is not None and cpu > case.target_ms
        is_late = is_late or late
        print(f"{case.name:<34} {cpu:5.2f} {bare:5.2f} {cpu / bare:6.2f}  {target}{' missed' * late}")
    return int(is_late)


if __name__ == "__main__":
    sys.exit(main())
