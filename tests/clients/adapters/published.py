"""What the frameworks publish with their tests: source distributions, fetched with pip once."""

import fcntl
import hashlib
import os
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.harness.local_server import ROOT

CACHE = ROOT / ".cache" / "adapters"
FETCH_S = 300


def source_of(distribution: str, *, sha256: str) -> Path:
    """Return the folder of a source distribution, in the version that is installed.

    sha256: of the archive; of another version than the locked one it is not known. pip fetches it
    the first time.
    """
    named = f"{distribution.replace('-', '_')}-{version(distribution)}"
    folder = CACHE / named
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests of several processes need it at the same time
        if not folder.is_dir():
            with TemporaryDirectory(dir=CACHE) as made:
                _fetch(distribution, Path(made), sha256=sha256)
                Path(made, named).rename(folder)
    return folder


def _fetch(distribution: str, into: Path, *, sha256: str) -> None:
    """Unpack a source distribution into a folder.

    pip asks its build system for its metadata: with wheels of that one it takes seconds.
    """
    options = ("--no-deps", "--no-binary", distribution, "--disable-pip-version-check", "--dest", str(into))
    wanted = f"{distribution}=={version(distribution)}"
    fetch = (sys.executable, "-m", "pip", "download", "--quiet", *options, wanted)
    for is_last in (False, False, True):  # a connection may stall
        try:
            subprocess.run(fetch, check=True, timeout=FETCH_S)
            break
        except subprocess.SubprocessError:
            if is_last:
                raise
    [archive] = into.glob("*.tar.gz")
    is_locked = "FORKLORE_TEST_NEWEST" not in os.environ
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert digest == sha256 or not is_locked, f"{archive.name} is another one"
    with tarfile.open(archive) as packed:
        packed.extractall(into, filter="data")
