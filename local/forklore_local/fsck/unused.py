"""The dry run of a retention: the trees that it would delete. This writes nothing."""

from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from forklore_service.domain import keys
from forklore_service.domain.retention import FIRST_PLACE, unused_before
from forklore_service.errors import ForkloreError
from forklore_service.storage.clients import make_client
from forklore_service.storage.clock import Clock
from forklore_service.storage.table import Table
from forklore_service.storage.timeouts import PatientConnection
from forklore_service.storage.unused import find_unused

LOOK_SECONDS = 20.0


def list_unused(
    table: Table,
    *,
    days: int,
    ignore_tag: bool = False,
    advance: Callable[[int], object] = lambda _looked: None,
    report: Callable[[Exception], object] = lambda _error: None,
) -> Iterator[dict[str, Any]]:
    """Yield what an operator sees of each tree that nobody has used for so many days.

    ignore_tag: whether the tag `retention` keeps no tree. advance: called with how many trees each
    step has looked at. report: called with the error of each tree that cannot be read. Raises
    UnavailableError.
    """
    before = unused_before(table.now_ms(), days)
    for shard in range(keys.TREE_SHARDS):
        place = FIRST_PLACE
        while place is not None:
            in_time = table.within(LOOK_SECONDS)
            unused, looked, following = find_unused(
                in_time, shard=shard, after=place, before=before, ignore_tag=ignore_tag, report=report
            )
            advance(looked)
            yield from (tree.shown() for tree in unused)
            if following is None:
                break
            place = following


class UnreadableTableError(Exception):
    """The table cannot be read. The message says why, in one line."""


def list_unused_in(
    name: str,
    *,
    endpoint: str | None,
    region: str | None,
    days: int,
    ignore_tag: bool,
    advance: Callable[[int], object],
    report: Callable[[Exception], object],
) -> Iterator[dict[str, Any]]:
    """Do the same with a table by its name. endpoint: None for AWS. region: None for its default.

    Raises UnreadableTableError.
    """
    try:
        table = Table(PatientConnection(make_client(endpoint, region=region), name, Clock()))
        yield from list_unused(table, days=days, ignore_tag=ignore_tag, advance=advance, report=report)
    except (BotoCoreError, ClientError, ForkloreError, ValueError) as error:
        raise UnreadableTableError((str(error).splitlines() or [type(error).__name__])[0]) from error
