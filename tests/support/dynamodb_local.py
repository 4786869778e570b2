"""Starts a DynamoDB on this machine for tests, in a process of its own.

DynamoDB Local is Amazon's own and the better stand-in, but it needs Java 17 or newer, and Maven the first
time: it is fetched once into `.cache/dynamodb-local`. moto needs only Python: `local_server.dynamodb`.
"""

import fcntl
import os
import re
import subprocess
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
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tests.support.listening import ServerDidNotStartError, ServerEndedError, on_free_port

VERSION = "2.6.1"
PROJECT = Path(__file__).parents[2]
CACHE = PROJECT / ".cache" / "dynamodb-local"
REQUIRED = "FORKLORE_REQUIRE_DYNAMODB_LOCAL"
"""The variable that lets tests fail, rather than be skipped or use moto, where there is no DynamoDB Local."""
FETCH_SECONDS_MAX = 300.0
START_SECONDS_MAX = 180.0
STOP_SECONDS_MAX = 10.0

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


class DynamoDBLocalMissing(Exception):
    """DynamoDB Local cannot run here; the message is one line and says why."""


@contextmanager
def dynamodb_local() -> Iterator[str]:
    """Yield the address of an empty DynamoDB Local, which ends with the context.

    Clients with any region and any (alphanumeric) access key see the same tables.
    Raises DynamoDBLocalMissing if there is no Java, or it cannot be fetched or started.
    """
    java = which("java")
    if java is None:
        raise DynamoDBLocalMissing("DynamoDB Local needs java on the PATH")
    jars = fetch()
    command = [java, f"-Djava.library.path={jars}", "-cp", f"{jars}/*"]
    command += ["com.amazonaws.services.dynamodbv2.local.main.ServerRunner"]
    command += ["-inMemory", "-sharedDb", "-disableTelemetry", "-port"]
    with ExitStack() as stack:
        try:
            endpoint = stack.enter_context(on_free_port(partial(_server, command)))
        except ServerDidNotStartError as error:
            raise DynamoDBLocalMissing(f"DynamoDB Local {VERSION} did not start: {error}") from error
        yield endpoint


@contextmanager
def moto_server() -> Iterator[str]:
    """Yield the address of an empty moto, as the local server runs it.

    Raises ServerDidNotStartError.
    """
    command = [sys.executable, "-m", "local_server.dynamodb", "--port"]
    with on_free_port(partial(_server, command)) as endpoint:
        yield endpoint


@contextmanager
def dynamodb_local_or_skip() -> Iterator[str]:
    """Yield the address of a DynamoDB Local; on a machine that has none, skip the test or fail it."""
    with ExitStack() as stack:
        try:
            endpoint = stack.enter_context(dynamodb_local())
        except DynamoDBLocalMissing as missing:
            _fail_if_required(missing)
            pytest.skip(f"NOT TESTED on DynamoDB Local: {missing}")
        yield endpoint


@contextmanager
def any_dynamodb() -> Iterator[str]:
    """Yield the address of a DynamoDB Local; on a machine that has none, of a moto, or fail the test."""
    with ExitStack() as stack:
        try:
            endpoint = stack.enter_context(dynamodb_local())
        except DynamoDBLocalMissing as missing:
            _fail_if_required(missing)
            endpoint = stack.enter_context(moto_server())
        yield endpoint


def _fail_if_required(missing: DynamoDBLocalMissing) -> None:
    if os.environ.get(REQUIRED):
        pytest.fail(f"{missing}; install Java 17 and Maven, or unset {REQUIRED}", pytrace=False)


def fetch(cache: Path = CACHE) -> Path:
    """Return the folder of DynamoDB Local's jars and native libraries; Maven fills it the first time.

    Of several processes one lets Maven run, and the others wait: Maven's own folder is not made for more.
    Raises DynamoDBLocalMissing.
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
    """Fill a folder, which is there at the end only. Raises DynamoDBLocalMissing."""
    maven = which("mvn")
    if maven is None:
        raise DynamoDBLocalMissing("DynamoDB Local is not fetched yet, and that needs mvn on the PATH")
    with tempfile.TemporaryDirectory(dir=jars.parent) as folder:
        Path(folder, "pom.xml").write_text(POM)
        command = [maven, "--quiet", "--batch-mode", "-Dstyle.color=never", COPY_DEPENDENCIES]
        with Path(folder, "output").open("w+") as output:
            try:
                run = subprocess.run(
                    [*command, "-DoutputDirectory=jars"],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=FETCH_SECONDS_MAX,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise DynamoDBLocalMissing(f"fetching DynamoDB Local: {error}") from error
            if run.returncode != 0:
                raise DynamoDBLocalMissing(f"Maven cannot fetch DynamoDB Local {VERSION}: {_gist(output)}")
        Path(folder, "jars").rename(jars)


@contextmanager
def _server(command: Sequence[str], port: int) -> Iterator[str]:
    """Yield the address at which `command`, followed by the port, answers ListTables.

    Raises ServerDidNotStartError, with what it printed.
    """
    endpoint = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [*command, str(port)],
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + START_SECONDS_MAX
            while not _lists_tables(endpoint):
                if process.poll() is not None:
                    raise ServerEndedError(_gist(output))
                if time.monotonic() > deadline:
                    raise ServerDidNotStartError(_gist(output))
                time.sleep(0.1)
            yield endpoint
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _lists_tables(endpoint: str) -> bool:
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(connect_timeout=1, read_timeout=5, retries={"total_max_attempts": 1}),
    )
    try:
        client.list_tables()
    except (BotoCoreError, ClientError):
        return False
    finally:
        client.close()
    return True


def _gist(output: IO[str]) -> str:
    """Return the first line that tells of an error, else the last one."""
    output.seek(0)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output.read())
    lines = [line.strip() for line in plain.splitlines() if line.strip()] or ["it printed nothing"]
    return next((line for line in lines if "error" in line.lower()), lines[-1])
