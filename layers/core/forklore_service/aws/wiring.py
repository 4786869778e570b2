"""The settings in the environment, and what a process opens once: table, queue and objects."""

import os
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from forklore_service.domain.meaning import Nearness
from forklore_service.domain.tree import WAIT_SECONDS
from forklore_service.limits import ATTACHMENT_BYTES_MAX, DELETED_DAYS_MAX, RETENTION_DAYS_MAX
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import Connection
from forklore_service.storage.consumption import UNREAD, Consumption
from forklore_service.storage.objects import Objects
from forklore_service.storage.queue import DELAY_SECONDS_MAX, Queue
from forklore_service.storage.table import Table

__all__ = [
    "UNREAD",
    "Consumption",
    "Given",
    "Objects",
    "Queue",
    "ServiceSettings",
    "Table",
    "give",
    "open_objects",
    "open_queue",
    "open_table",
    "served_api",
    "stack_name",
]

if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
    # On Lambda this belongs to the init. Elsewhere a store may be given, and botocore is a third
    # of a process's memory.
    import forklore_service.storage.clients  # noqa: F401

WHOLE_DIGITS_MAX = 9
MEGABYTE = 1_000_000
NO_MODEL, TITAN, COHERE = "off", "titan", "cohere"
"""How a deployment finds what is meant: not at all, or by a model of Bedrock."""


class ServiceSettings(NamedTuple):
    """The settings of a deployment.

    dynamodb_endpoint: None for AWS's own. queue_url: None for no worker. delete_wait_s: how long
    the items of a deleted tree are kept. deleted_days: for how long a deleted tree can be restored;
    0: it cannot. direct_roles: whether a direct invocation may name roles.
    direct_users: in direct invocation, clients with patterns of the users that they may speak for;
    empty: all may for all.
    justification_required: whether each request for administration needs one.
    user_requests_per_minute: how many requests of a user are answered in a minute; 0: any number.
    retention_days: for how long a tree is kept after its last use; 0: for ever.
    ignore_retention_tag: whether the tag `retention` keeps no tree. logs_users: whether the line of
    a change names its user, in place of a hash. attachments: the bucket of their bytes; None: there
    are no attachments. attachment_bytes_max: of one. user_attachment_bytes_max: of all of one user
    together; 0: any number. entries_per_conversation: own entries that one may have; 0: any number.
    recall: NO_MODEL, TITAN or COHERE.
    """

    table_name: str
    dynamodb_endpoint: str | None = None
    queue_url: str | None = None
    delete_wait_s: int = WAIT_SECONDS
    deleted_days: int = 0
    direct_roles: bool = False
    justification_required: bool = False
    user_requests_per_minute: int = 0
    retention_days: int = 0
    ignore_retention_tag: bool = False
    direct_users: tuple[tuple[str, str], ...] = ()
    logs_users: bool = False
    attachments: str | None = None
    attachment_bytes_max: int = ATTACHMENT_BYTES_MAX
    user_attachment_bytes_max: int = 0
    entries_per_conversation: int = 0
    recall: str = NO_MODEL

    @classmethod
    def from_environment(cls) -> "ServiceSettings":
        """Return the settings.

        Raises RuntimeError for a missing or wrong one, with a message that says what to set.
        """
        table_name = os.environ.get("FORKLORE_TABLE")
        if not table_name:
            raise RuntimeError("set FORKLORE_TABLE to the name of the DynamoDB table")
        wait = os.environ.get("FORKLORE_DELETE_WAIT_SECONDS") or str(WAIT_SECONDS)
        if not (wait.isascii() and wait.isdigit() and int(wait) < DELAY_SECONDS_MAX):
            raise RuntimeError(f"set FORKLORE_DELETE_WAIT_SECONDS to seconds below {DELAY_SECONDS_MAX}")
        days = _whole("FORKLORE_RETENTION_DAYS")
        if days > RETENTION_DAYS_MAX:
            raise RuntimeError(f"set FORKLORE_RETENTION_DAYS to days from 0 to {RETENTION_DAYS_MAX}")
        deleted_days = _whole("FORKLORE_DELETED_DAYS")
        if deleted_days > DELETED_DAYS_MAX:
            raise RuntimeError(f"set FORKLORE_DELETED_DAYS to days from 0 to {DELETED_DAYS_MAX}")
        attachment_bytes = _whole("FORKLORE_ATTACHMENT_MEGABYTES") * MEGABYTE or ATTACHMENT_BYTES_MAX
        if attachment_bytes > ATTACHMENT_BYTES_MAX:
            most = ATTACHMENT_BYTES_MAX // MEGABYTE
            raise RuntimeError(f"set FORKLORE_ATTACHMENT_MEGABYTES to a number from 1 to {most}")
        recall = os.environ.get("FORKLORE_RECALL") or NO_MODEL
        if recall not in (NO_MODEL, TITAN, COHERE):
            raise RuntimeError(f"set FORKLORE_RECALL to {NO_MODEL}, {TITAN} or {COHERE}")
        return cls(
            table_name,
            os.environ.get("FORKLORE_DYNAMODB_ENDPOINT") or None,
            os.environ.get("FORKLORE_QUEUE") or None,
            int(wait),
            direct_roles=_chosen("FORKLORE_DIRECT_ROLES", no="refused", yes="allowed"),
            deleted_days=deleted_days,
            retention_days=days,
            direct_users=_clients_with_users("FORKLORE_DIRECT_USERS"),
            logs_users=_chosen("FORKLORE_LOG_USERS", no="hashed", yes="plain"),
            ignore_retention_tag=_chosen("FORKLORE_RETENTION_TAG", no="counts", yes="ignored"),
            justification_required=_chosen("FORKLORE_JUSTIFICATION_REQUIRED", no="false", yes="true"),
            user_requests_per_minute=_whole("FORKLORE_USER_REQUESTS_PER_MINUTE"),
            attachments=os.environ.get("FORKLORE_ATTACHMENTS") or None,
            attachment_bytes_max=attachment_bytes,
            user_attachment_bytes_max=_whole("FORKLORE_ATTACHMENTS_PER_USER") * MEGABYTE,
            entries_per_conversation=_whole("FORKLORE_ENTRIES_PER_CONVERSATION"),
            recall=recall,
        )


def served_api() -> str:
    """Return the id of the HTTP API whose events this function serves.

    Raises RuntimeError if it is not set.
    """
    api_id = os.environ.get("FORKLORE_API")
    if not api_id:
        raise RuntimeError("set FORKLORE_API to the id of the HTTP API that this function serves")
    return api_id


def _chosen(name: str, *, no: str, yes: str) -> bool:
    """Tell whether a setting is `yes`. An unset one is `no`."""
    value = os.environ.get(name) or no
    if value not in (no, yes):
        raise RuntimeError(f"set {name} to {yes} or {no}")
    return value == yes


def _clients_with_users(name: str) -> tuple[tuple[str, str], ...]:
    """Return a setting that lists `client=pattern`."""
    parts = [part.strip().partition("=") for part in (os.environ.get(name) or "").split(",") if part.strip()]
    if not all(client and pattern for client, _, pattern in parts):
        raise RuntimeError(f"set {name} to a list of client=pattern, with commas between")
    return tuple((client, pattern) for client, _, pattern in parts)


def _whole(name: str) -> int:
    """Return a setting that is a whole number; 0 if it is not set."""
    value = os.environ.get(name) or "0"
    if not (value.isascii() and value.isdigit() and len(value) <= WHOLE_DIGITS_MAX):
        raise RuntimeError(f"set {name} to a whole number, or leave it empty for 0")
    return int(value)


def stack_name() -> str:
    """Return the name that this deployment's metrics are counted under. Never raises."""
    return os.environ.get("FORKLORE_STACK") or "forklore"


class Given(NamedTuple):
    """What a process uses in place of AWS. None: AWS's.

    new_client: returns a client of DynamoDB. queue: takes the announced work. objects: keep the
    bytes of attachments. nearness, by_meaning: as of Table. sleep: as of Connection.
    """

    new_client: Callable[[], Any] | None = None
    queue: Queue | None = None
    objects: Objects | None = None
    nearness: Nearness | None = None
    sleep: Callable[[float], None] = time.sleep
    by_meaning: bool = False


_given = Given()


def give(given: Given) -> Given:
    """Let the handlers of this process use these, and return what they used before.

    What they have opened is opened again.
    """
    global _given  # Lambda calls the handlers without anything that is ours
    before, _given = _given, given
    open_table.cache_clear()
    open_queue.cache_clear()
    open_objects.cache_clear()
    return before


@cache
def open_table() -> Table:
    settings = ServiceSettings.from_environment()
    connection = Connection(_new_client(settings), settings.table_name, Clock(), sleep=_given.sleep)
    is_deployed = _given.nearness is None and settings.recall != NO_MODEL
    return Table(
        connection,
        objects=open_objects(),
        nearness=_open_nearness(settings.recall),
        by_meaning=_given.by_meaning or is_deployed,
        embedded_elsewhere=is_deployed,
        entries_max=settings.entries_per_conversation,
    )


def _open_nearness(recall: str) -> Nearness | None:
    if _given.nearness is not None or recall == NO_MODEL:
        return _given.nearness
    from forklore_service.storage.bedrock import Cohere, Titan
    from forklore_service.storage.embedded_texts import EmbeddedTexts

    if recall == COHERE:
        cohere = Cohere()
        return EmbeddedTexts(cohere, "cohere-v4", is_remote=True, of_questions=cohere.of_questions)
    return EmbeddedTexts(Titan(), "titan-v2", is_remote=True)


def _new_client(settings: ServiceSettings) -> Any:
    if _given.new_client is not None:
        return _given.new_client()
    from forklore_service.storage.clients import make_client

    return make_client(settings.dynamodb_endpoint)


@cache
def open_queue() -> Queue:
    """Return this process's queue of deletions."""
    return _given.queue or Queue(None, ServiceSettings.from_environment().queue_url)


@cache
def open_objects() -> Objects | None:
    """Return where the bytes of attachments lie. None: there are no attachments."""
    bucket = ServiceSettings.from_environment().attachments
    if _given.objects is not None or bucket is None:
        return _given.objects
    from forklore_service.storage.objects_s3 import S3Objects

    return S3Objects(bucket)
