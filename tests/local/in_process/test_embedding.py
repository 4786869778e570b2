"""The vectors of a whole folder: they are counted, and made anew; one that is killed goes on."""

from pathlib import Path

import pytest

from forklore import Forklore
from forklore_local.embedded.engine import NAME, Engine
from forklore_local.in_process import embedding as rebuilding
from forklore_local.in_process.embedding import Embedding
from forklore_local.in_process.folder import DataError
from forklore_local.in_process.opened import open_database
from tests.service.reliability.intact import assert_intact
from tests.support import tables
from tests.support.meaning import vectors_of

TOPICS, OTHER = "tests.support.meaning:vectors_of", "tests.support.meaning:by_length"
TEXTS = {"The inn.", "A hotel.", "A train.", "Sardine."}
"""What somebody shows and may be found. What nobody shows any more gets no vector."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with trees of two users, a removed branch, and an entry without text."""
    with Forklore.local(user="ann", client="planner", data=tmp_path) as fl:
        chat = fl.conversation()
        anchor = chat.say("user", "The inn.")
        chat.say("tool", " ")
        removed = chat.fork(after=anchor)
        shown = removed.say("ai", "A hotel.")
        removed.fork(after=shown).say("ai", "A train.")
        removed.say("ai", "What nobody shows.")
        removed.delete()
        fl.acting_as("bob").conversation().say("user", "Sardine.")
    return tmp_path


class KilledError(Exception):
    """The process ends here."""


def counted(folder: Path, named: str) -> tuple[int, int, list[int]]:
    with Embedding(folder, named) as embedding:
        found = embedding.count()
    return found.embedded, found.waiting, [*found.others.values()]


def rebuild(folder: Path, named: str, *, steps: int = 99) -> int:
    """Make vectors; after some steps the process is killed. Return of how many it has told."""
    told: list[int] = []

    def done(more: int) -> None:
        told.append(more)
        if len(told) == steps:
            raise KilledError

    with Embedding(folder, named) as embedding:
        embedding.rebuild(done)
    return sum(told)


def test_one_that_is_killed_goes_on_also_with_another_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "ENTRIES_AT_ONCE", 1)
    assert counted(folder, TOPICS) == (0, len(TEXTS), [])
    assert rebuild(folder, TOPICS) == len(TEXTS)
    assert (counted(folder, TOPICS), counted(folder, OTHER)) == ((4, 0, []), (0, 4, [4]))
    with pytest.raises(KilledError):
        rebuild(folder, OTHER, steps=1)
    assert (counted(folder, TOPICS), counted(folder, OTHER)) == ((3, 1, [1]), (1, 3, [3]))
    assert rebuild(folder, OTHER) == 3
    assert (counted(folder, OTHER), rebuild(folder, OTHER)) == ((4, 0, []), 0)
    assert rebuild(folder, TOPICS) == 4

    database = open_database(folder)
    try:
        assert_intact(tables.Store(Engine(database), NAME, database=database))
    finally:
        database.close()


def test_a_recall_after_it_makes_no_vector(folder: Path) -> None:
    rebuild(folder, TOPICS)
    asked: list[str] = []

    def model(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return vectors_of(texts)

    with Forklore.local(user="ann", data=folder, recall=model) as fl:
        assert [hit.line.text for hit in fl.recall("lodging", limit=2)] == ["A hotel.", "The inn."]
    assert not TEXTS & {*asked}


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("wordllama-2", "there is no model"),
        ("tests.support.meaning:nothing", "cannot be imported"),
        ("tests.support.meaning:TOPICS", "is no function"),
        (":", "cannot be imported"),
    ],
)
def test_what_is_no_model_is_told(folder: Path, named: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        Embedding(folder, named)


def test_a_folder_without_data_is_told_and_a_model_that_fails(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no data"):
        Embedding(tmp_path / "other", TOPICS)
    with Embedding(folder, "builtins:len") as embedding, pytest.raises(DataError, match="model of recall"):
        embedding.count()
