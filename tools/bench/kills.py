"""Many writers beside a server that is killed again and again: what is lost, and its memory.

python -m tools.bench.kills [--writers 100] [--seconds 300] [--every 30]

Each writer says 0, 1, 2, … in a conversation of its own. What is not answered is sent again with
its key. At the end each conversation must hold what was acknowledged, each number once and in
order, and `forklore fsck` must find nothing. `--every 0` kills nothing: then the
memory of one server over all the time is seen.
"""

import argparse
import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools.bench.machine import ROOT, Processes, python_of
from tools.bench.workers import Connection
from tools.harness.ports import free_port

PAUSE_S = 0.2
ANSWER_S = 30
SAMPLE_S = 5.0


class Server:
    """A server on a folder, which is started again at the same port."""

    def __init__(self, folder: Path, *, workers: int, log: Path) -> None:
        self.port, self._log = free_port(), log
        options = ["--port", str(self.port), "--workers", str(workers), "--data", str(folder)]
        self._command = [python_of(ROOT), "-m", "forklore_local.server", *options]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def processes(self) -> Processes:
        assert self._process is not None
        return Processes(self._process.pid)

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, cwd=ROOT, stdout=log, stderr=log)

    def end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait()


class Writer:
    """One who says one number after the other. said: how many were acknowledged."""

    def __init__(self, url: str, number: int) -> None:
        self._url, self._user = url, f"user{number}"
        self._connection: Connection | None = None
        self.said = self.repeated = 0
        self.path = ""

    async def ask(self, method: str, path: str, body: object = None, key: str = "") -> Any:
        """Return what is answered. Ask again, with the same key, as long as nothing is."""
        headers = f"Idempotency-Key: {key}\r\n" if key else ""
        while True:
            try:
                if self._connection is None:
                    self._connection = await Connection.to(self._url, self._user)
                asked = self._connection.answer(method, path, body, headers)
                status, told = await asyncio.wait_for(asked, ANSWER_S)
                if status < 400:
                    return json.loads(told)
                if status < 500:
                    raise SystemExit(f"{method} {path} is {status}: {told!r}")
            except (OSError, EOFError, TimeoutError, asyncio.IncompleteReadError):
                pass
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self.repeated += 1
            await asyncio.sleep(PAUSE_S)

    async def write(self, until: float) -> None:
        made = await self.ask("POST", "/v1/conversations", {}, "begin")
        self.path = f"/v1/conversations/{made['id']}/entries"
        while time.monotonic() < until:
            content = [{"role": "USER", "text": f"{self.said}"}]
            entry = {"contentType": "history", "content": content}
            await self.ask("POST", self.path, entry, f"number-{self.said}")
            self.said += 1

    async def read(self) -> list[str]:
        """Return all that the conversation holds, oldest first."""
        found, cursor = list[str](), ""
        while True:
            page = await self.ask("GET", f"{self.path}?limit=500{cursor}")
            found += [one["content"][0]["text"] for one in page["data"]]
            if not page["afterCursor"]:
                return found
            cursor = f"&afterCursor={page['afterCursor']}"


async def disturb(server: Server, writers: list[Writer], every_s: float, until: float) -> int:
    """Kill the server again and again, and print its memory. Return how often it was killed."""
    kills, began, due = 0, time.monotonic(), time.monotonic() + (every_s or float("inf"))
    while time.monotonic() < until:
        await asyncio.sleep(SAMPLE_S)
        with suppress(OSError, StopIteration):
            memory_mb, said = server.processes.memory_mb(), sum(writer.said for writer in writers)
            print(f"{time.monotonic() - began:5.0f} s: {memory_mb:4.0f} MB, {said:,} entries", flush=True)
        if time.monotonic() > due:
            server.end(signal.SIGKILL)
            server.start()
            kills, due = kills + 1, due + every_s
    return kills


async def run(chosen: argparse.Namespace, folder: Path, log: Path) -> bool:
    """Write, kill, read. Return whether nothing is lost."""
    server = Server(folder, workers=chosen.workers, log=log)
    server.start()
    try:
        until = time.monotonic() + chosen.seconds
        writers = [Writer(server.url, number) for number in range(chosen.writers)]
        disturbed = asyncio.create_task(disturb(server, writers, chosen.every, until))
        await asyncio.gather(*(writer.write(until) for writer in writers))
        kills, wrong = await disturbed, 0
        for writer in writers:
            found = await writer.read()
            wrong += found != [str(number) for number in range(writer.said)]
    finally:
        server.end(signal.SIGTERM)
    said, repeated = (sum(getattr(writer, name) for writer in writers) for name in ("said", "repeated"))
    print(
        f"{kills} kills, {said:,} acknowledged, {repeated:,} requests sent again, {wrong} conversations wrong"
    )
    return not wrong


def main() -> None:
    """Print the memory, and what was lost. End with 1 if anything was."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, usual in (("writers", 100), ("seconds", 300), ("every", 30), ("workers", 2)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    chosen = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as made:
        folder, log = Path(made) / "data", Path(made) / "log"
        is_whole = asyncio.run(run(chosen, folder, log))
        command = [python_of(ROOT), "-m", "forklore.cli", "fsck", "--data", str(folder)]
        checked = subprocess.run(command, check=False, cwd=ROOT, env=os.environ)
        bugs = len(re.findall(r"bug", log.read_text(encoding="utf-8")))
        print(f"fsck ends with {checked.returncode}; lines of bugs in the log: {bugs}")
    raise SystemExit(not is_whole or checked.returncode or bool(bugs))


if __name__ == "__main__":
    main()
