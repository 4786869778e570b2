"""What `forklore collect` takes of many sessions: `python -m tools.bench.collecting`.

It writes sessions of Claude Code and Codex, of 200 KB each, into a home folder of its own, and runs
the command on them: for the first time, again, and again after one of them has grown. It prints the
CPU time of each, and how much memory it had.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

Row = dict[str, Any]
TURNS = 30
WORD = "harbour "


def main() -> None:
    """Measure, and print a line for each run."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.collecting", description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home, data = Path(folder, "home"), Path(folder, "data")
        files = [written(home, number) for number in range(asked.sessions)]
        size = sum(path.stat().st_size for path in files)
        print(f"{len(files)} sessions, {size / 1e6:.0f} MB")
        variables = {"HOME": str(home), "PATH": os.environ["PATH"]}
        collect = ["--data", str(data), "--user", "ann", "collect"]
        print(f"the first time: {told(collect, variables)}")
        print(f"again: {told(collect, variables)}")
        with files[0].open("a", encoding="utf-8") as grown:
            grown.writelines(lines(claude_code(0, turns=range(TURNS, TURNS + 1))))
        print(f"after one has grown: {told(collect, variables)}")


def told(arguments: list[str], variables: Mapping[str, str]) -> str:
    """Run a command of forklore, and return what it took. Raises ChildProcessError if it fails."""
    began = time.monotonic()
    forklore = str(Path(sys.executable).parent / "forklore")
    _, status, used = os.wait4(os.posix_spawn(forklore, [forklore, *arguments], variables), 0)
    if status:
        raise ChildProcessError(f"forklore {' '.join(arguments)}: {status}")
    cpu, wall = used.ru_utime + used.ru_stime, time.monotonic() - began
    return f"{cpu:.2f} s of CPU, {wall:.2f} s, {used.ru_maxrss / 1024:.0f} MB of memory"


def written(home: Path, number: int) -> Path:
    """Write a session of 200 KB, and return its file."""
    name = name_of(number)
    if number % 2:
        path = home / f".codex/sessions/2026/11/01/rollout-2026-11-01T10-00-00-{name}.jsonl"
        rows = codex(number)
    else:
        path = home / f".claude/projects/-home-ann-harbour/{name}.jsonl"
        rows = claude_code(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines(rows)), encoding="utf-8")
    return path


def name_of(number: int, row: int = 0) -> str:
    """Return the id of a session, or of one of its rows."""
    return str(UUID(int=(number << 32) + row, version=4))


def lines(rows: Iterator[Row]) -> Iterator[str]:
    """Yield rows as lines."""
    return (json.dumps(row) + "\n" for row in rows)


def at(row: int) -> str:
    """Return when a row was written."""
    return (datetime(2026, 11, 1, 10, tzinfo=UTC) + timedelta(seconds=7 * row)).isoformat()


def claude_code(number: int, turns: range = range(TURNS)) -> Iterator[Row]:
    """Yield the rows of a session of Claude Code: in each turn a call."""
    parent = name_of(number, 4 * turns.start) if turns.start else None
    for turn in turns:
        call = f"toolu_{number}_{turn}"
        asks: Row = {"type": "text", "text": f"{turn}: {WORD * 50}"}
        calls: Row = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": WORD * 30}}
        result: Row = {"type": "tool_result", "tool_use_id": call, "content": WORD * 450}
        said: list[tuple[str, list[Row]]] = [
            ("user", [{"type": "text", "text": f"Question {turn} of {number}. {WORD * 20}"}]),
            ("assistant", [asks, calls]),
            ("user", [result]),
            ("assistant", [{"type": "text", "text": f"Answer {turn}. {WORD * 80}"}]),
        ]
        for step, (role, content) in enumerate(said, 4 * turn + 1):
            name = name_of(number, step)
            message: Row = {"role": role, "content": content}
            if role == "assistant":
                message |= {"id": f"msg_{number}_{step}", "model": "model-1"}
                message |= {"usage": {"input_tokens": 9, "output_tokens": 9}}
            yield {
                "uuid": name,
                "parentUuid": parent,
                "sessionId": name_of(number),
                "type": role,
                "isSidechain": False,
                "timestamp": at(step),
                "cwd": "/home/ann/harbour",
                "version": "2.1.332",
                "message": message,
            }
            parent = name


def codex(number: int) -> Iterator[Row]:
    """Yield the rows of a session of Codex: in each turn a call."""
    about = {"id": name_of(number), "timestamp": at(0), "cwd": "/home/ann/harbour", "cli_version": "0.171.0"}
    yield {"timestamp": at(0), "type": "session_meta", "payload": about}
    for turn in range(TURNS):
        call = f"call_{number}_{turn}"
        asks = {"type": "input_text", "text": f"Question {turn} of {number}. {WORD * 20}"}
        looks = {"type": "output_text", "text": f"{turn}: {WORD * 50}"}
        answers = {"type": "output_text", "text": f"Answer {turn}. {WORD * 80}"}
        arguments = json.dumps({"command": WORD * 30})
        items: list[Row] = [
            {"type": "message", "role": "user", "content": [asks]},
            {"type": "message", "role": "assistant", "content": [looks]},
            {"type": "function_call", "name": "shell", "call_id": call, "arguments": arguments},
            {"type": "function_call_output", "call_id": call, "output": WORD * 450},
            {"type": "message", "role": "assistant", "content": [answers]},
        ]
        for step, item in enumerate(items, 5 * turn + 1):
            row = {"timestamp": at(step), "ordinal": step, "type": "response_item"}
            yield {**row, "payload": {"id": f"item_{number}_{step}", **item}}


if __name__ == "__main__":
    main()
