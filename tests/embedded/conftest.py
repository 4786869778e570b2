from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forklore.embedded.journal import Journal
from forklore.embedded.store import Store


class Kept:
    """A store in a file, which can be closed and opened again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal = Journal(path)
        self.store = Store(self.journal)
        self.client: Any = self.store.make_client()

    def again(self) -> "Kept":
        self.store.close()
        return Kept(self.path)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    opened = Kept(tmp_path / "forklore.db")
    yield opened
    opened.store.close()
