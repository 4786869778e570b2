"""A home folder with sessions of real programs, and a store."""

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import forklore
from tests.clients.cli.running import Forklore
from tests.clients.importing.formats.shapes import database_of

FIXTURES = Path(__file__).parents[1] / "importing" / "programs"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of data that this process has opened."""
    made = tmp_path_factory.mktemp("data")
    with forklore.Forklore.local(user="nobody", data=made):
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with the sessions of Claude Code and Codex."""
    made = tmp_path / "home"
    shutil.copytree(FIXTURES / "claude-code", made / ".claude")
    shutil.copytree(FIXTURES / "codex", made / ".codex")
    return made


@pytest.fixture
def logs(home: Path) -> Path:
    """The database of llm, with its sessions."""
    return database_of(FIXTURES / "llm/logs.sql", home / ".config/io.datasette.llm/logs.db")


@pytest.fixture
def run(folder: Path, home: Path) -> Forklore:
    """Run command lines as a user of the test's own, with that home folder."""
    places = dict.fromkeys(("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), "")
    places |= dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME", "LLM_USER_PATH", "PAGER"), "")
    user = f"ann-{uuid.uuid4().hex[:8]}"
    return Forklore(("--data", str(folder), "--user", user), {**places, "HOME": str(home)})
