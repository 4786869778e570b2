"""The demo against the real local server, in processes of their own."""

import re
import subprocess
import sys

from tools.harness.local_server import ROOT, environment, local_server

RUN_S = 300


def test_the_example_trees_read_back_as_written() -> None:
    with local_server() as server_url:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tools.demo",
                "examples/trees.jsonl",
                "--url",
                server_url,
                "--user",
                "reader",
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment(PYTHONIOENCODING="utf-8"),
            timeout=RUN_S,
            check=False,
        )

    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "tree soup"
    assert re.match(r"\* [0-9a-f]{8} \(", lines[1])
    assert len([line for line in lines if line.startswith("|/") or line.endswith("|/")]) == 7
    assert "\x1b" not in done.stdout
    for line in (
        "trees         3",
        "messages      29",
        "conversations 12",
        "forks         9",
        "paths         12",
    ):
        assert line in lines
    assert lines[-1] == "differences   0"
