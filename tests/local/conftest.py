"""An engine in a file, which can be closed and opened again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from forklore_local.embedded.engine import Engine
from forklore_local.in_process.opened import open_database


class Kept:
    """An engine in a folder, which can be closed and opened again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = open_database(folder)
        self.client = Engine(self.database)

    def again(self) -> "Kept":
        self.database.close()
        return Kept(self.folder)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    opened = Kept(tmp_path)
    yield opened
    opened.database.close()
