"""The recipes: each script prints exactly what the page shows."""

import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator

import pytest

from tools.harness.local_server import ROOT, local_server

PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"`examples/(\w+)\.sh`: .*?```sh\n(.*?)```.*?```text\n(.*?)```", re.DOTALL)
RECIPES = {name: (script, output) for name, script, output in BLOCKS.findall(PAGE)}
"""For each recipe, the script and the output that the page shows."""
SCRIPTS = {path.stem for path in (ROOT / "examples").glob("*.sh")}
RUN_S = 60


@pytest.fixture(scope="module", params=["embedded", pytest.param("DynamoDB Local", marks=pytest.mark.long)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that the recipes share, on either database."""
    of_its_own: dict[str, str] = {}
    if request.param == "DynamoDB Local":
        endpoint: str = request.getfixturevalue("dynamodb_local_endpoint")
        table = f"recipes-{uuid.uuid4()}"
        of_its_own = {"FORKLORE_DYNAMODB_ENDPOINT": endpoint, "FORKLORE_TABLE": table}
    with local_server(**of_its_own) as address:
        yield address


def test_the_page_has_every_script_and_the_readme_names_the_page() -> None:
    assert RECIPES.keys() == SCRIPTS - {"client"}
    assert "docs/recipes.md" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RECIPES)
def test_the_page_shows_the_script_as_it_is(name: str) -> None:
    script = (ROOT / "examples" / f"{name}.sh").read_text(encoding="utf-8")

    assert script.endswith(f'. "$(dirname "$0")/client.sh"\n{RECIPES[name][0]}')


@pytest.mark.skipif(shutil.which("curl") is None, reason="NOT TESTED: the recipes need curl")
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_prints_what_the_page_says(url: str, name: str) -> None:
    done = subprocess.run(
        ["bash", f"examples/{name}.sh"],
        cwd=ROOT,
        env=os.environ | {"FORKLORE_URL": url},  # the script's `python3` may be another one, as in a shell
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )

    assert (done.returncode, done.stderr, done.stdout) == (0, "", RECIPES[name][1])
