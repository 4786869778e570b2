"""Settings from the environment; the table and the queue, opened once for each process."""

import os
from dataclasses import dataclass
from functools import cache

from forklore.storage.clock import Clock
from forklore.storage.connection import Connection, make_client
from forklore.storage.queue import DELAY_SECONDS_MAX, Queue, make_queue_client
from forklore.storage.table import Table

__all__ = ["Queue", "Settings", "Table", "open_queue", "open_table"]

DELETE_WAIT_SECONDS = 35
"""No request lives longer (design, section 3)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a deployment decides.

    dynamodb_endpoint None: AWS's own. queue_url None: deletions are announced to nobody, and swept.
    delete_wait_s: how long after its tombstone a tree's items are kept.
    """

    table_name: str
    dynamodb_endpoint: str | None = None
    queue_url: str | None = None
    delete_wait_s: int = DELETE_WAIT_SECONDS

    @classmethod
    def from_environment(cls) -> "Settings":
        """Return the settings. Raises RuntimeError, which says what to set, for one missing or wrong."""
        table_name = os.environ.get("FORKLORE_TABLE")
        if not table_name:
            raise RuntimeError("set FORKLORE_TABLE to the name of the DynamoDB table")
        wait = os.environ.get("FORKLORE_DELETE_WAIT_SECONDS") or str(DELETE_WAIT_SECONDS)
        if not (wait.isascii() and wait.isdigit() and int(wait) < DELAY_SECONDS_MAX):
            raise RuntimeError(f"set FORKLORE_DELETE_WAIT_SECONDS to seconds below {DELAY_SECONDS_MAX}")
        return cls(
            table_name,
            os.environ.get("FORKLORE_DYNAMODB_ENDPOINT") or None,
            os.environ.get("FORKLORE_QUEUE") or None,
            int(wait),
        )


@cache
def open_table() -> Table:
    """Return this process's table."""
    settings = Settings.from_environment()
    return Table(Connection(make_client(settings.dynamodb_endpoint), settings.table_name, Clock()))


@cache
def open_queue() -> Queue:
    """Return this process's queue of deletions."""
    url = Settings.from_environment().queue_url
    return Queue(make_queue_client() if url else None, url)
