"""What several processes of a local server give: appends at once, how late they come, and memory.

python -m tools.bench.workers [--writers 100] [--readers 0] [--appends 10] [--rounds 3]

One process and two take turns, each on a new folder. Each writer appends to a conversation of its
own, one entry after the other. Idle readers watch a conversation in which nothing happens.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tools.harness.local_server import local_server

WORKERS = (1, 2)
HEADERS = "Host: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer "
TEXT = "x" * 500
ENTRY = {"contentType": "history", "content": [{"role": "USER", "text": TEXT}]}


class Measured(NamedTuple):
    """appends: a second. late_ms: the 99th percentile of an append. memory_mb: of all processes."""

    appends: float
    late_ms: float
    memory_mb: float


class Connection:
    """A kept connection. It does little, as what it asks computes on the same cores."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, user: str) -> None:
        self._reader, self._writer, self._headers = reader, writer, f"{HEADERS}{user}\r\n"

    @classmethod
    async def to(cls, url: str, user: str = "ann") -> "Connection":
        """Connect to a server."""
        place = urlsplit(url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        return cls(reader, writer, user)

    async def ask(self, method: str, path: str, body: object = None) -> bytes:
        """Return the body of an answer. Raises SystemExit for a refusal."""
        status, told = await self.answer(method, path, body)
        if status // 100 != 2:
            raise SystemExit(f"nothing was measured: {method} {path} is {status}")
        return told

    async def answer(
        self, method: str, path: str, body: object = None, headers: str = ""
    ) -> tuple[int, bytes]:
        """Return the status and the body of an answer. headers: more of them, each with its end."""
        sent = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._headers}{headers}Content-Length: {len(sent)}\r\n\r\n"
        self._writer.write(head.encode() + sent)
        told = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(told.partition("content-length: ")[2].partition("\r\n")[0] or 0)
        return int(told.split()[1]), await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()

    async def conversation(self) -> str:
        """Make a conversation; return the path of its entries."""
        made = json.loads(await self.ask("POST", "/v1/conversations", {}))
        return f"/v1/conversations/{made['id']}/entries"


async def appended(connection: Connection, entries: str, number: int) -> list[float]:
    """Append entries; return the seconds that each took."""
    taken = []
    for _ in range(number):
        began = time.perf_counter()
        await connection.ask("POST", entries, ENTRY)
        taken.append(time.perf_counter() - began)
    return taken


async def measure(url: str, *, writers: int, readers: int, appends: int) -> Measured:
    """Return what the server at `url`, which this process has started, does for so many clients."""
    quiet = await (first := await Connection.to(url)).conversation()
    last = json.loads(await first.ask("POST", quiet, ENTRY))["id"]
    [idle, busy] = [[await Connection.to(url) for _ in range(number)] for number in (readers, writers)]
    held = [asyncio.create_task(one.ask("GET", f"{quiet}?afterCursor={last}&wait=20")) for one in idle]
    own = [await one.conversation() for one in busy]
    began = time.perf_counter()
    taken = await asyncio.gather(*(appended(*one, appends) for one in zip(busy, own, strict=True)))
    seconds = time.perf_counter() - began
    memory_mb = sum(memory_of(process) for process in children_of(os.getpid())) / 1000
    for one in held:
        one.cancel()
    late_s = statistics.quantiles([one for each in taken for one in each], n=100)[-1]
    return Measured(writers * appends / seconds, late_s * 1000, memory_mb)


def children_of(process: int) -> Iterator[int]:
    """Return the processes that a process has started, and theirs."""
    for child in map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()):
        yield child
        yield from children_of(child)


def memory_of(process: int) -> float:
    """Return the kilobytes of a process; what several share counts in parts."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("Pss:"))


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, usual in (("writers", 100), ("readers", 0), ("appends", 10), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    chosen = vars(parser.parse_args())
    rounds = chosen.pop("rounds")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    found: dict[int, list[Measured]] = {number: [] for number in WORKERS}
    for _ in range(rounds):
        for number, measured in found.items():
            with tempfile.TemporaryDirectory() as data:
                options = ("--data", data, "--workers", str(number))
                with local_server("forklore_local.server", *options) as url:
                    measured.append(asyncio.run(measure(url, **chosen)))
    print("processes  appends/s  99th percentile, ms  MB")
    for number, measured in found.items():
        one = Measured(*map(statistics.median, zip(*measured, strict=True)))
        print(f"{number:9}  {one.appends:9.0f}  {one.late_ms:19.0f}  {one.memory_mb:3.0f}")


if __name__ == "__main__":
    main()
