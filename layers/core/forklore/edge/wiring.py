"""Settings from the environment; the table and the queue, opened once for each process."""

import os
from dataclasses import dataclass
from functools import cache

from forklore.storage.clock import Clock
from forklore.storage.connection import Connection, make_client
from forklore.storage.queue import DELAY_SECONDS_MAX, Queue
from forklore.storage.table import Table
from forklore.storage.usage import Usage

__all__ = ["Queue", "Settings", "Table", "Usage", "open_queue", "open_table", "served_api", "stack_name"]

DELETE_WAIT_SECONDS = 35
"""No request lives longer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a deployment decides.

    dynamodb_endpoint None: AWS's own. queue_url None: no worker is told of anything.
    delete_wait_s: how long after its tombstone a tree's items are kept. direct_roles: whether a direct
    invocation may name roles. justification_required: of administration.
    """

    table_name: str
    dynamodb_endpoint: str | None = None
    queue_url: str | None = None
    delete_wait_s: int = DELETE_WAIT_SECONDS
    direct_roles: bool = False
    justification_required: bool = False

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
            direct_roles=_chosen("FORKLORE_DIRECT_ROLES", no="refused", yes="allowed"),
            justification_required=_chosen("FORKLORE_JUSTIFICATION_REQUIRED", no="false", yes="true"),
        )


def served_api() -> str:
    """Return the id of the HTTP API whose events this function serves. Raises RuntimeError if none is set."""
    api_id = os.environ.get("FORKLORE_API")
    if not api_id:
        raise RuntimeError("set FORKLORE_API to the id of the HTTP API that this function serves")
    return api_id


def _chosen(name: str, *, no: str, yes: str) -> bool:
    """Return whether a setting says `yes`; unset it says `no`. Raises RuntimeError for anything else."""
    value = os.environ.get(name) or no
    if value not in (no, yes):
        raise RuntimeError(f"set {name} to {yes} or {no}")
    return value == yes


def stack_name() -> str:
    """Return what this deployment's metrics are counted under; also where other settings are wrong."""
    return os.environ.get("FORKLORE_STACK") or "forklore"


@cache
def open_table() -> Table:
    """Return this process's table."""
    settings = Settings.from_environment()
    return Table(Connection(make_client(settings.dynamodb_endpoint), settings.table_name, Clock()))


@cache
def open_queue() -> Queue:
    """Return this process's queue of deletions."""
    return Queue(None, Settings.from_environment().queue_url)
