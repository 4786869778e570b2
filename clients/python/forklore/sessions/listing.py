"""Reads sessions to list them, and finds those of any folder by their content."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from forklore.importing.file_records import records_of
from forklore.importing.files import read_file
from forklore.importing.foreign_trees import (
    ForeignTree,
    ImportReport,
    MalformedFileError,
    NoConversationError,
    UnknownFormatError,
)
from forklore.importing.readers import format_of, format_of_database
from forklore.importing.sources import is_database
from forklore.importing.unpacking import unpacked
from forklore.sessions.finding import SessionFile, with_looks
from forklore.sessions.programs import PROGRAMS, Program


def files_in(folder: Path, programs: Iterable[Program] = PROGRAMS) -> Iterator[SessionFile]:
    """Yield the files in a folder, at any depth, whose content is that of a program's sessions.

    One that may not be read is among them, as who reads it tells that.
    """
    programs, found = [*programs], dict[str, list[Path]]()
    for path in folder.rglob("*"):
        if path.suffix in _ENDINGS and os.path.isfile(path):  # noqa: PTH113 - no error in a closed folder
            try:
                name = _format_of(path)
            except OSError:
                name = programs[0].name
            found.setdefault(name or "", []).append(path)
    for program in programs:
        paths = found.get(program.name, [])
        parts = {part for path in paths for part in program.parts_of(path) if part != path}
        yield from with_looks(program, (path for path in paths if path not in parts))


_ENDINGS = (".json", ".jsonl", ".zst", ".db", ".sqlite", ".sqlite3")
_LOOKED_AT = 20
"""So many of a file's first values tell its format."""


def _format_of(path: Path) -> str | None:
    """Return the format of a file. Raises OSError if it may not be read."""
    with suppress(MalformedFileError, UnknownFormatError, sqlite3.Error):
        if is_database(path):
            with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
                return format_of_database(database)
        with path.open("rb") as stream:
            values = islice(records_of(unpacked(stream)), _LOOKED_AT)
            return next((kind for one in values if (kind := format_of(one.value))), None)
    return None


@dataclass(slots=True)
class Session:
    """A session, as `forklore sessions` lists it. last: when something was last said, RFC 3339."""

    program: str
    session: str
    project: str
    title: str
    messages: int
    branches: int
    last: str


@dataclass(slots=True)
class Listing:
    """What a list of sessions has found. unread: files that could not be read, and why."""

    unread: list[str] = field(default_factory=list)

    def sessions(self, file: SessionFile) -> Iterator[Session]:
        """Yield the sessions of a file."""
        try:
            for tree in read_file(file.path, ImportReport(), given=file.program.name):
                if isinstance(tree, ForeignTree):
                    yield _session(file, tree)
        except NoConversationError:
            return
        except (MalformedFileError, OSError) as error:
            self.unread.append(f"{file.path}: {error}")


def _session(file: SessionFile, tree: ForeignTree) -> Session:
    own = [message for message in tree.messages if not message.is_child]
    leaves = sum(1 for message in own if not message.replies)
    last = max((message.said_at or "" for message in tree.messages), default="")
    project = Path(getattr(tree, "project", "")).name
    title = tree.title or next((_words(one.content) for one in own if one.role == "USER"), "")
    return Session(file.program.name, tree.tree_id, project, title, len(own), leaves, last)


def _words(content: Mapping[str, object]) -> str:
    return " ".join(str(content.get("text", "")).split())[:60]
