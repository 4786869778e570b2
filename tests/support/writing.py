"""Appends and reads through the use cases. An append notes when it was sent and answered."""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from forklore_service.domain import ids, keys
from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import text_of
from forklore_service.domain.model import Caller, Channel, Entry
from forklore_service.errors import UnavailableError
from forklore_service.storage.clients import make_client
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import Connection
from forklore_service.storage.table import Table
from forklore_service.usecases.reading.entries import ListEntriesRequest, PageStart, list_entries
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.writing.append import append_entries

PAGE_ENTRIES = 40
REPEATS_MAX = 10

T = TypeVar("T")


@dataclass(frozen=True)
class Written:
    """An entry as a reader sees it."""

    entry_id: str
    text: str
    created_at: str

    @classmethod
    def of(cls, entry: Entry) -> "Written":
        text = json.loads(entry.content)[0]["text"]
        return cls(entry.entry_id, text, ids.created_at(entry.entry_id))


@dataclass(frozen=True)
class Acknowledged:
    """An entry whose append was answered. The times are nanoseconds of the monotonic clock."""

    conversation_id: str
    written: Written
    sent_ns: int
    answered_ns: int


def open_table() -> Table:
    """Return the table that the environment names, with an empty cache."""
    client = make_client(os.environ["FORKLORE_DYNAMODB_ENDPOINT"])
    return Table(Connection(client, os.environ["FORKLORE_TABLE"], Clock()))


def append(
    table: Table,
    caller: Caller,
    conversation_id: str,
    texts: Sequence[str],
    channel: Channel = Channel.HISTORY,
    *,
    key: str | None = None,
) -> list[Acknowledged]:
    """Append an entry for each text, all at once.

    key: the Idempotency-Key. With a key, the append is repeated while the service is busy.
    Raises UnavailableError if the service is busy and there is no key, or if it stays busy.
    """
    drafts = [Draft.of(channel, "history", text_of([{"role": "USER", "text": text}])) for text in texts]
    idempotency_key = None if key is None else IdempotencyKey(keys.idempotency(key), key, str)
    request = Append(conversation_id, drafts, idempotency_key=idempotency_key)
    sent_ns = time.monotonic_ns()
    act = partial(append_entries, table, caller=caller, request=request)
    entries = act() if idempotency_key is None else _patiently(act)
    answered_ns = time.monotonic_ns()
    return [Acknowledged(conversation_id, Written.of(entry), sent_ns, answered_ns) for entry in entries]


def _patiently(act: Callable[[], T]) -> T:
    """Return the result of `act`, repeated while the service is busy."""
    for _ in range(REPEATS_MAX):
        try:
            return act()
        except UnavailableError as error:
            print(f"repeated: {error}", file=sys.stderr)  # noqa: T201 (shown where the test fails)
    return act()


def read_from(table: Table, caller: Caller, conversation_id: str, after: str | None = None) -> list[Written]:
    """Return all that a conversation shows after an entry, read page by page."""
    found: list[Written] = []
    position = None if after is None else EntryId(after)
    while True:
        listing = ListEntriesRequest(conversation_id, PageStart(after=position), PAGE_ENTRIES)
        page = _patiently(partial(list_entries, table, caller=caller, request=listing))
        found += [Written.of(entry) for entry in page.entries]
        if page.after is None:
            return found
        position = page.after
