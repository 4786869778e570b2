"""Merge: append copies of what another branch of the tree shows."""

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller, Entry, StoredEntry
from forklore_service.domain.parting import parting
from forklore_service.errors import PayloadTooLargeError, UnavailableError, ValidationError, brief
from forklore_service.limits import APPEND_ENTRIES_MAX, PAGE_BYTES_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.appended import Appended, record_appended
from forklore_service.usecases.shared.copied_entries import Originals, copy_of, entry_ids, pages, shown_entry
from forklore_service.usecases.shared.drafts import Draft, require_match
from forklore_service.usecases.shared.idempotency import IdempotencyKey, IdempotentReplay, Once
from forklore_service.usecases.shared.loading import (
    LoadedConversation,
    LookUp,
    OtherConversation,
    TreeExtras,
    look_up,
)
from forklore_service.usecases.shared.optimistic import CHANGE, attempts
from forklore_service.usecases.shared.requests import Append, Original, OriginalMoved
from forklore_service.usecases.writing.append import append_entries


class Merge(NamedTuple):
    """What to copy to a conversation, and from where.

    after: the last entry of the other branch that is left out; None: the last one that both show.
    up_to: the last entry to copy; None: to the end of the other branch.
    if_match: the last entry of the conversation that the caller knows of.
    """

    conversation_id: str
    from_id: str
    after: str | None = None
    up_to: str | None = None
    if_match: EntryId | None = None


def merge_branch(
    table: Table, *, caller: Caller, request: Merge, idempotency_key: IdempotencyKey | None = None
) -> list[Entry]:
    """Append copies of the other branch's history, all or none, and return them.

    Nothing is copied if that branch shows nothing more.
    Raises NotFoundError, ForbiddenError below writer, ValidationError if the other branch is no
    conversation of the same tree or does not show a named entry, ConflictError if `if_match` is not
    a last entry, PayloadTooLargeError for more than APPEND_ENTRIES_MAX entries or more than a
    transaction holds.
    """
    once = Once(table, caller, idempotency_key)
    try:
        for _ in attempts(table, CHANGE):
            with contextlib.suppress(OriginalMoved):
                return _merge(table, caller, request, once)
    except IdempotentReplay as before:
        return table.entries(before.record.group_id, before.record.entry_ids)
    except PayloadTooLargeError as error:
        raise PayloadTooLargeError(
            f"one merge copies at most {APPEND_ENTRIES_MAX} entries, and what one request can append;"
            " merge in parts, with upToEntryId and then afterEntryId"
        ) from error
    raise UnavailableError("the other branch is busy; try again, or name upToEntryId")


def _merge(table: Table, caller: Caller, request: Merge, once: Once) -> list[Entry]:
    """Read and append the copies. Raises OriginalMoved if the other branch has changed meanwhile.

    Without `up_to`, its last entry must be the one that was read. Otherwise two branches that are
    merged into one another at the same time would each miss what the other one gets.
    """
    into, copies, last = _read(table, caller, request, once)
    if not copies:
        _record_nothing(table, into, once)
        return []
    return append_entries(
        table,
        caller=caller,
        request=Append(
            request.conversation_id,
            copies,
            copied_out_of=Original(request.from_id, None if request.up_to else last),
            if_match=request.if_match,
            idempotency_key=once.key,
        ),
    )


def _read(
    table: Table, caller: Caller, request: Merge, once: Once
) -> tuple[LoadedConversation, Sequence[Draft], EntryId]:
    """Return the conversation, the copies that it gets, and the last entry of the other branch."""
    other_id = request.from_id if ids.is_uuid(request.from_id) else None
    looked_up = look_up(
        table,
        request.conversation_id,
        caller=caller,
        extra_keys=once.keys,
        extras=TreeExtras(entries=entry_ids(request.after, request.up_to), other=other_id),
    )
    once.raise_if_answered(looked_up.found)
    into = looked_up.require(request.conversation_id, AccessLevel.WRITER)
    other = looked_up.other(request.from_id)
    if other is None:
        raise ValidationError(
            f"this fork tree has no conversation {brief(request.from_id)}", field="fromConversationId"
        )
    originals = _originals(caller, request, looked_up, into, other)
    require_match(request.if_match, into.head.lasts)
    group_id = into.group.group_id
    found: list[StoredEntry] = []
    for page in pages(table, group_id, originals, limit=APPEND_ENTRIES_MAX + 1):
        found += page
        if len(found) > APPEND_ENTRIES_MAX or sum(stored.escaped_bytes for stored in found) > PAGE_BYTES_MAX:
            raise PayloadTooLargeError("too much for one merge")
    copies = [copy_of(entry) for entry in table.with_bodies(group_id, found)]
    return into, copies, other.head.last


def _originals(
    caller: Caller, request: Merge, looked_up: LookUp, into: LoadedConversation, other: OtherConversation
) -> Originals:
    found, group_id = looked_up.found, into.group.group_id
    originals = Originals.of(other.view, other.head)
    if request.after is None:
        originals = originals.since(parting(into.view, other.view))
    else:
        after = shown_entry(found, caller, group_id, other.view, request.after, field="afterEntryId")
        originals = originals.after(after)
    if request.up_to is not None:
        up_to = shown_entry(found, caller, group_id, other.view, request.up_to, field="upToEntryId")
        originals = originals.up_to(up_to)
    return originals


def _record_nothing(table: Table, into: LoadedConversation, once: Once) -> None:
    """Record under the key that there was nothing to copy, so that it is answered again."""
    where = {"group_id": into.group.group_id, "conversation_id": into.conversation.conversation_id}
    record = record_appended(once, Appended([]), **where)
    refused = table.try_commit(record) if record else None
    if refused is not None:
        once.raise_if_recorded(refused)
        raise UnavailableError("the same key is in use right now; try again")
