"""A DynamoDB on this machine, in a process of its own. Each starts empty and keeps nothing.

DynamoDB Local is Amazon's own and the better stand-in, but it needs Java 17 or newer. Maven fetches
it once, into the folder CACHE. It listens on all addresses of the machine, because it has no option
for another address. The engine of forklore needs only Python.

Either ends when the process that started it ends, even if that process is killed.
"""

import fcntl
import re
import subprocess  # nosec B404 # our own engines
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from shutil import which
from typing import IO

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from forklore_local.server import places
from tools.harness.ports import ServerDidNotStartError, ServerEndedError, on_free_port

VERSION = "2.6.1"
CACHE = places.cache() / "dynamodb-local"
FETCH_SECONDS_MAX = 300.0
START_SECONDS_MAX = 180.0
STOP_SECONDS_MAX = 15.0

COPY_DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
POM = f"""\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>forklore</groupId>
  <artifactId>dynamodb-local</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>com.amazonaws</groupId>
      <artifactId>DynamoDBLocal</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


class EngineMissingError(Exception):
    """An engine cannot run here; the message is one line and says why."""


@contextmanager
def dynamodb_local() -> Iterator[str]:
    """Yield the address of an empty DynamoDB Local, which ends with the context.

    Clients with any region and any (alphanumeric) access key see the same tables.
    Raises EngineMissingError if there is no Java, or it cannot be fetched or started.
    """
    with _served(_command()) as endpoint:
        yield endpoint


@contextmanager
def engine_server() -> Iterator[str]:
    """Yield the address of an empty engine. Raises EngineMissingError if it cannot be started."""
    with _served([sys.executable, "-m", "tools.harness.engine_server"]) as endpoint:
        yield endpoint


@contextmanager
def _served(begin: Sequence[str]) -> Iterator[str]:
    with ExitStack() as stack:
        try:
            endpoint = stack.enter_context(on_free_port(partial(served, begin)))
        except ServerDidNotStartError as error:
            raise EngineMissingError(f"it did not start: {error}") from error
        yield endpoint


@contextmanager
def served(command: Sequence[str], port: int) -> Iterator[str]:
    """Start `command`, followed by the port; yield its address once it answers ListTables.

    Raises ServerDidNotStartError with a line that the command printed.
    """
    endpoint = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile("w+") as output:
        guard = subprocess.Popen(  # nosec B603 # an engine
            [sys.executable, "-m", "tools.harness.guard", *command, str(port)],
            cwd=places.CHECKOUT,  # where `-m` finds tools
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


# DynamoDB Local: where it is


def _command() -> list[str]:
    """Return the command that starts it in memory, without the port.

    Raises EngineMissingError if there is no Java, or it cannot be fetched.
    """
    java = which("java")
    if java is None:
        raise EngineMissingError("DynamoDB Local needs java on the PATH, 17 or newer, and Maven")
    jars = fetch()
    # It lives for minutes: the compiler and the collector for long lives would double its CPU time.
    return [
        *(java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        *(f"-Djava.library.path={jars}", "-cp", f"{jars}/*"),
        *("com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-inMemory"),
        *("-sharedDb", "-disableTelemetry", "-port"),
    ]


def fetch(cache: Path = CACHE) -> Path:
    """Return the folder of DynamoDB Local's jars and native libraries. Maven fills it once.

    If several processes call this, one runs Maven and the others wait. Maven cannot run twice at
    the same time in its folder.
    Raises EngineMissingError.
    """
    jars = cache / VERSION
    if jars.is_dir():
        return jars
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not jars.is_dir():
            _run_maven(jars)
    return jars


def _run_maven(jars: Path) -> None:
    """Make a folder and fill it; it exists only when it is complete. Raises EngineMissingError."""
    maven = which("mvn")
    if maven is None:
        raise EngineMissingError("DynamoDB Local is not fetched yet, and that needs mvn on the PATH")
    with tempfile.TemporaryDirectory(dir=jars.parent) as folder:
        Path(folder, "pom.xml").write_text(POM)
        command = [maven, "--quiet", "--batch-mode", "-Dstyle.color=never", COPY_DEPENDENCIES]
        with Path(folder, "output").open("w+") as output:
            try:
                run = subprocess.run(  # nosec B603 # Maven
                    [*command, "-DoutputDirectory=jars"],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=FETCH_SECONDS_MAX,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise EngineMissingError(f"fetching DynamoDB Local: {error}") from error
            if run.returncode != 0:
                raise EngineMissingError(f"Maven cannot fetch DynamoDB Local {VERSION}: {gist(output)}")
        Path(folder, "jars").rename(jars)
