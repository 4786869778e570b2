"""The examples with curl: each script prints exactly what stands beside it."""

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.samples import drawn
from tools.harness.local_server import ROOT, local_server

SCRIPTS = sorted({path.stem for path in (ROOT / "examples").glob("*.sh")} - {"client"})
RUN_S = 180


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server that the scripts share."""
    with local_server() as address:
        yield address


def test_the_page_names_every_example() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    scripts = {path.name for path in (ROOT / "examples").iterdir() if path.suffix in (".py", ".sh")}

    assert {name for name in scripts if f"(../examples/{name})" not in page} == set()


@pytest.mark.skipif(shutil.which("curl") is None, reason="NOT TESTED: the scripts need curl")
@pytest.mark.parametrize("name", drawn(SCRIPTS, 4))
def test_a_script_prints_what_stands_beside_it(url: str, name: str) -> None:
    done = subprocess.run(
        ["bash", f"examples/{name}.sh"],
        cwd=ROOT,
        env=os.environ | {"FORKLORE_URL": url},  # the script's `python3` may be another one, as in a shell
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )

    expected = (ROOT / "examples" / f"{name}.sh.out").read_text(encoding="utf-8")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", expected)
