"""Sync: make an agent's stored context its present one, and write only what has changed."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from forklore.domain import access, jsontext
from forklore.domain.access import AccessLevel
from forklore.domain.epochs import Epoch, Sync, decide_sync
from forklore.domain.ids import EntryId
from forklore.domain.model import Caller, Entry
from forklore.domain.tree import ClientContext
from forklore.errors import ForbiddenError, UnavailableError
from forklore.storage import parts
from forklore.storage.parts import Part, PartKind
from forklore.storage.table import Table
from forklore.usecases import views
from forklore.usecases.creating import Creation, PreparedCreation
from forklore.usecases.drafts import (
    Draft,
    batch_parts,
    check_fits,
    context_move,
    head_move,
    is_own_first_attempt,
    mint_batch,
)
from forklore.usecases.idempotency import (
    NO_GROUP,
    IdempotencyKey,
    IdempotentReplay,
    entries_again,
    keys_of,
    raise_if_answered,
    raise_if_recorded,
    record_entries,
)
from forklore.usecases.loading import LoadedConversation, TreeExtras, look_up
from forklore.usecases.optimistic import CHANGE, attempts
from forklore.usecases.roots import plan_root, root_parts


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync did. epoch: the latest now; None without context. entry: None for a no-op."""

    epoch: int | None
    entry: Entry | None
    epoch_incremented: bool

    @property
    def no_op(self) -> bool:
        return self.entry is None


def sync_context(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    draft: Draft,
    idempotency_key: IdempotencyKey | None = None,
) -> Synced:
    """Make `draft`, the agent's whole present context, the latest epoch of its client in the view.

    A conversation that does not exist is created. Of two syncs that race one wins, and the other is
    decided again. Raises NotFoundError if the conversation is deleted, ForbiddenError below writer
    and for a caller who has no context here, PayloadTooLargeError.
    """
    check_fits([draft])
    try:
        return _sync(table, caller, conversation_id, draft, idempotency_key)
    except IdempotentReplay as before:
        entries = entries_again(table, before.record)
        epoch, epoch_incremented = json.loads(before.record.body)
        return Synced(epoch, entries[0] if entries else None, epoch_incremented)


def _sync(
    table: Table, caller: Caller, conversation_id: str, draft: Draft, idempotency_key: IdempotencyKey | None
) -> Synced:
    nonce = table.nonce()
    for _ in attempts(table, CHANGE):
        try:
            decision = _decide(table, caller, conversation_id, idempotency_key, draft.content.value)
        except _HalfWritten:
            continue
        if decision is not None:
            synced = _write(table, caller, decision, draft, idempotency_key, nonce)
        elif draft.content.value:
            synced = _create(table, caller, conversation_id, draft, idempotency_key)
        else:
            synced = _do_nothing(table, caller, conversation_id, idempotency_key)
        if synced is not None:
            return synced
    raise UnavailableError("the context keeps changing; try again")


def _do_nothing(
    table: Table, caller: Caller, conversation_id: str, idempotency_key: IdempotencyKey | None
) -> Synced:
    """Return the answer to an empty context for a conversation that does not exist.

    No conversation is created.
    """
    access.require_context(caller, bound_to=None)
    answer = Synced(None, None, epoch_incremented=False)
    record = _record(table, idempotency_key, answer, group_id=NO_GROUP, conversation_id=conversation_id)
    refused = table.try_commit(record) if record else None
    if refused is not None:
        raise_if_recorded(table, idempotency_key, refused, caller=caller)
    return answer


class _HalfWritten(Exception):
    """Some items of another request's transaction could be read, and others not yet."""


@dataclass(frozen=True, slots=True)
class _Decision:
    """The conversation, the client's latest epoch in it, and what was decided on its elements.

    sync: None for a no-op. last: of the client's CTX; None when it has none.
    """

    loaded: LoadedConversation
    client_id: str
    epoch: Epoch
    sync: Sync | None
    last: EntryId | None


def _decide(
    table: Table,
    caller: Caller,
    conversation_id: str,
    idempotency_key: IdempotencyKey | None,
    sent: Sequence[Any],
) -> _Decision | None:
    """Read the context and decide what to write; None when there is no conversation.

    Raises _HalfWritten when not all of the context could be read.
    """
    client = caller.client_id
    looked_up = look_up(
        table,
        conversation_id,
        caller=caller,
        extra_keys=keys_of(idempotency_key),
        extras=TreeExtras(context_of=client),
    )
    raise_if_answered(table, idempotency_key, looked_up.found, caller=caller)
    if not looked_up.exists:
        return None
    loaded = looked_up.require(conversation_id, AccessLevel.WRITER)
    access.require_context(caller, bound_to=loaded.conversation.client_id)
    assert client is not None
    group_id = loaded.group.group_id
    own_context = looked_up.found.context(group_id, conversation_id, client)
    if own_context is not None:
        latest = views.LatestEpoch(own_context.epoch, loaded.view, own_context.last)
    else:
        latest = views.latest_epoch(table, group_id, loaded.inherited, client)
    entries = _KnownEntries(conversation_id, views.entries_of_epoch(table, group_id, latest, client))
    try:
        sync = decide_sync(entries.elements(), sent, epoch=latest.epoch.number)
    except views.NotReadableYetError as error:
        raise _HalfWritten from error
    # A transaction becomes visible item by item. A sync must decide on the whole context.
    if entries.were_all_read and not entries.are_those_of(own_context):
        raise _HalfWritten
    return _Decision(loaded, client, latest.epoch, sync, own_context.last if own_context else None)


class _KnownEntries:
    """An epoch's entries while they are read. Their elements are handed on and not kept."""

    def __init__(self, conversation_id: str, entries: Iterable[Entry]) -> None:
        self._conversation_id = conversation_id
        self._entries = entries
        self._own = 0
        self._last: EntryId | None = None
        self.were_all_read = False

    def elements(self) -> Iterator[Any]:
        """Yield the elements of all entries. One entry at a time is in memory."""
        for entry in self._entries:
            if entry.conversation_id == self._conversation_id:
                self._own += 1
                self._last = entry.entry_id
            yield from jsontext.read_value(entry.content)
        self.were_all_read = True

    def are_those_of(self, context: ClientContext | None) -> bool:
        """Tell whether all own entries were read that the client's CTX counts.

        None: it counts none.
        """
        if context is None:
            return self._own == 0
        return (self._own, self._last) == (context.entries, context.last)


def _write(
    table: Table,
    caller: Caller,
    decision: _Decision,
    draft: Draft,
    idempotency_key: IdempotencyKey | None,
    nonce: str,
) -> Synced | None:
    """Write what was decided; None when that is out of date.

    Raises IdempotentReplay for a replay, ForbiddenError if the caller is no longer a writer.
    """
    loaded = decision.loaded
    conversation_id, group_id = loaded.conversation.conversation_id, loaded.group.group_id
    where = {"group_id": group_id, "conversation_id": conversation_id}
    epoch = decision.epoch
    sync = decision.sync
    if sync is None:
        answer = Synced(epoch.number or None, None, epoch_incremented=False)
        record = _record(table, idempotency_key, answer, **where)
        refused = table.try_commit(record) if record else None
        if refused is None:
            return answer
        raise_if_recorded(table, idempotency_key, refused, caller=caller)
        return None
    table.refuse_if_full(group_id)
    rest = replace(draft, epoch=sync.epoch, content=jsontext.elements_of(draft.content, sync.start))
    batch = mint_batch(
        table,
        [rest],
        conversation_id=conversation_id,
        caller=caller,
        after=loaded.head.tip,
        epoch=epoch,
    )
    answer = Synced(sync.epoch, batch.entries[0], epoch_incremented=sync.increments)
    is_owner = caller.user_id == loaded.head.owner
    move = head_move(batch, owner=caller.user_id if is_owner else None, titled=True, **where)
    context = context_move(batch, caller=caller, epoch=epoch, **where)
    assert context is not None, "a sync writes context"
    member = parts.member.check(group_id, caller.user_id, AccessLevel.WRITER)
    writes = [
        *_record(table, idempotency_key, answer, **where),
        *batch_parts(batch, group_id=group_id, nonce=nonce),
        parts.conversation.move_head(move),
        *([] if is_owner else [member]),
        parts.context.sync(context, decided_on=decision.last),
    ]
    refused = table.try_commit(writes)
    if refused is not None and not is_own_first_attempt(refused, nonce):
        raise_if_recorded(table, idempotency_key, refused, caller=caller)
        if refused.has(PartKind.MEMBER):
            raise ForbiddenError("this needs the access level 'writer'") from refused
        return None
    cached = table.cache.get(conversation_id)
    if cached is not None:
        begun = Epoch(context.epoch, context.first)
        table.cache.put(conversation_id, replace(cached, tip=batch.tip).with_epoch(decision.client_id, begun))
    return answer


def _record(
    table: Table,
    idempotency_key: IdempotencyKey | None,
    answer: Synced,
    *,
    group_id: str,
    conversation_id: str,
) -> list[Part]:
    entries = [] if answer.entry is None else [answer.entry]
    note = json.dumps([answer.epoch, answer.epoch_incremented])
    return record_entries(
        table, idempotency_key, group_id=group_id, conversation_id=conversation_id, entries=entries, note=note
    )


def _create(
    table: Table, caller: Caller, conversation_id: str, draft: Draft, idempotency_key: IdempotencyKey | None
) -> Synced | None:
    """Create the conversation with the context as its first entry; None if it exists by now."""
    creation = Creation[Synced](table, caller, idempotency_key)
    for nonce in creation.attempts():
        creation.write(_prepare_root(table, caller, conversation_id, draft, idempotency_key, nonce))
    return creation.answer


def _prepare_root(
    table: Table,
    caller: Caller,
    conversation_id: str,
    draft: Draft,
    idempotency_key: IdempotencyKey | None,
    nonce: str,
) -> PreparedCreation[Synced]:
    """Prepare a new tree whose first conversation begins with the context."""
    first = replace(draft, epoch=1)
    root = plan_root(table, caller, conversation_id=conversation_id, drafts=[first], nonce=nonce)
    answer = Synced(1, root.batch.entries[0], epoch_incremented=True)
    record = _record(
        table, idempotency_key, answer, group_id=conversation_id, conversation_id=conversation_id
    )
    return PreparedCreation(
        [*record, *root_parts(table, root, nonce=nonce)], answer, conversation_id, root.cached
    )
