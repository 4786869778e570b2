"""An effect happens once: the record of an Idempotency-Key, written in the effect's own transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forklore.domain.access import AccessLevel
from forklore.domain.keys import Key
from forklore.domain.model import Caller, Entry
from forklore.errors import IdempotencyMismatchError
from forklore.storage import items
from forklore.storage.connection import Item, Refused, Write
from forklore.storage.items import Replay
from forklore.storage.table import Table
from forklore.storage.writes import IDEMPOTENCY
from forklore.usecases.opening import find

NO_GROUP = ""
"""The tree in the record of a request that found no conversation and made none."""


@dataclass(frozen=True, slots=True)
class Once:
    """A request that carries an Idempotency-Key.

    key: where its record lies; it names caller, route, path ids and the key itself. request_hash: of the
    body. render: makes the answer's text from what the use case returns.
    """

    key: Key
    request_hash: str
    render: Callable[[Any], str]


class AnsweredBefore(Exception):
    """The request was answered under its Idempotency-Key; `replay` says what."""

    def __init__(self, replay: Replay) -> None:
        super().__init__("answered before")
        self.replay = replay


def keys_of(once: Once | None) -> list[Key]:
    """Return the key to read along, so that a replay is seen before anything else is decided."""
    return [once.key] if once else []


def record_answer(
    table: Table, once: Once | None, *, group_id: str, conversation_id: str, answer: Any
) -> list[Write]:
    """Return the write that remembers the answer; nothing without a key."""
    if once is None:
        return []
    replay = Replay(once.request_hash, group_id, conversation_id, (), once.render(answer))
    return [table.write.put_replay(once.key, replay, now_s=table.now_s())]


def record_entries(
    table: Table,
    once: Once | None,
    *,
    group_id: str,
    conversation_id: str,
    entries: Sequence[Entry],
    note: str = "",
) -> list[Write]:
    """Return the write that remembers which entries were appended; they never change, so no copy is kept.

    note: what else the answer says.
    """
    if once is None:
        return []
    ids = tuple(entry.entry_id for entry in entries)
    replay = Replay(once.request_hash, group_id, conversation_id, ids, note)
    return [table.write.put_replay(once.key, replay, now_s=table.now_s())]


def raise_if_answered(table: Table, once: Once | None, found: Mapping[Key, Item], *, caller: Caller) -> None:
    """Raise AnsweredBefore if `found` holds this request's record and the caller may still see the answer.

    Raises IdempotencyMismatchError for another request under the same key, NotFoundError when the
    conversation is deleted, ForbiddenError when the caller is no longer a member.
    """
    item = found.get(once.key) if once else None
    replay = items.replay(item, now_s=table.now_s()) if item else None
    if once is None or replay is None:
        return
    conversation_id = replay.conversation_id
    existed = replay.group_id != NO_GROUP
    shown = find(table, conversation_id, caller=caller, existed=existed)
    if existed or shown.exists:
        shown.require(conversation_id, AccessLevel.READER)
    if replay.request_hash != once.request_hash:
        raise IdempotencyMismatchError("this Idempotency-Key was used with another request")
    raise AnsweredBefore(replay)


def raise_if_recorded(table: Table, once: Once | None, refused: Refused, *, caller: Caller) -> None:
    """Raise as `raise_if_answered` does, if it is this request's record that refused a transaction."""
    item = refused.failed.get(IDEMPOTENCY)
    if once is not None and item is not None:
        raise_if_answered(table, once, {once.key: item}, caller=caller)


def entries_again(table: Table, replay: Replay) -> list[Entry]:
    """Return the entries that were appended then, in order."""
    return table.entries(replay.group_id, replay.entry_ids)
