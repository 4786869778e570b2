"""The record of an Idempotency-Key. It is written in the same transaction as the effect."""

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import IdempotencyRecord
from forklore_service.errors import IdempotencyMismatchError
from forklore_service.storage import actions
from forklore_service.storage.actions import Action, ConditionFailed
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.loading import look_up

NO_GROUP = ""
"""The group id in the record of a request that neither found nor made a conversation."""


class IdempotencyKey(NamedTuple):
    """A request that carries an Idempotency-Key.

    key: the key of the request's record. It names the caller, the route, the ids in the path and
    the Idempotency-Key.
    request_hash: the hash of the body. render: turns the use case's result into the answer's text.
    of_conversation: for an append by a name: the key of the record that the same append by the
    conversation's id has. also: the key of that record, which is written as well.
    """

    key: Key
    request_hash: str
    render: Callable[[Any], str]
    of_conversation: Callable[[str], Key] | None = None
    also: Key | None = None

    def to(self, conversation_id: str) -> "IdempotencyKey":
        """Return the same for an append to the conversation that a name points to.

        So the key holds for that conversation, by whichever way it is found.
        """
        assert self.of_conversation is not None, "an append by a name has two records"
        return self._replace(also=self.of_conversation(conversation_id))


class IdempotentReplay(Exception):
    """The request was answered before under its Idempotency-Key. `record` has the answer."""

    def __init__(self, record: IdempotencyRecord) -> None:
        super().__init__("answered before")
        self.record = record


def keys_of(idempotency_key: IdempotencyKey | None) -> list[Key]:
    """Return the keys of the request's records, to read with the other items.

    So a replay is found early.
    """
    if idempotency_key is None:
        return []
    return [idempotency_key.key, *([idempotency_key.also] if idempotency_key.also else [])]


def record_answer(
    table: Table, idempotency_key: IdempotencyKey | None, *, group_id: str, conversation_id: str, answer: Any
) -> list[Action]:
    """Return the actions that record the answer. Without a key: no action."""
    if idempotency_key is None:
        return []
    record = IdempotencyRecord(
        idempotency_key.request_hash, group_id, conversation_id, (), idempotency_key.render(answer)
    )
    return put_records(table, idempotency_key, record)


def put_records(table: Table, idempotency_key: IdempotencyKey, record: IdempotencyRecord) -> list[Action]:
    """Return the actions that write the record under each key of the request."""
    return [actions.idempotency.put(key, record, now_s=table.now_s()) for key in keys_of(idempotency_key)]


def raise_if_answered(
    table: Table, idempotency_key: IdempotencyKey | None, found: Found, *, caller: Caller
) -> None:
    """Raise IdempotentReplay if `found` holds a record of this request.

    If the record cannot be shown, raise another error instead: IdempotencyMismatchError if the
    record is of another request, NotFoundError if the conversation is deleted, ForbiddenError if
    the caller is no longer a member.
    """
    if idempotency_key is None:
        return
    for key in keys_of(idempotency_key):
        record = found.idempotency_record(key, now_s=table.now_s())
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
    """Raise as `raise_if_answered` does, if a record of this request caused the refusal."""
    record = refused.idempotency_record(now_s=table.now_s())
    if idempotency_key is not None and record is not None:
        _answer_again(table, idempotency_key, record, caller=caller)
