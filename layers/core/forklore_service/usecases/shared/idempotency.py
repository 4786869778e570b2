"""The record of an Idempotency-Key. It is written in the same transaction as the effect."""

from collections.abc import Callable
from typing import Any, NamedTuple

from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
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


class Once(NamedTuple):
    """One request, whose effect and answer come once if it carries an Idempotency-Key.

    Without a key nothing is recorded, and nothing is found.
    """

    table: Table
    caller: Caller
    key: IdempotencyKey | None

    @property
    def keys(self) -> list[Key]:
        """The keys of the request's records, to read with the other items: so a replay is early."""
        if self.key is None:
            return []
        return [self.key.key, *([self.key.also] if self.key.also else [])]

    def record(self, group_id: str, conversation_id: str, answer: Any) -> list[Action]:
        """Return the actions that record the answer."""
        text = self.key.render(answer) if self.key else ""
        return self.record_entries(group_id, conversation_id, (), text)

    def record_entries(
        self, group_id: str, conversation_id: str, entry_ids: tuple[EntryId, ...], body: str
    ) -> list[Action]:
        """Return the actions that record an answer of which these entries are a part."""
        if self.key is None:
            return []
        record = IdempotencyRecord(self.key.request_hash, group_id, conversation_id, entry_ids, body)
        return self.put(record)

    def put(self, record: IdempotencyRecord) -> list[Action]:
        """Return the actions that write a record under each key of the request."""
        return [actions.idempotency.put(key, record, now_s=self.table.now_s()) for key in self.keys]

    def raise_if_answered(self, found: Found) -> None:
        """Raise IdempotentReplay if `found` holds a record of this request.

        If the record cannot be shown, raise another error instead: IdempotencyMismatchError if the
        record is of another request, NotFoundError if the conversation is deleted, ForbiddenError
        if the caller is no longer a member.
        """
        for key in self.keys:
            self._raise_for(found.idempotency_record(key, now_s=self.table.now_s()))

    def raise_if_recorded(self, refused: ConditionFailed) -> None:
        """Raise as `raise_if_answered` does, if a record of this request caused the refusal."""
        self._raise_for(refused.idempotency_record(now_s=self.table.now_s()))

    def _raise_for(self, record: IdempotencyRecord | None) -> None:
        if self.key is None or record is None:
            return
        existed = record.group_id != NO_GROUP
        shown = look_up(self.table, record.conversation_id, caller=self.caller, existed=existed)
        if existed or shown.exists:
            shown.require(record.conversation_id, AccessLevel.READER)
        if record.request_hash != self.key.request_hash:
            raise IdempotencyMismatchError("this Idempotency-Key was used with another request")
        raise IdempotentReplay(record)
