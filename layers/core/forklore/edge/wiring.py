"""Settings from the environment, and the table, opened once for each process."""

import os
from dataclasses import dataclass
from functools import cache

from forklore.storage.clock import Clock
from forklore.storage.connection import Connection, make_client
from forklore.storage.table import Table

__all__ = ["Settings", "Table", "open_table"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a deployment decides. dynamodb_endpoint None: AWS's own."""

    table_name: str
    dynamodb_endpoint: str | None = None

    @classmethod
    def from_environment(cls) -> "Settings":
        """Return the settings. Raises RuntimeError, which says what to set, when one is missing."""
        table_name = os.environ.get("FORKLORE_TABLE")
        if not table_name:
            raise RuntimeError("set FORKLORE_TABLE to the name of the DynamoDB table")
        return cls(table_name, os.environ.get("FORKLORE_DYNAMODB_ENDPOINT") or None)


@cache
def open_table() -> Table:
    """Return this process's table."""
    settings = Settings.from_environment()
    return Table(Connection(make_client(settings.dynamodb_endpoint), settings.table_name, Clock()))
