"""The items of a folder in SQLite: written before a call is answered, read when it is opened.

Memory answers every read. The file is only read at opening.
"""

import json
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from forklore.embedded.folder import DataError
from forklore.embedded.outbox import Message, Waiting

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
MESSAGES = """\
CREATE TABLE IF NOT EXISTS message (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    receiver TEXT NOT NULL,
    tree TEXT NOT NULL,
    event TEXT NOT NULL
)"""
"""Made where events have receivers. A forklore without events leaves the table as it is."""

_log = logging.getLogger("forklore")


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

    def write(self, changes: Sequence[Change], messages: Sequence[Message] = ()) -> list[int]:
        """Write all changes and messages, or none. Return the numbers of the messages.

        Raises sqlite3.Error; then the file may be used no more.
        """
        put = [change for change in changes if change.attributes is not None]
        gone = [(change.partition, change.sort) for change in changes if change.attributes is None]
        self._file.execute("BEGIN IMMEDIATE")
        try:
            self._file.executemany("INSERT OR REPLACE INTO item VALUES (?, ?, ?)", put)
            self._file.executemany("DELETE FROM item WHERE partition = ? AND sort = ?", gone)
            numbers = [self._add(message) for message in messages]
            self._file.execute("COMMIT")
        except BaseException:
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise
        return numbers

    def _add(self, message: Message) -> int:
        added = self._file.execute("INSERT INTO message (receiver, tree, event) VALUES (?, ?, ?)", message)
        assert added.lastrowid is not None
        return added.lastrowid

    def add_messages(self, messages: Sequence[Message]) -> list[int]:
        """Keep messages without a change. Raises sqlite3.Error."""
        return self.write((), messages)

    def waiting(self, receivers: Sequence[str]) -> list[Waiting]:
        """Return what waits, in its order. Messages to other receivers are deleted.

        The first call makes the place for messages. Raises DataError if the file cannot be used.
        """
        try:
            self._file.execute("PRAGMA secure_delete = ON")  # nothing of a delivered event is left
            self._file.execute(MESSAGES)
            others = "DELETE FROM message WHERE receiver NOT IN (SELECT value FROM json_each(?))"
            dropped = self._file.execute(others, (json.dumps(list(receivers)),)).rowcount
            if dropped:
                _log.warning("not_named", extra={"dropped": dropped})
            found = self._file.execute("SELECT number, receiver, tree FROM message ORDER BY number")
            return [Waiting(*row) for row in found]
        except sqlite3.Error as error:
            raise DataError(f"cannot read the data: {error}") from error

    def message(self, number: int) -> str:
        """Return the text of a message. Raises KeyError if it does not wait, sqlite3.Error."""
        found = self._file.execute("SELECT event FROM message WHERE number = ?", (number,)).fetchone()
        if found is None:
            raise KeyError(number)
        return str(found[0])

    def delete_message(self, number: int) -> None:
        """Delete a message. After a power failure it may be there again. Raises sqlite3.Error."""
        self._file.execute("PRAGMA synchronous = NORMAL")  # no request waits for the disk
        try:
            self._file.execute("DELETE FROM message WHERE number = ?", (number,))
        finally:
            self._file.execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        self._file.close()
