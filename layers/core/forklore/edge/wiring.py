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
    """What a deployment decides. dynamodb_endpoint None: AWS's own.

    direct_roles: whether a direct invocation may name roles. justification_required: of administration.
    """

    table_name: str
    dynamodb_endpoint: str | None = None
    direct_roles: bool = False
    justification_required: bool = False

    @classmethod
    def from_environment(cls) -> "Settings":
        """Return the settings. Raises RuntimeError, which says what to set, when one is missing."""
        table_name = os.environ.get("FORKLORE_TABLE")
        if not table_name:
            raise RuntimeError("set FORKLORE_TABLE to the name of the DynamoDB table")
        return cls(
            table_name,
            os.environ.get("FORKLORE_DYNAMODB_ENDPOINT") or None,
            direct_roles=_chosen("FORKLORE_DIRECT_ROLES", no="refused", yes="allowed"),
            justification_required=_chosen("FORKLORE_JUSTIFICATION_REQUIRED", no="false", yes="true"),
        )


def _chosen(name: str, *, no: str, yes: str) -> bool:
    """Return whether a setting says `yes`; unset it says `no`. Raises RuntimeError for anything else."""
    value = os.environ.get(name) or no
    if value not in (no, yes):
        raise RuntimeError(f"set {name} to {yes} or {no}")
    return value == yes


@cache
def open_table() -> Table:
    """Return this process's table."""
    settings = Settings.from_environment()
    return Table(Connection(make_client(settings.dynamodb_endpoint), settings.table_name, Clock()))
