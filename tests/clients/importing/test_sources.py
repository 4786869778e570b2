"""What a reader gets beside the values of its file, and what proves a format."""

import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from forklore.importing import readers
from forklore.importing.files import read_file
from forklore.importing.foreign_trees import ForeignTree, ImportReport, MalformedFileError
from forklore.importing.plain_conversations import Conversation, Message
from forklore.importing.readers import Importer
from forklore.importing.sources import Source


def read_notes(source: Source, _report: ImportReport) -> Iterator[Conversation]:
    """Read a file of notes, with its title beside it, or a database of notes."""
    if source.database is not None:
        notes = [row["text"] for row in source.database.execute("SELECT text FROM notes ORDER BY at")]
        yield conversation("database", None, notes)
    for record in source:
        titles = [source.values(name)[0]["title"] for name in source.beside(f"about/{source.path.stem}.json")]
        yield conversation(source.path.stem, titles[0] if titles else None, record.value["notes"])


def conversation(name: str, title: str | None, notes: list[str]) -> Conversation:
    messages = [
        Message(id=f"{at}", parent=f"{at - 1}" if at else None, role="user", said=[note])
        for at, note in enumerate(notes)
    ]
    return Conversation(id=name, title=title, messages=messages)


NOTES = Importer(
    "notes", "notes", lambda value: "notes" in value, read_notes, tables={"notes": ("text", "at")}
)


@pytest.fixture(autouse=True)
def notes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the notes be a format."""
    monkeypatch.setattr(readers, "BUILT_IN", (*readers.BUILT_IN, NOTES))
    readers.importers.cache_clear()
    yield
    readers.importers.cache_clear()


def told(path: Path, report: ImportReport | None = None) -> list[Any]:
    trees = [one for one in read_file(path, report or ImportReport()) if isinstance(one, ForeignTree)]
    return [(tree.tree_id, tree.title, [message.text for message in tree.messages]) for tree in trees]


FOLDER = {
    "a.json": {"notes": ["x", "y"]},
    "about/a.json": {"title": "Letters"},
    "about/b.json": {"title": "of none"},
}


def test_a_reader_finds_what_stands_beside_its_file(tmp_path: Path) -> None:
    folder, archive = tmp_path / "folder", tmp_path / "archive.zip"
    (folder / "about").mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as writing:
        for name, value in FOLDER.items():
            (folder / name).write_text(json.dumps(value))
            writing.writestr(name, json.dumps(value))
    for path in (folder, archive):
        report = ImportReport()

        assert told(path, report) == [("a", "Letters", ["x", "y"])]
        assert report.lines() == ["file without conversations: 1 (about/b.json)"]
    assert told(folder / "a.json") == [("a", "Letters", ["x", "y"])]


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_is_read_as_its_program_has_just_written_it(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "store" / "notes.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as program:
        program.execute(f"PRAGMA journal_mode = {mode}")
        program.execute("CREATE TABLE notes (text TEXT, at INTEGER)")
        program.executemany("INSERT INTO notes VALUES (?, ?)", [("later", 2), ("first", 1)])
        program.commit()

        assert told(path) == [("database", None, ["first", "later"])]
        assert told(path.parent) == [("database", None, ["first", "later"])]
        program.execute("INSERT INTO notes VALUES ('now', 3)")  # nobody holds it back
        program.commit()
    assert told(path) == [("database", None, ["first", "later", "now"])]


def test_a_database_of_no_program_is_refused_and_in_a_folder_counted(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as database:
        database.execute("CREATE TABLE notes (words TEXT)")
        database.commit()
    (tmp_path / "a.json").write_text(json.dumps({"notes": ["x"]}))
    report = ImportReport()

    with pytest.raises(MalformedFileError, match=r"^a SQLite database of no program that is known"):
        told(tmp_path / "other.db")
    assert told(tmp_path, report) == [("a", None, ["x"])]
    assert report.lines() == ["file without conversations: 1 (other.db)"]


def test_two_formats_that_take_a_file_for_theirs_are_told(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps({"notes": ["x"], "mapping": {}}))

    with pytest.raises(MalformedFileError, match=r"looks like a file of chatgpt and of notes: --format says"):
        told(path)
    assert [tree.tree_id for tree in read_file(path, ImportReport(), given="notes")] == ["file"]


def test_a_general_format_stands_behind_one_that_is_proved(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps({"notes": ["x"], "messages": [{"role": "user", "content": "y"}]}))

    assert told(path) == [("file", None, ["x"])]
