"""DynamoDB Local, Amazon's own emulator: where it is, and how it is started.

It needs Java 17 or newer. Maven fetches it once, into the folder CACHE.
It listens on all addresses of the machine, because it has no option for another address.
"""

import fcntl
import subprocess  # nosec B404 # our own engines
import tempfile
from pathlib import Path
from shutil import which

from forklore_local.server import places
from tools.harness.processes import EngineMissingError, gist

VERSION = "2.6.1"
CACHE = places.cache() / "dynamodb-local"
FETCH_SECONDS_MAX = 300.0

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


def command() -> list[str]:
    """Return the command that starts it in memory, without the port.

    Raises EngineMissingError if there is no Java, or it cannot be fetched.
    """
    java = which("java")
    if java is None:
        raise EngineMissingError("DynamoDB Local needs java on the PATH, 17 or newer, and Maven")
    jars = fetch()
    return [
        *(java, f"-Djava.library.path={jars}", "-cp", f"{jars}/*"),
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
