"""Processes that tests start: local servers and writers on one table. They end with the context."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.machine_clock import MachineClock

PROJECT = Path(__file__).parents[2]
STOP_SECONDS_MAX = 10.0
API_KEYS = {"planner": "key of planner", "coder": "key=of=coder"}
"""The API key of each client that the servers know."""

ROLES = {"the-admin": frozenset({"admin", "auditor"}), "the-auditor": frozenset({"auditor"})}
"""The roles of users that the servers know."""

HIDDEN = {"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
"""The developer's variables that would send requests away from this machine, in any case."""

Process = subprocess.Popen[str]


@contextmanager
def started(
    module: str, *arguments: str, endpoint: str, table: str, attachments: str = ""
) -> Iterator[Process]:
    """Start a module of the tests on a table, and end it with the context.

    It also ends by itself when this process is gone. attachments: the folder of their bytes; empty:
    one of its own.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=PROJECT,
        env=environment(endpoint, table) | {"FORKLORE_ATTACHMENTS": attachments},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()


def environment(endpoint: str, table: str) -> dict[str, str]:
    """Return the environment of a process: inherited variables, and the address of its table."""
    inherited = {name: value for name, value in os.environ.items() if name.upper() not in HIDDEN}
    return inherited | {
        "FORKLORE_DYNAMODB_ENDPOINT": endpoint,
        "FORKLORE_TABLE": table,
        "FORKLORE_API_KEYS": ",".join(f"{client}={key}" for client, key in API_KEYS.items()),
        "FORKLORE_ADMINS": "the-admin",
        "FORKLORE_AUDITORS": "the-auditor",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": "us-east-1",
        "PYTHONUNBUFFERED": "1",
    }


@contextmanager
def local_servers(clocks: Sequence[MachineClock], *, endpoint: str, table: str) -> Iterator[list[str]]:
    """Yield the addresses of local servers on one table, one for each clock, in that order."""
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        processes = [
            stack.enter_context(
                started(
                    "tests.support.server",
                    *clock.arguments,
                    endpoint=endpoint,
                    table=table,
                    attachments=folder,
                )
            )
            for clock in clocks
        ]
        yield [_url(process) for process in processes]


def _url(process: Process) -> str:
    assert process.stdout
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found[0]
    raise AssertionError(f"the local server ended with {process.wait(STOP_SECONDS_MAX)} before it listened")
