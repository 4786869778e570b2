"""The items of a folder in SQLite: written before a call is answered, read when it is opened.

Memory answers every read. The file is only read at opening.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from forklore.embedded.folder import DataError

FORMAT = 1
"""What `user_version` of the file says. A newer forklore may write a higher one."""
APPLICATION_ID = 0x466B4C72
"""Marks the file as forklore's ("FkLr")."""
LAYOUT = """\
CREATE TABLE item (
    partition TEXT NOT NULL,
    sort TEXT NOT NULL,
    attributes TEXT NOT NULL,
    PRIMARY KEY (partition, sort)
)"""


class Change(NamedTuple):
    """An item as it is now. attributes: its text; None if the item is gone."""

    partition: str
    sort: str
    attributes: str | None


class Journal:
    """An open file. It may be used by one thread at a time, whichever that is."""

    def __init__(self, path: Path) -> None:
        """Open the file, and make it if it is missing.

        Raises DataError for a file that this forklore cannot use.
        """
        try:
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1)
        except sqlite3.Error as error:
            raise DataError(f"cannot open {path}: {error}") from error
        try:
            self._prepare(path)
        except sqlite3.Error as error:
            self.close()
            raise DataError(f"cannot open {path}: {error}") from error
        except DataError:
            self.close()
            raise

    def _prepare(self, path: Path) -> None:
        run = self._file.execute
        run("PRAGMA synchronous = FULL")  # a write that was answered outlives a power failure
        [application], [found] = (
            run("PRAGMA application_id").fetchone(),
            run("PRAGMA user_version").fetchone(),
        )
        if found > FORMAT:
            raise DataError(f"{path} was written by a newer forklore (format {found}; this reads {FORMAT})")
        is_new = not run("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if not is_new and (application, found) != (APPLICATION_ID, FORMAT):
            raise DataError(f"{path} is no data of forklore")
        run("PRAGMA journal_mode = WAL")
        if is_new:
            run("BEGIN IMMEDIATE")
            run(LAYOUT)
            run(f"PRAGMA application_id = {APPLICATION_ID}")
            run(f"PRAGMA user_version = {FORMAT}")
            run("COMMIT")

    def items(self) -> Iterator[str]:
        """Yield the text of each item. Raises DataError if the file cannot be read."""
        try:
            for (attributes,) in self._file.execute("SELECT attributes FROM item"):
                yield attributes
        except sqlite3.Error as error:
            raise DataError(f"cannot read the data: {error}") from error

    def write(self, changes: Sequence[Change]) -> None:
        """Write all changes or none. Raises sqlite3.Error; then the file may be used no more."""
        put = [change for change in changes if change.attributes is not None]
        gone = [(change.partition, change.sort) for change in changes if change.attributes is None]
        self._file.execute("BEGIN IMMEDIATE")
        try:
            self._file.executemany("INSERT OR REPLACE INTO item VALUES (?, ?, ?)", put)
            self._file.executemany("DELETE FROM item WHERE partition = ? AND sort = ?", gone)
            self._file.execute("COMMIT")
        except BaseException:
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise

    def close(self) -> None:
        self._file.close()
