"""What the frameworks publish with their tests: source distributions, fetched with pip once."""

import hashlib
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

from tools.harness.local_server import ROOT

CACHE = ROOT / ".cache" / "adapters"


def source_of(distribution: str, *, sha256: str) -> Path:
    """Return the folder of a source distribution, in the version that is installed.

    sha256: of the archive. pip fetches it the first time.
    """
    named = f"{distribution.replace('-', '_')}-{version(distribution)}"
    folder, archive = CACHE / named, CACHE / f"{named}.tar.gz"
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        wanted = f"{distribution}=={version(distribution)}"
        options = ("--no-deps", "--no-binary", ":all:", "--disable-pip-version-check", "--dest", str(CACHE))
        fetch = (sys.executable, "-m", "pip", "download", "--quiet", *options, wanted)
        subprocess.run(fetch, check=True, timeout=300)
        assert hashlib.sha256(archive.read_bytes()).hexdigest() == sha256, f"{archive.name} is another one"
        with tarfile.open(archive) as packed:
            packed.extractall(CACHE, filter="data")
    return folder
