"""What a reader reads at once: the values of a file, and what stands beside it.

A file of a folder or an archive is called by its path from there, with `/`. One that is read alone
may look at what stands in its own folder.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from forklore.importing.file_records import FileRecord, UnfinishedError, records_of
from forklore.importing.foreign_trees import ImportReport, MalformedFileError, Reason
from forklore.importing.unpacking import PACKED

SQLITE = b"SQLite format 3\0"
FOLDERS_ABOVE = 2
"""In so many folders above its own a file that is read alone may look."""


@dataclass(slots=True)
class Source:
    """A file, as a reader gets it. To iterate over it yields its values; a database has none.

    name: its path. database: the connection to it, which only reads, if it is one. taken: the names
    of the files beside it that were read; parts: of these, what is a part of it. named: returns the
    names that are there by a pattern. opened: opens one of them. report: gets what is broken in one
    of them.
    """

    records: Iterable[FileRecord] = ()
    name: str = ""
    database: sqlite3.Connection | None = None
    taken: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    named: Callable[[PurePosixPath], Iterable[str]] = lambda _pattern: ()
    opened: Callable[[str], Any] | None = None
    report: ImportReport = field(default_factory=ImportReport)

    def __iter__(self) -> Iterator[FileRecord]:
        return iter(self.records)

    @property
    def path(self) -> PurePosixPath:
        """The file's path, as if it were not packed; its `stem` and its `parent.name` often say
        something."""
        return PurePosixPath(self.name.removesuffix(PACKED))

    def beside(self, pattern: str) -> list[str]:
        """Return the names of other files, by a pattern from the file's own folder on.

        pattern: as `*.json`, `subagents/agent-*.jsonl` or `../state.json`. `*` is no `/`.
        """
        parts: list[str] = []
        for part in (self.path.parent / pattern).parts:
            if part != "..":
                parts.append(part)
            elif parts:
                parts.pop()
        return sorted({*self.named(PurePosixPath(*parts))} - {self.name})

    def text(self, name: str) -> str:
        """Return the text of a file that `beside` has named, without what is not UTF-8 in it."""
        self.taken.add(name)
        assert self.opened is not None, name
        with self.opened(name) as stream:
            return str(stream.read().decode(errors="replace"))

    def values(self, name: str, *, is_part: bool = False) -> list[Any]:
        """Return the JSON values of a file that `beside` has named. What is broken is counted.

        is_part: the file holds a part of this one, and is not looked at on its own.
        """
        self.taken.add(name)
        if is_part:
            self.parts.add(name)
        assert self.opened is not None, name
        found: list[Any] = []
        try:
            with self.opened(name) as stream:
                for record in records_of(stream):
                    if record.problem:
                        self.report.add(Reason.BROKEN, f"{PurePosixPath(name).name}: {record.problem}")
                    else:
                        found.append(record.value)
        except MalformedFileError as error:
            reason = Reason.UNFINISHED if isinstance(error, UnfinishedError) else Reason.BROKEN
            self.report.add(reason, f"{PurePosixPath(name).name}: {error}")
        return found


def alone(path: Path) -> Source:
    """Return the source of a file that is read alone: called by its path in the folders above."""
    root = path.absolute().parents[min(FOLDERS_ABOVE, len(path.absolute().parents) - 1)]

    def named(pattern: PurePosixPath) -> Iterator[str]:
        found = root.glob(str(pattern))
        return (one.relative_to(root).as_posix() for one in found if one.is_file() and not one.is_symlink())

    name = path.absolute().relative_to(root).as_posix()
    return Source(name=name, named=named, opened=lambda name: (root / name).open("rb"))


def among(
    names: Collection[str], name: str, opened: Callable[[str], Any], taken: set[str], parts: set[str]
) -> Source:
    """Return the source of a file among those of a folder or an archive, by their names."""

    def named(pattern: PurePosixPath) -> Iterator[str]:
        for one in names:
            parts = PurePosixPath(one).parts
            if len(parts) == len(pattern.parts) and all(map(fnmatchcase, parts, pattern.parts)):
                yield one

    return Source(name=name, taken=taken, parts=parts, named=named, opened=opened)


def is_database(path: Path) -> bool:
    """Tell whether a file is a database of SQLite."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(SQLITE)) == SQLITE


@contextmanager
def opened_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that reads a copy of a database, with what its program has just written.

    The program may go on meanwhile. Raises MalformedFileError for a damaged one.
    """
    with tempfile.TemporaryDirectory(prefix="forklore-") as folder:
        copy = Path(folder) / "database"
        try:
            _copy(path, copy)
            with closing(sqlite3.connect(copy)) as database:
                database.row_factory = sqlite3.Row
                database.execute("PRAGMA query_only = 1")
                yield database
        except sqlite3.Error as error:
            raise MalformedFileError(f"damaged database: {error}") from error


def _copy(path: Path, copy: Path) -> None:
    """Copy a database at one moment; file by file where its folder does not let SQLite read it."""
    try:
        with (
            closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
    except sqlite3.OperationalError:
        for ending in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")


def columns_of(database: sqlite3.Connection) -> dict[str, set[str]]:
    """Return the names of the columns of each table."""
    found: dict[str, set[str]] = {}
    for table, column in database.execute(
        "SELECT t.name, c.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c"
        " WHERE t.type = 'table'"
    ):
        found.setdefault(table, set()).add(column)
    return found
