"""The changes that are told of, which wait in the database until their receivers have them.

A change and its messages are one transaction. So nothing is told of a change that did not happen,
and each change is told at least once, also after the process was killed. A process that tells names
its receivers in the database. Then every process that writes leaves messages to them.
"""

import json
import logging
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

from forklore_local.embedded.database import Database
from forklore_local.embedded.items import Change
from forklore_local.embedded.rows import to_text

TELLER = "forklore.events.lock"
"""The process that tells locks this file of the folder."""
MESSAGES = """\
CREATE TABLE message (
    number INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT NOT NULL, tree TEXT NOT NULL, event TEXT NOT NULL
);
CREATE TABLE receiver (name TEXT PRIMARY KEY) WITHOUT ROWID;
"""
WAITING_MAX = 50_000
"""How many messages may wait where no folder keeps them."""
_KINDS = ("CONV#", "GONE#", "HEAD#", "NOTE#")
_log = logging.getLogger("forklore")


class Waiting(NamedTuple):
    """A message without its text. Later messages have higher numbers."""

    number: int
    receiver: str
    tree: str


def note(connection: sqlite3.Connection, changes: Sequence[Change]) -> None:
    """Leave messages about changes to all receivers. Nothing is told of a removal."""
    told = [change for change in changes if change.after and change.is_one and is_told(change.place[1])]
    if not told:
        return
    receivers = connection.execute("SELECT name FROM receiver ORDER BY name").fetchall()
    for change in told if receivers else ():
        record = _record(change)
        for (receiver,) in receivers:
            connection.execute(
                "INSERT INTO message (receiver, tree, event) VALUES (?, ?, ?)",
                (receiver, change.place[0], record),
            )


def is_told(sort: str) -> bool:
    """Tell whether an item's change may tell something. events/from_changes.py has the rules."""
    return sort == "GROUP" or sort.startswith(_KINDS)


def _record(change: Change) -> str:
    """Return the record of a change, as Lambda gets it from a stream of DynamoDB.

    It has what forklore reads of such a record.
    """
    images = {"OldImage": change.before, "NewImage": change.after}
    return to_text(
        {
            "dynamodb": {
                "Keys": {"PK": {"S": change.place[0]}, "SK": {"S": change.place[1]}},
                **{name: image.item for name, image in images.items() if image is not None},
                "ApproximateCreationDateTime": round(time.time(), 3),
            }
        }
    )


class Outbox:
    """What waits for the receivers of one process, the only one that tells.

    folder: None for a database in memory, where nothing waits without end.
    """

    def __init__(self, database: Database, folder: Path | None, receivers: Sequence[str]) -> None:
        """Raises OSError if another process tells the events of the folder."""
        self._database = database
        self._is_kept = folder is not None
        self._lock = _locked(folder) if folder is not None else None
        self._read = 0
        self._is_dropping = False
        database.write(lambda connection: _name_receivers(connection, receivers))

    def fresh(self) -> list[Waiting]:
        """Return the messages that have come since the last call, in their order."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT number, receiver, tree FROM message WHERE number > ? ORDER BY number", (self._read,)
            ).fetchall()
        found = [Waiting(*row) for row in rows]
        if found:
            self._read = found[-1].number
        if not self._is_kept:
            self._drop_most()
        return found

    def _drop_most(self) -> None:
        """Drop the oldest messages where too many wait, and log that once."""

        def work(connection: sqlite3.Connection) -> int:
            return connection.execute(
                "DELETE FROM message WHERE number <= (SELECT max(number) FROM message) - ?", (WAITING_MAX,)
            ).rowcount

        if (dropped := self._database.write(work)) and not self._is_dropping:
            _log.error("dropping", extra={"waiting": WAITING_MAX, "dropped": dropped})
        self._is_dropping = dropped > 0

    def message(self, number: int) -> str | None:
        """Return the text of a message; None if it does not wait."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT event FROM message WHERE number = ?", (number,)).fetchone()
        return None if row is None else str(row[0])

    def delete_message(self, number: int) -> None:
        """Delete a message, because it was delivered or given up."""
        self._database.write(
            lambda connection: connection.execute("DELETE FROM message WHERE number = ?", (number,))
        )

    def close(self) -> None:
        """Leave no more messages to these receivers. What waits is delivered by a later process."""
        if self._database.refusal is None:
            self._database.write(lambda connection: connection.execute("DELETE FROM receiver"))
        if self._lock is not None:
            self._lock.close()


def forget_receivers(database: Database, folder: Path) -> None:
    """Leave no more messages to the receivers of a process that was killed."""
    try:
        lock = _locked(folder)
    except OSError:
        return  # a process tells
    with lock:
        database.write(lambda connection: connection.execute("DELETE FROM receiver"))


def _name_receivers(connection: sqlite3.Connection, receivers: Sequence[str]) -> None:
    """Put the receivers in the place of those before. Messages to others are deleted."""
    connection.execute("DELETE FROM receiver")
    connection.executemany("INSERT INTO receiver VALUES (?)", [(name,) for name in receivers])
    others = "DELETE FROM message WHERE receiver NOT IN (SELECT value FROM json_each(?))"
    dropped = connection.execute(others, (json.dumps(list(receivers)),)).rowcount
    if dropped:
        _log.warning("not_named", extra={"dropped": dropped})


def _locked(folder: Path) -> IO[str]:
    """Return a file that is locked until it is closed. Raises OSError if another process has it."""
    file = (folder / TELLER).open("a")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ModuleNotFoundError:
        return file
    except OSError as error:
        file.close()
        raise OSError(f"another process tells the events of {folder}") from error
    return file
