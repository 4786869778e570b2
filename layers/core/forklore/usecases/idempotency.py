"""The record of an Idempotency-Key. It is written in the same transaction as the effect."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from forklore.domain.access import AccessLevel
from forklore.domain.keys import Key
from forklore.domain.model import Caller, Entry
from forklore.domain.tree import IdempotencyRecord
from forklore.errors import IdempotencyMismatchError
from forklore.storage import parts
from forklore.storage.found import Found
from forklore.storage.parts import ConditionFailed, Part
from forklore.storage.table import Table
from forklore.usecases.loading import look_up

NO_GROUP = ""
"""The group id in the record of a request that found no conversation and made none."""


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A request that carries an Idempotency-Key.

    key: of its record; it names the caller, the route, the path ids and the Idempotency-Key.
    request_hash: of the body. render: returns the answer's text for what the use case returns.
    """

    key: Key
    request_hash: str
    render: Callable[[Any], str]


class IdempotentReplay(Exception):
    """The request was answered before under its Idempotency-Key. `record` says what."""

    def __init__(self, record: IdempotencyRecord) -> None:
        super().__init__("answered before")
        self.record = record


def keys_of(idempotency_key: IdempotencyKey | None) -> list[Key]:
    """Return the key to read with the rest, so that a replay is seen before anything is decided."""
    return [idempotency_key.key] if idempotency_key else []


def record_answer(
    table: Table, idempotency_key: IdempotencyKey | None, *, group_id: str, conversation_id: str, answer: Any
) -> list[Part]:
    """Return the part that remembers the answer; nothing without a key."""
    if idempotency_key is None:
        return []
    record = IdempotencyRecord(
        idempotency_key.request_hash, group_id, conversation_id, (), idempotency_key.render(answer)
    )
    return [parts.idempotency.put(idempotency_key.key, record, now_s=table.now_s())]


def record_entries(
    table: Table,
    idempotency_key: IdempotencyKey | None,
    *,
    group_id: str,
    conversation_id: str,
    entries: Sequence[Entry],
    note: str = "",
) -> list[Part]:
    """Return the part that remembers which entries were appended; nothing without a key.

    Entries never change, so no copy of them is kept. note: what else the answer says.
    """
    if idempotency_key is None:
        return []
    ids = tuple(entry.entry_id for entry in entries)
    record = IdempotencyRecord(idempotency_key.request_hash, group_id, conversation_id, ids, note)
    return [parts.idempotency.put(idempotency_key.key, record, now_s=table.now_s())]


def raise_if_answered(
    table: Table, idempotency_key: IdempotencyKey | None, found: Found, *, caller: Caller
) -> None:
    """Raise IdempotentReplay if `found` holds this request's record.

    Raises instead IdempotencyMismatchError if the record is of another request, NotFoundError if
    the conversation is deleted, ForbiddenError if the caller is no longer a member.
    """
    if idempotency_key is None:
        return
    record = found.idempotency_record(idempotency_key.key, now_s=table.now_s())
    if record is not None:
        _answer_again(table, idempotency_key, record, caller=caller)


def _answer_again(
    table: Table, idempotency_key: IdempotencyKey, record: IdempotencyRecord, *, caller: Caller
) -> NoReturn:
    """Raise what `raise_if_answered` raises for this request's record."""
    conversation_id = record.conversation_id
    existed = record.group_id != NO_GROUP
    shown = look_up(table, conversation_id, caller=caller, existed=existed)
    if existed or shown.exists:
        shown.require(conversation_id, AccessLevel.READER)
    if record.request_hash != idempotency_key.request_hash:
        raise IdempotencyMismatchError("this Idempotency-Key was used with another request")
    raise IdempotentReplay(record)


def raise_if_recorded(
    table: Table, idempotency_key: IdempotencyKey | None, refused: ConditionFailed, *, caller: Caller
) -> None:
    """Raise as `raise_if_answered` does, if this request's record refused a transaction."""
    record = refused.idempotency_record(now_s=table.now_s())
    if idempotency_key is not None and record is not None:
        _answer_again(table, idempotency_key, record, caller=caller)


def entries_again(table: Table, record: IdempotencyRecord) -> list[Entry]:
    """Return the entries that were appended then, in order."""
    return table.entries(record.group_id, record.entry_ids)
