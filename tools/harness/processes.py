"""A DynamoDB in a process of its own.

It ends when the process that started it ends, even if that process is killed.
"""

import re
import subprocess  # nosec B404 # our own engines
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from forklore_local.server.places import CHECKOUT
from tools.harness.ports import ServerDidNotStartError, ServerEndedError

START_SECONDS_MAX = 180.0
STOP_SECONDS_MAX = 15.0


class EngineMissingError(Exception):
    """An engine cannot run here; the message is one line and says why."""


@contextmanager
def served(command: Sequence[str], port: int) -> Iterator[str]:
    """Start `command`, followed by the port; yield its address once it answers ListTables.

    Raises ServerDidNotStartError with a line that the command printed.
    """
    endpoint = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile("w+") as output:
        guard = subprocess.Popen(  # nosec B603 # an engine
            [sys.executable, "-m", "tools.harness.guard", *command, str(port)],
            cwd=CHECKOUT,  # where `-m` finds tools
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl+C must not end this: the server's last requests need it
        )
        try:
            deadline = time.monotonic() + START_SECONDS_MAX
            while not _lists_tables(endpoint):
                if guard.poll() is not None:
                    raise ServerEndedError(gist(output))
                if time.monotonic() > deadline:
                    raise ServerDidNotStartError(gist(output))
                time.sleep(0.1)
            yield endpoint
        finally:
            assert guard.stdin
            guard.stdin.close()
            guard.wait(STOP_SECONDS_MAX)


def _lists_tables(endpoint: str) -> bool:
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",  # nosec B106 # none
        config=Config(connect_timeout=1, read_timeout=5, retries={"total_max_attempts": 1}),
    )
    try:
        client.list_tables()
    except (BotoCoreError, ClientError):
        return False
    finally:
        client.close()
    return True


def gist(output: IO[str]) -> str:
    """Return the first line that mentions an error, or else the last line."""
    output.seek(0)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output.read())
    lines = [line.strip() for line in plain.splitlines() if line.strip()] or ["it printed nothing"]
    return next((line for line in lines if "error" in line.lower()), lines[-1])
