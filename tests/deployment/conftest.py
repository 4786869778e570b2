"""Fixture: the built template, for tests of what is uploaded."""

import os
from pathlib import Path

import pytest

BUILD = "FORKLORE_BUILD"


@pytest.fixture(scope="session")
def build() -> Path:
    """The folder that `sam build` wrote, named by FORKLORE_BUILD. Without it, skip the test.

    There is no default folder, because it could be an old build.
    """
    named = os.environ.get(BUILD)
    if not named:
        pytest.skip(f"NOT TESTED on what is built: `make test-deployment` builds it and sets {BUILD}")
    folder = Path(named).resolve()
    assert (folder / "template.yaml").is_file(), f"{BUILD} names no build: {folder}"
    return folder
