"""A folder of many users: how large it gets, and what a list, a page, a search and a deletion take.

python -m tools.bench.large [--users 200] [--entries 1000000] [--bytes 20000] [--data DIR]

Each user has an equal part of the entries, in conversations of `--long` entries. A text is of words
that are as frequent as Zipf says. Two processes serve, on a new folder, which takes about half of
`--entries` times `--bytes`. Times are of a client that asks one request after another, and of all
users at once. CPU time is that of all the server's processes.
"""

import argparse
import asyncio
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from tools.bench.machine import ROOT, Processes, server_of
from tools.bench.workers import Connection

AT_ONCE_BYTES, AT_ONCE = 2_000_000, 50
"""Of one append, as the folder is filled."""
FILLERS = 4
WORDS, TEXTS = 20_000, 400
AT_ONCE_S = 20.0
GONE_WITHIN_S = 600


def texts(size: int) -> Sequence[str]:
    """Return some texts of so many characters. The same each time."""
    chance = random.Random(1)
    words = ["".join(chance.choices("etaoinshrdlucmfw", k=chance.randint(2, 11))) for _ in range(WORDS)]
    weights = [1 / rank for rank in range(1, WORDS + 1)]
    return [" ".join(chance.choices(words, weights, k=size // 6 + 1))[:size] for _ in range(TEXTS)]


def entry(text: str) -> object:
    return {"contentType": "history", "content": [{"role": "USER", "text": text}]}


async def fill(url: str, user: str, entries: int, *, long: int, said: Sequence[str]) -> list[str]:
    """Let a user say so many entries. Return the user's conversations."""
    client, made, at_once = await Connection.to(url, user), list[str](), AT_ONCE
    at_once = max(1, min(AT_ONCE, AT_ONCE_BYTES // len(said[0])))
    for start in range(0, entries, long):
        made.append(await client.conversation())
        left = min(long, entries - start)
        while left > 0:
            some = [entry(random.choice(said)) for _ in range(min(at_once, left))]
            await client.ask("POST", made[-1], {"entries": some})
            left -= len(some)
    client.close()
    return made


async def measured(named: str, times: int, processes: Processes, ask: Callable[[], Awaitable[object]]) -> str:
    """Return a row: the CPU time of a request, the median and the longest of its wall times."""
    await ask()
    cpu, walls = processes.cpu_ms(), []
    for _ in range(times):
        began = time.perf_counter()
        await ask()
        walls.append((time.perf_counter() - began) * 1000)
    cpu_ms = (processes.cpu_ms() - cpu) / times
    return f"| {named} | {cpu_ms:.1f} | {statistics.median(walls):.1f} | {max(walls):.0f} |"


async def all_at_once(url: str, owned: dict[str, list[str]], said: Sequence[str]) -> str:
    """Let all users list, read and say something again and again. Return a row."""
    walls: list[float] = []
    until = time.monotonic() + AT_ONCE_S

    async def use(user: str, conversations: Sequence[str]) -> None:
        client = await Connection.to(url, user)
        while time.monotonic() < until:
            chosen = random.choice(conversations)
            for method, path, body in (
                ("GET", "/v1/conversations?limit=20", None),
                ("GET", f"{chosen}?tail=true&limit=20", None),
                ("POST", chosen, entry(random.choice(said))),
            ):
                began = time.perf_counter()
                await client.ask(method, path, body)
                walls.append((time.perf_counter() - began) * 1000)
        client.close()

    await asyncio.gather(*(use(user, conversations) for user, conversations in owned.items()))
    late = statistics.quantiles(walls, n=100)[-1]
    rate = len(walls) / AT_ONCE_S
    return (
        f"all users at once: {rate:.0f} requests a second,"
        f" median {statistics.median(walls):.0f} ms, 99th percentile {late:.0f} ms"
    )


def items_of(folder: Path, tree: str) -> int:
    with closing(sqlite3.connect(f"file:{folder / 'forklore.db'}?mode=ro", uri=True)) as database:
        [(number,)] = database.execute("SELECT count(*) FROM item WHERE PK = ?", (tree,))
    return int(number)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def rows(folder: Path, url: str, processes: Processes, chosen: argparse.Namespace) -> None:
    """Fill the folder, and print what its requests take."""
    said, users = texts(chosen.bytes), [f"user{number}" for number in range(chosen.users)]
    waiting, owned = list(users), dict[str, list[str]]()
    print(f"memory at the start: {processes.memory_mb():.0f} MB", flush=True)
    began, cpu = time.monotonic(), processes.cpu_ms()

    async def filler() -> None:
        while waiting:
            user = waiting.pop()
            entries = chosen.entries // chosen.users
            owned[user] = await fill(url, user, entries, long=chosen.long, said=said)

    await asyncio.gather(*(filler() for _ in range(FILLERS)))
    seconds = time.monotonic() - began
    print(
        f"filled: {chosen.entries / seconds:.0f} entries a second,"
        f" {(processes.cpu_ms() - cpu) / chosen.entries:.2f} ms of CPU time for one;"
        f" folder: {size_of(folder) / 1e9:.2f} GB; memory: {processes.memory_mb():.0f} MB",
        flush=True,
    )
    client = await Connection.to(url, users[0])
    own = owned[users[0]]
    root = own[0].split("/")[3]
    middle = (
        json.loads(await client.ask("GET", f"{own[0]}?limit={min(500, chosen.long // 2)}"))["afterCursor"]
        or ""
    )
    rare = said[0].split()[-2]

    def search(query: str, **more: str) -> Callable[[], Awaitable[object]]:
        return lambda: client.ask("POST", "/v1/conversations/search", {"query": query, **more})

    print("| | CPU ms | wall ms | longest |", "|---|---|---|---|", sep="\n")
    for named, times, ask in (
        ("list of 50 conversations", chosen.asks, lambda: client.ask("GET", "/v1/conversations?limit=50")),
        ("newest 20", chosen.asks, lambda: client.ask("GET", f"{own[-1]}?tail=true&limit=20")),
        (
            "20 in the middle",
            chosen.asks,
            lambda: client.ask("GET", f"{own[0]}?limit=20&afterCursor={middle}"),
        ),
        ("append", chosen.asks, lambda: client.ask("POST", own[-1], entry(said[0]))),
        ("search in one conversation", max(1, chosen.asks // 8), search(rare, conversationId=root)),
        ("search in all", max(1, chosen.asks // 8), search(rare)),
    ):
        print(await measured(named, times, processes, ask), flush=True)
    before = items_of(folder, root)
    began, cpu = time.perf_counter(), processes.cpu_ms()
    await client.ask("DELETE", f"/v1/conversations/{root}?forGood=true")
    answered_ms = (time.perf_counter() - began) * 1000
    while (left := items_of(folder, root)) and time.perf_counter() < began + GONE_WITHIN_S:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    print(
        f"deletion of a tree of {before:,} items: answered in {answered_ms:.0f} ms; gone after"
        f" {time.perf_counter() - began:.1f} s, of which it waits 1, with"
        f" {processes.cpu_ms() - cpu:.0f} ms of CPU time; {left} left",
        flush=True,
    )
    owned[users[0]] = own[1:] or [await client.conversation()]
    print(
        await all_at_once(url, owned, said), f"memory: {processes.memory_mb():.0f} MB", sep="; ", flush=True
    )


def folders(chosen: Path | None) -> Iterator[Path]:
    if chosen is not None:
        yield chosen
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, usual in (("users", 200), ("entries", 1_000_000), ("bytes", 20_000), ("long", 100)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--asks", type=int, default=40, help="how often each request is sent")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--data", type=Path, help="a new folder (default: a temporary one)")
    chosen = parser.parse_args()
    for folder in folders(chosen.data):
        with server_of(ROOT, chosen.workers, data=folder, FORKLORE_DELETE_WAIT_SECONDS="1") as (
            url,
            processes,
        ):
            asyncio.run(rows(folder, url, processes, chosen))
        began = time.perf_counter()
        with server_of(ROOT, 1, data=folder) as (url, _processes):
            print(f"started again: it listens after {time.perf_counter() - began - 1:.1f} s at most")


if __name__ == "__main__":
    main()
