"""Fixtures: the built template, for tests of what is uploaded, and an emulator to deploy it to."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.emulator import EMULATOR, SAM, Emulator, emulator
from tests.support.others import moto

__all__ = ["moto"]

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


@pytest.fixture(scope="module")
def emulated(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """An empty account."""
    if EMULATOR not in os.environ:
        pytest.skip("NOT TESTED on an emulator of CloudFormation: `make deploy-emulated` does")
    folder = tmp_path_factory.mktemp("emulator")
    with emulator(Path(os.environ[EMULATOR]), Path(os.environ[SAM]), folder) as started:
        yield started
