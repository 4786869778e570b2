"""What an operator sees of an open folder: its size, what is left of its disk, and what waits."""

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from forklore_local.embedded.database import Database
from forklore_local.in_process.folder import FILE
from forklore_service.domain.answer_logs import AnswerState
from forklore_service.errors import UnavailableError
from forklore_service.storage import items

_ANSWERS = """
WITH RECURSIVE answer (name) AS (
    SELECT min(PK) FROM item WHERE PK BETWEEN 'ANSWER#' AND 'ANSWER$'
    UNION ALL
    SELECT (SELECT min(PK) FROM item WHERE PK > name AND PK < 'ANSWER$') FROM answer WHERE name IS NOT NULL
)
SELECT (SELECT attributes FROM item WHERE PK = name ORDER BY SK DESC LIMIT 1) FROM answer
WHERE name IS NOT NULL
"""
"""Finds the last part of each answer. It reads one row for each."""
_WAITING = "SELECT count(*), min(number) FROM message"
_MESSAGE = "SELECT event FROM message WHERE number = ?"


ROOM_BYTES = 100_000_000


class Measures(NamedTuple):
    """Sizes in bytes. The first three are None in memory.

    answers: how many are being written now. messages: how many events wait for their receivers.
    oldest_s: the age of the oldest of them in seconds; 0 without one.
    """

    database: int | None
    log: int | None
    disk_left: int | None
    answers: int
    messages: int
    oldest_s: float


def disk_left(folder: Path) -> int:
    """Return how many bytes the user may still write to the disk of a folder."""
    return shutil.disk_usage(folder).free


def require_room(folder: Path) -> None:
    """Raise UnavailableError if so little is left of a folder's disk that writes will soon fail."""
    if disk_left(folder) < ROOM_BYTES:
        raise UnavailableError("the disk of the folder is nearly full", reason="nearly_full")


def measure(database: Database, folder: Path | None, *, now_s: float) -> Measures:
    """Return what a folder is now; None: memory. Raises a ForkloreError, and OSError."""
    with database.reading() as connection:
        rows = connection.execute(_ANSWERS).fetchall()
        messages, number = connection.execute(_WAITING).fetchone()
        oldest = connection.execute(_MESSAGE, (number,)).fetchone()
    parts = (items.part(json.loads(text), now_s=int(now_s)) for (text,) in rows)
    answers = sum(part is not None and part.state(int(now_s * 1000)) is AnswerState.OPEN for part in parts)
    at_s = json.loads(oldest[0])["dynamodb"]["ApproximateCreationDateTime"] if oldest else now_s
    told = answers, messages, max(0.0, now_s - at_s)
    if folder is None:
        return Measures(None, None, None, *told)
    log = 0
    with suppress(FileNotFoundError):  # nobody has written yet
        log = (folder / f"{FILE}-wal").stat().st_size
    return Measures((folder / FILE).stat().st_size, log, disk_left(folder), *told)
